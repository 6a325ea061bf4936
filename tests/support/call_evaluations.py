"""A question with two tools, its expected calls, and attempts that answer it, for the three evaluations of calls."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from vendor_verifier.records.record import Attempt, Failure, Response, Score, ToolCall
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import Suite, replay
from vendor_verifier.suites.tool_correctness import ToolCorrectnessSuite
from vendor_verifier.suites.toolbench import MCPToolBenchSuite, ToolBenchSuite

TOOLS = tuple(
    {"type": "function", "function": {"name": name, "description": f"does {name}", "parameters": {"type": "object"}}}
    for name in ("a", "b")
)

QUESTION = Turn(
    ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Do a."}),
    TOOLS,
    {"tool_choice": "auto", "temperature": 0},
)

ONE = [{"name": "a", "parameters": {"x": 1}}]

TWO = [*ONE, {"name": "b", "parameters": {"y": 2}, "output": {"found": 7}}]

SUITES = (ToolBenchSuite, MCPToolBenchSuite, ToolCorrectnessSuite)


def sample(calls: Any = ONE, turn: Turn = QUESTION) -> Sample:
    return Sample("s-1", turn, {} if calls is None else {"calls": calls})


def judged(suite: Suite, question: Sample, *attempts: Attempt) -> Score:
    score = replay(suite.play(question), iter(attempts))
    assert score is not None
    return score


def called(*calls: tuple[str, Any], text: str = "", finish: Any = "tool_calls") -> Attempt:
    """An answer with these (name, arguments) calls; arguments that are text go out as they are."""
    made = tuple(
        ToolCall(name, given if isinstance(given, str) else json.dumps(given), f"id{place}")
        for place, (name, given) in enumerate(calls)
    )
    return Attempt(1, response=Response(text=text, tool_calls=made, finish_reason=finish))


def said(text: str, finish: Any = "stop") -> Attempt:
    return Attempt(1, response=Response(text=text, finish_reason=finish))


def failed() -> Attempt:
    return Attempt(1, failure=Failure("http_5xx", "headers", "HTTP 503", 503))


RIGHT = called(("a", {"x": 1}))


def any_json(keys: st.SearchStrategy[str] = st.text(max_size=8)) -> st.SearchStrategy[Any]:  # noqa: B008
    numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    return st.recursive(
        st.none() | st.booleans() | numbers | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=10,
    )
