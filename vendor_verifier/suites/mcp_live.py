"""MCPToolBench++ with real tools: the model's calls are run, their results go back, until it calls no more.

It runs nothing itself: it yields the calls, and what became of them is sent back, by the MCP server in a run and from
the record afterwards. The calls of all turns are judged as MCPToolBench++ judges them; what tools returned is evidence
and changes no verdict. Where the server failed, which is ours, nothing is judged.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from msgspec import structs

from vendor_verifier.errors import UsageError
from vendor_verifier.suites import AnyPlay
from vendor_verifier.suites.mcp_toolbench import MCPToolBenchSuite
from vendor_verifier.suites.tool_calls.calls import Call, first_problem
from vendor_verifier.suites.tool_calls.suite import first_turn, next_turn
from vendor_verifier.values.failure_kinds import NOT_CHARGED
from vendor_verifier.values.record import Attempt
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Score
from vendor_verifier.values.tool_use import RunTools, ToolRequest, ToolResult

# The server that ships with this package.
DEMO = "demo"
# A model that calls for ever is asked no more; no honest answer to a row comes near.
MOST_CALLS = 64
_REFERENCE = re.compile(r"\$\{[^${}\s]+\}")
_HEADER = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLiveSuite(MCPToolBenchSuite):
    """The options of an MCP server and of what is judged. Values: those of ``mcptoolbench``; ``tool_success``, calls
    that a tool answered without an error ÷ calls made, None without any; ``finished``, 1 where the model ended itself.

    ``server`` is a command (a text is split as a shell would, and no shell runs it) or ``demo``; ``url`` a server over
    streamable HTTP. Only the tools in ``allow`` are declared and run. ``headers`` go to the URL and name variables of
    .env. ``environment`` names the variables that the command gets beside a few harmless ones. Times are seconds.
    ``listed`` is the digest of the declared tools and set by the run.
    """

    name: str = "mcp_live"
    VALUES: ClassVar[tuple[str, ...]] = (*MCPToolBenchSuite.VALUES, "tool_success", "finished")
    max_iterations: int = 10
    server: str | tuple[str, ...] | None = None
    url: str | None = None
    allow: str | tuple[str, ...] = ()
    headers: str | Mapping[str, str] = field(default_factory=dict)
    environment: str | tuple[str, ...] = ()
    tool_timeout: float = 30.0
    start_timeout: float = 30.0
    max_result_bytes: int = 16_384
    max_restarts: int = 3
    listed: str | None = None

    def __post_init__(self) -> None:
        # By name: a dataclass with slots is another class than the one that zero-argument super() means.
        MCPToolBenchSuite.__post_init__(self)
        if self.server is not None and self.url is not None:
            raise UsageError(f"{self.name}: server and url are two ways to one server; leave out one")
        for option, least in (("tool_timeout", 0.01), ("start_timeout", 0.01), ("max_result_bytes", 256)):
            if not getattr(self, option) >= least:
                raise UsageError(f"{self.name}: {option} is at least {least}, read {getattr(self, option)}")
        if self.max_restarts < 0:
            raise UsageError(f"{self.name}: max_restarts is at least 0, read {self.max_restarts}")
        try:
            shlex.split(self.server if isinstance(self.server, str) else "")
        except ValueError as error:
            raise UsageError(f"{self.name}: server is no command: {error}") from None
        for name, value in self.header_templates.items():
            if not _REFERENCE.search(value):
                raise UsageError(f"{self.name}: the header {name} names no variable of .env, such as ${{MCP_TOKEN}}")

    @property
    def command(self) -> tuple[str, ...]:
        """The words of the command."""
        return tuple(shlex.split(self.server)) if isinstance(self.server, str) else tuple(self.server or ())

    @property
    def allowed(self) -> tuple[str, ...]:
        """The tools that may be declared and run, each once, in the order in which they were named."""
        return tuple(dict.fromkeys(_words(self.allow)))

    @property
    def passed_on(self) -> tuple[str, ...]:
        """The names of the variables that the command gets."""
        return _words(self.environment)

    @property
    def header_templates(self) -> Mapping[str, str]:
        """Header by name, ``${NAME}`` in place of each secret.

        Raises:
            UsageError: a text that is no header.
        """
        if not isinstance(self.headers, str):
            return self.headers
        found = _HEADER.fullmatch(self.headers)
        if found is None:
            raise UsageError(f"{self.name}: headers are a mapping, or one as `Name: ${{VARIABLE}}`")
        return {found[1]: found[2]}

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
            calls, in_text = self._to_run(attempt, len(results))
            if not calls or len(attempts) >= self.max_iterations or attempt.response is None:
                break
            ran = yield RunTools(tuple(ToolRequest(call.name, call.parameters) for call in calls))
            results += ran
            texts = [result.text for result in ran]
            # A record that was cut short has fewer results than calls.
            texts += [""] * (len(calls) - len(texts))
            turn = next_turn(turn, attempt.response, calls, texts[: len(calls)], in_text=in_text)
        return partial(self.judge_live, sample, tuple(attempts), tuple(results))

    def _to_run(self, attempt: Attempt, ran: int) -> tuple[Sequence[Call], bool]:
        """The calls of an answer that are to be run, and whether they stand in its text; none where the play is over.

        A malformed call ends it, as it fails the sample whatever follows.
        """
        if attempt.response is None or not attempt.succeeded:
            return (), False
        answered = self.read(attempt.response)
        is_over = first_problem(answered.calls) is not None or ran + len(answered.calls) > MOST_CALLS
        return () if is_over else answered.calls, answered.in_text

    def judge_live(self, sample: Sample, attempts: Sequence[Attempt], results: Sequence[ToolResult]) -> Score:
        """The score of the final attempts of all turns, with the results of their tools beside it."""
        score = self.judge(sample, attempts)
        failure = attempts[-1].failure
        evidence = _evidence(results)
        if failure is not None and failure.kind in NOT_CHARGED:
            details = {"error": failure.message, "blame": "us", **evidence}
            return structs.replace(score, values=dict.fromkeys(self.VALUES), details=details)
        if set(score.values.values()) == {None}:
            return score
        succeeded = sum(result.outcome == "ok" for result in results)
        last = attempts[-1].response
        has_ended = attempts[-1].succeeded and last is not None and not self.read(last).calls
        success = succeeded / len(results) if results and failure is None else None if failure is None else 0.0
        values = {**score.values, "tool_success": success, "finished": float(has_ended)}
        return structs.replace(score, values=values, details={**score.details, "steps": len(attempts), **evidence})


def _evidence(results: Sequence[ToolResult]) -> dict[str, Any]:
    """The deeds of tools for the details of a score: the number of calls, and the names of those that went wrong."""
    wrong = {
        "tool_errors": [result.name for result in results if result.outcome == "error"],
        "not_allowed": [result.name for result in results if result.outcome == "not_allowed"],
    }
    return {"tool_calls": len(results), **{key: names for key, names in wrong.items() if names}}


def _words(value: str | Sequence[str]) -> tuple[str, ...]:
    """Several words, as a list or with commas between."""
    words = value.split(",") if isinstance(value, str) else value
    return tuple(word.strip() for word in words if word.strip())
