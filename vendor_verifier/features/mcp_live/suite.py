"""MCPToolBench++ with real tools: the model's calls are run and their results go back, until it makes no more calls.

The suite yields the calls and is sent their results, by the MCP server in a run and from the record afterwards. The
hooks check what the options name, and start the server while a run sends.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Annotated, Any

from msgspec import structs
from pydantic import Field

from vendor_verifier.config.run_config import RunOptions, one_or_many
from vendor_verifier.config.secret_text import has_known_form
from vendor_verifier.config.suite_options import SuiteOptions
from vendor_verifier.errors import Problem, ProblemsError, UsageError, install_line
from vendor_verifier.pipeline.datasets import Dataset, suite_dataset
from vendor_verifier.pipeline.execute import variables_of
from vendor_verifier.pipeline.suites import SuiteHooks
from vendor_verifier.records.failures import NOT_CHARGED
from vendor_verifier.records.plan import Entry, Task
from vendor_verifier.records.record import Attempt, Score
from vendor_verifier.records.request import RunTools, ToolRequest, ToolResult, ToolRunner
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import AnyPlay
from vendor_verifier.suites.call_suite import first_turn, next_turn
from vendor_verifier.suites.calls import first_problem
from vendor_verifier.suites.toolbench import MCPToolBenchSuite

# -P keeps modules of the current folder out.
_DEMO = [sys.executable, "-P", "-m", "vendor_verifier.features.mcp_live.demo_server"]
# A model that calls for ever is stopped; no honest answer to a row comes near.
MOST_CALLS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLiveSuite(MCPToolBenchSuite):
    """``server`` is a command, split as a shell would, or ``demo``. Only the tools in ``allow`` are declared and run.

    ``environment`` names variables that the command gets. ``tool_timeout`` is in seconds. ``listed`` is the digest of
    the declared tools and set by the run.
    """

    name: str = "mcp_live"
    max_iterations: Annotated[int, Field(ge=1)] = 10
    server: str | tuple[str, ...] | None = None
    allow: str | tuple[str, ...] = ()
    environment: str | tuple[str, ...] = ()
    tool_timeout: float = 30.0
    listed: str | None = None

    def play(self, sample: Sample) -> AnyPlay:
        """Ask, have the calls run, ask again with the results, and return the judgement."""
        # No vendor is paid for a question whose tools are gone.
        yield RunTools()
        turn = first_turn(sample.turn, self.answer_format, self.agent_prompt)
        attempts: list[Attempt] = []
        results: list[ToolResult] = []
        while True:
            attempt = yield turn
            attempts.append(attempt)
            if attempt.response is None or not attempt.succeeded or len(attempts) >= self.max_iterations:
                break
            answered = self.read(sample, attempt.response)
            # A malformed call fails the sample whatever follows.
            if not answered.calls or first_problem(answered.calls) or len(results) + len(answered.calls) > MOST_CALLS:
                break
            ran = yield RunTools(tuple(ToolRequest(call.name, call.parameters) for call in answered.calls))
            results += ran
            # A record that was cut short has fewer results than calls.
            texts = [*(result.text for result in ran), *([""] * len(answered.calls))][: len(answered.calls)]
            turn = next_turn(turn, attempt.response, answered, texts)
        return partial(self.judge_live, sample, attempts, results)

    def judge_live(self, sample: Sample, attempts: Sequence[Attempt], results: Sequence[ToolResult]) -> Score:
        """The score of the final attempts of all turns. A server that failed is ours, and nothing is judged."""
        score = self.judge(sample, attempts)
        failure = attempts[-1].failure
        wrong = [f"{result.name}: {result.outcome}" for result in results if result.outcome != "ok"]
        if failure is not None and failure.kind in NOT_CHARGED:
            ours = {"error": failure.message, "blame": "us"}
            score = structs.replace(score, values=dict.fromkeys(self.VALUES), details=ours)
        evidence = {"steps": len(attempts), "tool_calls": len(results), "tool_errors": wrong}
        return structs.replace(score, details={**score.details, **evidence})


@dataclass(frozen=True, slots=True)
class McpLiveHooks(SuiteHooks):
    """The hooks of a run of this ``suite``; ``command`` starts its server, ``values`` are the variables it gets."""

    suite: McpLiveSuite = field(default_factory=McpLiveSuite)
    command: Sequence[str] = ()
    values: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def secrets(self) -> Iterable[str]:  # type: ignore[override]
        return self.values.values()

    def prepare(
        self, own: SuiteOptions, options: RunOptions, variables: Mapping[str, str], question_seed: int
    ) -> tuple[SuiteHooks, Dataset]:
        """The rows get the names of the allowed tools; a run declares them as the server does."""
        suite = own.suite
        assert isinstance(suite, McpLiveSuite)
        try:
            words = shlex.split(suite.server) if isinstance(suite.server, str) else suite.server
        except ValueError as error:
            raise ProblemsError([own.problem("server", f"not a command: {error}")]) from None
        command = _DEMO if suite.server == "demo" else list(words or ())
        if not command:
            raise UsageError("set suites.mcp_live.server to a command, or to demo: --set mcp_live.server=demo")
        if any(map(has_known_form, command)):
            problem = "holds what looks like a key; put it into .env and name its variable in `environment`"
            raise ProblemsError([own.problem("server", problem)])
        if options.workers != 1:
            raise UsageError("--suite mcp_live uses one MCP server in one process; remove --workers")
        if find_spec("mcp") is None:
            raise UsageError(f"--suite mcp_live needs the MCP SDK, which is not installed: {install_line('mcp')}")
        found = suite_dataset(own, skip_bad=options.skip_bad_samples)
        tools = tuple({"type": "function", "function": {"name": name}} for name in one_or_many(suite.allow))
        values = {name: variables[name] for name in one_or_many(suite.environment) if name in variables}
        hooks = McpLiveHooks(suite, command, values)
        return hooks, structs.replace(found, samples=_with_tools(found.samples, tools))

    @contextmanager
    def live(self, task: Task, entries: Sequence[Entry]) -> Iterator[tuple[Task, ToolRunner | None]]:
        """The task with the tools that the server declares, and the server, started.

        Raises UsageError where server or variable is missing, ProblemsError where it would get the key of an entry.
        """
        from vendor_verifier.features.mcp_live.client import live_tools

        names = one_or_many(self.suite.environment)
        for entry in entries:
            if shared := [name for name in variables_of(entry) if name in names]:
                words = f"{shared[0]} is a key of {entry.label}, which no MCP server gets; remove it"
                raise ProblemsError([Problem(words, key="suites.mcp_live.environment")])
        if missing := [name for name in names if name not in self.values]:
            raise UsageError(f"suites.mcp_live names {', '.join(missing)}, which has no value; set it in .env")
        allowed, timeout_s = one_or_many(self.suite.allow), self.suite.tool_timeout
        with live_tools(self.command, self.values, allowed, timeout_s) as (tools, runner):
            digest = hashlib.sha256(json.dumps(tools, sort_keys=True).encode()).hexdigest()[:16]
            samples = _with_tools(task.samples, tools)
            yield structs.replace(task, samples=samples, options={**task.options, "listed": digest}), runner


def _with_tools(samples: Sequence[Sample], tools: tuple[Mapping[str, Any], ...]) -> tuple[Sample, ...]:
    """The samples, of the same ids, with these tools."""
    return tuple(structs.replace(one, turn=structs.replace(one.turn, tools=tools)) for one in samples)
