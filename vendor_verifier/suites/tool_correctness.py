"""Tool Correctness: the share of expected tools that were called, by name and on request by parameters.

Let E be the expected and C the called names.

- default: |E ∩ C| ÷ |E| as multisets, whatever else was called;
- ``exact_match``: 1 if E and C are the same multiset, else 0; together with ``check_ordering`` the same list;
- ``check_ordering``: length of the longest common subsequence ÷ |E|.

An empty expectation scores 1 only if nothing was called. With parameters a pair counts as much as its parameters are
alike (right ones ÷ all names on either side) and pairs are assigned for the best sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vendor_verifier.errors import UsageError
from vendor_verifier.suites.tool_calls import compat
from vendor_verifier.suites.tool_calls.calls import Call, Expectation, Mode, first_problem, is_compat, kind_of
from vendor_verifier.suites.tool_calls.matching import (
    heaviest_common,
    likeness,
    longest_common,
    names_in_common,
    total_likeness,
)
from vendor_verifier.suites.tool_calls.suite import AnsweredCalls, CallSuite


@dataclass(frozen=True, slots=True)
class ToolCorrectness:
    """``score`` in [0, 1]; ``success`` is score ≥ threshold; ``reason`` says in words why."""

    score: float
    success: bool
    reason: str


def score(
    expected: Sequence[str] | None,
    called: Sequence[str] | None,
    *,
    threshold: float = 0.5,
    exact_match: bool = False,
    check_ordering: bool = False,
    mode: Mode = "strict",
) -> ToolCorrectness:
    """Score the names of tools called against those expected; None stands for none.

    Raises:
        UsageError: there is no such mode.
        pydantic.ValidationError: only in mode ``compat``, where an argument is no list of texts.
    """
    if is_compat(mode):
        value, reason = compat.score_tool_correctness(
            expected, called, exact_match=exact_match, check_ordering=check_ordering
        )
        return ToolCorrectness(value, value >= threshold, reason)
    wanted, got = _names(expected), _names(called)
    for what, names in (("expected", wanted), ("called", got)):
        if isinstance(names, str):
            return ToolCorrectness(0.0, False, f"The {what} tools are a list of names, read {names}.")
    assert not isinstance(wanted, str)
    assert not isinstance(got, str)
    value = _name_score(wanted, got, exact_match, check_ordering)
    return ToolCorrectness(value, value >= threshold, _reason(value, wanted, got, exact_match, check_ordering))


def check_options(name: str, threshold: object, mode: str, *, compare_parameters: bool) -> None:
    """Refuse options that cannot be meant, in the name of whoever takes them.

    Raises:
        UsageError: a threshold that is no number from 0 to 1, no such mode, or parameters asked of the original.
    """
    if not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
        raise UsageError(f"{name}: threshold is a number from 0 to 1, read {threshold!r}")
    if is_compat(mode) and compare_parameters:
        raise UsageError(f"{name}: the original compares no parameters; use mode strict, or leave it out")


def score_calls(
    expected: Sequence[Call],
    called: Sequence[Call],
    *,
    threshold: float = 0.5,
    exact_match: bool = False,
    check_ordering: bool = False,
) -> ToolCorrectness:
    """Score calls with their parameters; a malformed call is like no other."""
    wanted, got = [call.name for call in expected], [call.name for call in called]
    if not expected:
        value = float(not called)
    elif exact_match and check_ordering:
        pairs = zip(expected, called, strict=False)
        value = float(len(expected) == len(called) and all(likeness(*pair) == 1 for pair in pairs))
    elif exact_match:
        value = float(len(expected) == len(called) and total_likeness(expected, called) == len(expected))
    elif check_ordering:
        value = min(1.0, heaviest_common(expected, called, lambda *pair: float(likeness(*pair))) / len(expected))
    else:
        value = float(total_likeness(expected, called) / len(expected))
    reason = _reason(value, wanted, got, exact_match, check_ordering)
    if value < 1.0 and _name_score(wanted, got, exact_match, check_ordering) == 1.0:
        reason = f"The tools {wanted} were called, but not all with the expected parameters."
    return ToolCorrectness(value, value >= threshold, reason)


def _names(value: object) -> list[str] | str:
    """The names, or what was read instead of a list. A member that is no text is a name nothing equals."""
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        return kind_of(value)
    strange = next((item for item in value if not isinstance(item, str)), "")
    return list(value) if strange == "" else f"a list with {kind_of(strange)}"


def _name_score(wanted: list[str], got: list[str], exact_match: bool, check_ordering: bool) -> float:
    if not wanted:
        return float(not got)
    if exact_match:
        return float(wanted == got if check_ordering else Counter(wanted) == Counter(got))
    common = longest_common(wanted, got) if check_ordering else names_in_common(wanted, got)
    return common / len(wanted)


def _reason(value: float, wanted: list[str], got: list[str], exact_match: bool, check_ordering: bool) -> str:
    if not wanted:
        return "No tool was expected and none was called." if not got else f"No tool was expected, called {got}."
    missing, extra = _without(wanted, got), _without(got, wanted)
    if value == 1.0:
        order = " in order" if check_ordering else ""
        beside = f" Also called: {extra}." if extra else ""
        return f"All expected tools {wanted} were called{order}{', and no other' if exact_match else ''}.{beside}"
    parts = [f"Missing tools {missing}."] if missing else []
    parts += [f"Superfluous tools {extra}."] if extra and exact_match else []
    parts += ["The order differs."] if check_ordering and not missing and not (extra and exact_match) else []
    return " ".join([*parts, f"Expected {wanted}, called {got}."])


def _without(names: list[str], others: list[str]) -> list[str]:
    """The rest of ``names``, in order, after taking away each of ``others`` once."""
    left = Counter(others)
    kept = []
    for name in names:
        if left[name] > 0:
            left[name] -= 1
        else:
            kept.append(name)
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCorrectnessSuite(CallSuite):
    """Scores the tools an answer called. Values: ``score`` and ``success`` (1 or 0).

    ``compare_parameters`` is not in the original, so it cannot be asked of ``compat``.
    """

    name: str = "tool_correctness"
    threshold: float = 0.5
    exact_match: bool = False
    check_ordering: bool = False
    compare_parameters: bool = False

    def __post_init__(self) -> None:
        CallSuite.__post_init__(self)
        check_options(self.name, self.threshold, self.mode, compare_parameters=self.compare_parameters)

    def value_names(self) -> tuple[str, ...]:
        return ("score", "success")

    def unresolved(self, reason: str) -> dict[str, Any]:
        return {"score": 0.0, "success": False, "reason": reason}

    def evaluate(self, expectation: Expectation, answered: AnsweredCalls) -> dict[str, Any]:
        """Details: score, success, reason. No tool expected and none called is a full score."""
        if self.compare_parameters:
            result = score_calls(
                expectation.calls,
                answered.calls,
                threshold=self.threshold,
                exact_match=self.exact_match,
                check_ordering=self.check_ordering,
            )
        else:
            result = score(
                [call.name for call in expectation.calls],
                [call.name for call in answered.calls],
                threshold=self.threshold,
                exact_match=self.exact_match,
                check_ordering=self.check_ordering,
                mode=self.mode,
            )
        malformed = first_problem(answered.calls) or answered.problem
        reason = f"{result.reason} Beware: {malformed}." if malformed and self.mode == "strict" else result.reason
        return {"score": result.score, "success": result.success, "reason": reason}
