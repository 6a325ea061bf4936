"""The hooks of ``mcp_live``: what the options name is looked up and checked, and the server runs while a run sends.

Only ``run`` and ``check`` start a server, by the options that the user's own configuration and flags state. A plan, a
job or other file that was imported, and a stored run start none.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs

from vendor_verifier.config.env_file import (
    Variables,
    expand,
    has_known_form,
    looks_secret,
    names_a_secret,
    read_variables,
    references,
)
from vendor_verifier.config.problems import listed
from vendor_verifier.config.suite_options import SuiteOptions, build_suite, known_suite
from vendor_verifier.errors import Problem, ProblemsError, UsageError, install_line
from vendor_verifier.features.mcp_live.access import Access, Listing
from vendor_verifier.features.mcp_live.server import LiveServer
from vendor_verifier.loaders.tool_rows import tool_names
from vendor_verifier.pipeline.datasets import Dataset, suite_dataset
from vendor_verifier.pipeline.options import RunOptions
from vendor_verifier.pipeline.suites import SuiteHooks
from vendor_verifier.run.cluster.workers import is_loopback
from vendor_verifier.suites import SuiteKind
from vendor_verifier.suites.mcp_live import DEMO, McpLiveSuite
from vendor_verifier.suites.tool_calls.calls import read_expectation
from vendor_verifier.values.event import ToolCall
from vendor_verifier.values.plan import Entry, Task
from vendor_verifier.values.record import Attempt, Response
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.tool_use import ToolRunner
from vendor_verifier.words import english

SUITE = "mcp_live"
# All that a server gets of our environment beside the variables that the user names for it.
HARMLESS = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")
_DEMO_MODULE = "vendor_verifier.features.mcp_live.demo_server"
_MOST_NAMED = 60


@dataclass(frozen=True, slots=True)
class McpLiveHooks(SuiteHooks):
    """The hooks of a run of this ``suite``, with the ``variables`` that its options may name and our environment."""

    suite: McpLiveSuite = field(default_factory=McpLiveSuite)
    variables: Variables | None = field(default=None, repr=False)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def secrets(self) -> Iterable[str]:  # type: ignore[override]
        """The values of variables in URL and headers, and of passed-on ones that look or are named like a secret."""
        passed = {name: value for name in self.suite.passed_on if (value := self._value(name)) is not None}
        hidden = [value for name, value in passed.items() if names_a_secret(name) or looks_secret(value)]
        return [*hidden, *(value for name in self._in_address() if (value := self._value(name)) is not None)]

    def prepare(
        self, options: RunOptions, own: Mapping[str, Any], environ: Mapping[str, str], question_seed: int
    ) -> SuiteHooks:
        suite = _suite(own)
        if problems := list(_problems(suite)):
            raise ProblemsError(problems)
        if find_spec("mcp") is None:
            raise UsageError(f"--suite {SUITE} needs the MCP SDK, which is not installed: {install_line('mcp')}")
        return McpLiveHooks(suite, read_variables(options.config_file_path, options.env_file, environ), environ)

    def options(self, options: RunOptions) -> RunOptions:
        """In one process, since there is one server.

        Raises:
            UsageError: several processes or machines are asked for.
        """
        if options.executor != "local" or options.workers not in (None, "auto", 1):
            words = "runs one MCP server for one sending process; leave out --executor and --workers"
            raise UsageError(f"--suite {SUITE} {words}")
        return replace(options, workers=1)

    def entries(self, entries: Sequence[Entry], overrides: Mapping[str, Any]) -> tuple[Entry, ...]:
        keys = {entry.key_name: entry.label for entry in entries if entry.key_name is not None}
        given = [name for name in self.suite.passed_on if name in keys]
        if given:
            words = f"{given[0]} holds the key of {keys[given[0]]}, which no MCP server gets; leave it out"
            raise ProblemsError([Problem(words, key=f"suites.{SUITE}.environment")])
        return tuple(entries)

    def dataset(self, kind: SuiteKind, options: SuiteOptions, *, skip_bad: bool) -> Dataset:
        """The rows with the allowed tools as far as the rows define them; a run declares the server's own.

        Raises:
            ProblemsError: no row can be resolved with the tools that are allowed.
        """
        found = suite_dataset(kind, options.chosen, skip_bad=skip_bad)
        allowed = self.suite.allowed
        if not allowed:
            return structs.replace(found, warnings=(*found.warnings, english("warn_mcp_nothing_allowed")))
        lacking = [missing for sample in found.samples if (missing := _expected_tools(sample) - set(allowed))]
        if len(lacking) == len(found.samples):
            names = listed(sorted(set().union(*lacking))[:_MOST_NAMED])
            words = f"no row of {found.name} can be resolved with these; its rows expect {names}"
            raise ProblemsError([Problem(words, key=f"suites.{SUITE}.allow")])
        samples = tuple(_with_tools(sample, _known_tools(sample, allowed)) for sample in found.samples)
        warnings = []
        if lacking:
            names = listed(sorted(set().union(*lacking))[:_MOST_NAMED])
            warnings = [english("warn_mcp_tools_lack", rows=len(lacking), all=len(samples), names=names)]
        return structs.replace(found, samples=samples, warnings=(*found.warnings, *warnings))

    def planned(self) -> Iterator[str]:
        where = self.suite.url or " ".join(self.suite.command)
        yield english("plan_mcp_server", server=where, tools=", ".join(self.suite.allowed) or "–")

    def foreseen(self, sample: Sample) -> Iterator[Attempt]:
        """The expected calls, one a turn, and then a text."""
        calls = read_expectation(sample.expected.get("calls")).calls
        answers = (
            Response(tool_calls=(ToolCall(call.name, json.dumps(call.parameters)),), finish_reason="tool_calls")
            for call in calls
        )
        return chain((Attempt(1, response=answer) for answer in answers), super(McpLiveHooks, self).foreseen(sample))

    @contextmanager
    def live(self, task: Task) -> Iterator[tuple[Task, ToolRunner | None]]:
        """The task with the tools that the server declares, and the server, started.

        Raises:
            UsageError: no tool is allowed, or not one that the server has; a variable is missing.
            ServerProblem: the server does not start.
        """
        suite = self.suite
        self._require_variables()
        with LiveServer(self._access(), self.environment()) as server:
            listing = server.listing()
            refuse_unusable(listing, suite.allowed)
            tools = tuple(listing.declared[name] for name in suite.allowed)
            digest = hashlib.sha256(json.dumps(tools, sort_keys=True).encode()).hexdigest()[:16]
            samples = tuple(_with_tools(sample, tools) for sample in task.samples)
            yield structs.replace(task, samples=samples, options={**task.options, "listed": digest}), server

    def _access(self) -> Access:
        suite = self.suite
        values = {name: value for name in self._needed() if (value := self._value(name)) is not None}
        url = None if suite.url is None else expand(suite.url, values)
        if url is not None and (problems := list(_address_problems(suite, url))):
            raise ProblemsError(problems)
        # -P keeps modules of the current folder out.
        demo = (sys.executable, "-P", "-m", _DEMO_MODULE)
        return Access(
            allowed=suite.allowed,
            start_s=suite.start_timeout,
            call_s=suite.tool_timeout,
            result_bytes=suite.max_result_bytes,
            restarts=suite.max_restarts,
            command=demo if suite.command == (DEMO,) else suite.command,
            environment=self.environment(),
            url=url,
            headers={name: expand(text, values) for name, text in suite.header_templates.items()},
        )

    def environment(self) -> dict[str, str]:
        """The variables that the server's process gets: a few harmless ones, and those that the user names."""
        own = {name: self.environ[name] for name in HARMLESS if name in self.environ}
        return own | {name: value for name in self.suite.passed_on if (value := self._value(name)) is not None}

    def _needed(self) -> list[str]:
        return [*self.suite.passed_on, *self._in_address()]

    def _in_address(self) -> list[str]:
        """The names of the variables in the URL and its headers."""
        texts = (self.suite.url or "", *self.suite.header_templates.values())
        return list(chain.from_iterable(map(references, texts)))

    def _value(self, name: str) -> str | None:
        return None if self.variables is None else self.variables.get(name)

    def _require_variables(self) -> None:
        missing = [name for name in self._needed() if self._value(name) is None]
        if missing:
            raise UsageError(f"suites.{SUITE} names {listed(missing)}, which hold no value; set them in .env")


