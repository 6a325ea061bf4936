"""Tool Correctness as eval_ai_library 0.8.2 computes it; names only, and unlike the original it prints nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from vendor_verifier.suites.sequence import longest_common


def score(expected: Any, called: Any, *, exact_match: bool, check_ordering: bool) -> tuple[float, str]:
    """The original's score and reason. Exact match wins over ordering.

    Where the reason lists missing tools the original's order changes from process to process; here it is the order of
    the expectation.

    Raises:
        pydantic.ValidationError: an argument is no list of texts (None is an empty list).
    """
    wanted, got = _names(expected), _names(called)
    if exact_match:
        if wanted == got:
            return 1.0, f"Exact match: all expected tools {wanted} were called exactly."
        return 0.0, f"Mismatch: expected {wanted}, called {got}."
    if check_ordering:
        common = longest_common(wanted, got)
        if common == len(wanted):
            return 1.0, "Correct tool usage and order."
        return common / len(wanted), f"Incomplete or unordered: expected {wanted}, got {got}."
    return _share_called(wanted, got), _share_reason(wanted, got)


def _share_called(wanted: list[str], got: list[str]) -> float:
    return (Counter(wanted) & Counter(got)).total() / len(wanted) if wanted else 1.0


def _share_reason(wanted: Sequence[str], got: Sequence[str]) -> str:
    """By sets, unlike the score: one call of a tool expected twice gives 0.5 and "all were called"."""
    missing = [name for name in dict.fromkeys(wanted) if name not in got]
    if missing:
        return f"Missing tools {missing}. Expected {wanted}, got {got}."
    return f"All expected tools {wanted} were called."


def _names(value: Any) -> list[str]:
    from pydantic import TypeAdapter  # heavy, and needed only to refuse what the original refuses

    return TypeAdapter(list[str] | None).validate_python(value) or []
