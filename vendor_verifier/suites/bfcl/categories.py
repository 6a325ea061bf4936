"""The categories of the leaderboard: names, groups, and what each needs to run. The names are those of v4."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from vendor_verifier.errors import BFCL_SIMULATORS, UsageError

Language = Literal["python", "java", "javascript"]

NON_LIVE_AST = ("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple")
LIVE_AST = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
RELEVANCE = ("irrelevance", "live_irrelevance", "live_relevance")
SINGLE_TURN = (*NON_LIVE_AST, "irrelevance", *LIVE_AST, "live_irrelevance", "live_relevance")
MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
EXECUTABLE = ("exec_simple", "exec_multiple", "exec_parallel", "exec_parallel_multiple")
REST = ("rest",)
AGENTIC = ("memory_kv", "memory_vector", "memory_rec_sum", "web_search_base", "web_search_no_snippet")
_ALL = (*SINGLE_TURN, *MULTI_TURN, *EXECUTABLE, *REST, *AGENTIC)

V3_TO_V4: Mapping[str, str] = {"simple": "simple_python", "java": "simple_java", "javascript": "simple_javascript"}
V4_TO_V3: Mapping[str, str] = {new: old for old, new in V3_TO_V4.items()}
REST_KEYS = ("RAPID_API_KEY", "EXCHANGERATE_API_KEY", "OMDB_API_KEY", "GEOCODE_API_KEY")
"""The variables that hold the keys of the live services that ``rest`` rows call."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "all": _ALL,
    "ast": SINGLE_TURN,
    "non_live": (*NON_LIVE_AST, "irrelevance"),
    "live": (*LIVE_AST, "live_irrelevance", "live_relevance"),
    "live_*": (*LIVE_AST, "live_irrelevance", "live_relevance"),
    "simple_*": ("simple_python", "simple_java", "simple_javascript"),
    "multi_turn": MULTI_TURN,
    "exec_*": EXECUTABLE,
    "memory": AGENTIC[:3],
    "web_search": AGENTIC[3:],
    "agentic": AGENTIC,
}


def expand(names: Iterable[str]) -> tuple[str, ...]:
    """Categories and groups, by any of their names (also with commas) → v4 names, each once, in the order asked.

    Raises UsageError for another name.
    """
    found: list[str] = []
    for name in (part.strip() for text in names for part in text.split(",") if part.strip()):
        found += GROUPS.get(name, [V3_TO_V4.get(name, name)])
        if found[-1] not in _ALL:
            raise UsageError(f"no BFCL category {name!r}; there are {', '.join((*GROUPS, *_ALL, *V3_TO_V4))}")
    return tuple(dict.fromkeys(found))


def not_run_reason(category: str, *, simulators: bool = False, keys: bool = False) -> str | None:
    """The reason that this category (v4 name) cannot run, or None when it can.

    ``simulators``: bfcl_eval's services are installed; ``keys``: at least one key of the rest rows is set.
    """
    needs = None
    if category in MULTI_TURN and not simulators:
        needs = f"the simulated services of bfcl_eval: {BFCL_SIMULATORS}"
    elif category in REST and not keys:
        needs = f"keys of live services (retired upstream): {', '.join(REST_KEYS)} in .env or the environment"
    elif category in AGENTIC:
        needs = "a memory or a web search, which this product does not have"
    return None if needs is None else f"not run: needs {needs}"


def language_of(category: str) -> Language:
    """The programming language of a row's values, by the name of its category in either version."""
    if "javascript" in category:
        return "javascript"
    return "java" if "java" in category else "python"


def is_relevance(category: str) -> bool:
    """Only whether a call was made counts, not what it says."""
    return "relevance" in category