def refuse_unusable(listing: Listing, allowed: Sequence[str]) -> None:
    """Refuse a run without allowed tools, naming those there are and the line to write, or with ones that cannot be.

    Raises:
        UsageError: see above.
    """
    more = len(listing.names) - _MOST_NAMED
    shown = [f"{name:.80}" for name in listing.names[:_MOST_NAMED]]
    offered = ", ".join(shown) + (f" and {more} more" if more > 0 else "") if shown else "no tools at all"
    if not allowed:
        line = f"--suite-option {SUITE}.allow={','.join(shown[:3]) or 'NAME'}"
        raise UsageError(
            f"no tool is allowed, so nothing was asked and nothing run. {listing.server} offers {offered}. Name those "
            f"that a vendor's model may call: `allow: [{', '.join(shown[:3]) or 'NAME'}]` under suites.{SUITE} in the "
            f"configuration, or {line}"
        )
    problems = [Problem(f"{name} is none of its tools; {listing.server} offers {offered}", key=f"suites.{SUITE}.allow")
                for name in allowed if name not in listing.declared]  # fmt: skip
    problems += [Problem(f"{name} cannot be declared: {reason}", key=f"suites.{SUITE}.allow")
                 for name, reason in listing.unusable.items()]  # fmt: skip
    if problems:
        raise ProblemsError(problems)


