"""MCPToolBench++ with real tools: the model's calls are run and their results go back, until it calls no more.

The suite yields the calls and is sent their results, by the MCP server in a run and from the record afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import structs

from vendor_verifier.records.failures import NOT_CHARGED
from vendor_verifier.records.record import Attempt, Score
from vendor_verifier.records.request import RunTools, ToolRequest, ToolResult
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import AnyPlay
from vendor_verifier.suites.call_suite import first_turn, next_turn
from vendor_verifier.suites.calls import first_problem
from vendor_verifier.suites.toolbench import MCPToolBenchSuite

# A model that calls for ever is asked no more; no honest answer to a row comes near.
MOST_CALLS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class McpLiveSuite(MCPToolBenchSuite):
    """``server`` is a command, split as a shell would, or ``demo``. Only the tools in ``allow`` are declared and run.

    ``environment`` names variables that the command gets. ``tool_timeout`` is in seconds. ``listed`` is the digest of
    the declared tools and set by the run.
    """

    name: str = "mcp_live"
    max_iterations: int = 10
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
        evidence = {"steps": len(attempts), "tool_calls": len(results), "tool_errors": wrong}
        if failure is not None and failure.kind in NOT_CHARGED:
            details = {"error": failure.message, "blame": "us", **evidence}
            return structs.replace(score, values=dict.fromkeys(self.VALUES), details=details)
        return structs.replace(score, details={**score.details, **evidence})