def _suite(own: Mapping[str, Any]) -> McpLiveSuite:
    suite = build_suite(known_suite(SUITE), own)
    assert isinstance(suite, McpLiveSuite)
    return suite


def _problems(suite: McpLiveSuite) -> Iterator[Problem]:
    key = f"suites.{SUITE}"
    if not suite.command and suite.url is None:
        yield Problem(
            f"no server is named; write `server: COMMAND` or `url: https://…` there, or --suite-option {SUITE}.server="
            f"{DEMO} for the one that ships",
            key=key,
        )
    if any(map(has_known_form, suite.command)):
        words = "holds what looks like a key; put it into .env and name its variable under `environment`"
        yield Problem(words, key=f"{key}.server")
    if suite.url is None:
        if suite.header_templates:
            yield Problem("headers go to a server with a url; leave them out", key=f"{key}.headers")
        return
    if not references(suite.url):
        yield from _address_problems(suite, suite.url)
    if suite.passed_on:
        yield Problem("only a server that is started has an environment; leave it out", key=f"{key}.environment")


def _address_problems(suite: McpLiveSuite, url: str) -> Iterator[Problem]:
    """Problems of the ``url``, which may be a secret itself where it comes from a variable."""
    key = f"suites.{SUITE}.url"
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address:
        yield Problem(f"read {suite.url!r:.80}; expected an address such as https://tools.example/mcp", key=key)
    elif url == suite.url and (parts.username or parts.password or has_known_form(url)):
        yield Problem("holds what looks like a secret; put it into .env and write ${NAME} for it", key=key)
    elif suite.header_templates and parts.scheme == "http" and not is_loopback(url):
        yield Problem("headers with secrets would go unencrypted; use https://", key=key)


def _expected_tools(sample: Sample) -> set[str]:
    return {call.name for call in read_expectation(sample.expected.get("calls")).calls}


def _known_tools(sample: Sample, allowed: Sequence[str]) -> tuple[Mapping[str, Any], ...]:
    """The allowed tools as the row defines them, else by their bare names."""
    defined = dict(zip(tool_names(sample.turn.tools), sample.turn.tools, strict=False))
    return tuple(defined.get(name, {"type": "function", "function": {"name": name}}) for name in allowed)


def _with_tools(sample: Sample, tools: tuple[Mapping[str, Any], ...]) -> Sample:
    """The sample, of the same identity, with these tools."""
    return structs.replace(sample, turn=structs.replace(sample.turn, tools=tools))
