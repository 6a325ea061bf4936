"""The categories of the leaderboard: names of both versions, groups, and what each needs to run; it reads no file.

The v4 names are ours; v3 has ``simple``, ``java`` and ``javascript`` where v4 has ``simple_python``, ``simple_java``
and ``simple_javascript``. The rest is spelled alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from vendor_verifier.errors import BFCL_FUNCTIONS, BFCL_SIMULATORS, UsageError
from vendor_verifier.suites.bfcl.verdict import Language

NON_LIVE_AST = ("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple")
LIVE_AST = ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple")
RELEVANCE = ("irrelevance", "live_irrelevance", "live_relevance")
SINGLE_TURN = (*NON_LIVE_AST, "irrelevance", *LIVE_AST, "live_irrelevance", "live_relevance")
MULTI_TURN = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
EXECUTABLE = ("exec_simple", "exec_multiple", "exec_parallel", "exec_parallel_multiple")
REST = ("rest",)
AGENTIC = ("memory_kv", "memory_vector", "memory_rec_sum", "web_search_base", "web_search_no_snippet")
SENSITIVITY = "format_sensitivity"
UNSCORED = ("sql", "chatable", "multi_turn_composite")

V3_TO_V4: Mapping[str, str] = MappingProxyType(
    {"simple": "simple_python", "java": "simple_java", "javascript": "simple_javascript"}
)
V4_TO_V3: Mapping[str, str] = MappingProxyType({new: old for old, new in V3_TO_V4.items()})

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "all": (*SINGLE_TURN, *MULTI_TURN, *EXECUTABLE, *REST, *AGENTIC, SENSITIVITY),
        "all_scoring": (*SINGLE_TURN, *MULTI_TURN, *EXECUTABLE, *REST, *AGENTIC),
        "ast": SINGLE_TURN,
        "single_turn": SINGLE_TURN,
        "non_live": (*NON_LIVE_AST, "irrelevance"),
        "live": (*LIVE_AST, "live_irrelevance", "live_relevance"),
        "live_*": (*LIVE_AST, "live_irrelevance", "live_relevance"),
        "python": tuple(name for name in SINGLE_TURN if "java" not in name),
        "non_python": ("simple_java", "simple_javascript"),
        "simple_*": ("simple_python", "simple_java", "simple_javascript"),
        "multi_turn": MULTI_TURN,
        "multi_turn_*": MULTI_TURN,
        "executable": (*EXECUTABLE, *REST),
        "exec_*": EXECUTABLE,
        "memory": AGENTIC[:3],
        "web_search": AGENTIC[3:],
        "agentic": AGENTIC,
    }
)

# The rows of upstream's full sets, for weighting categories that a run left out (v3: nvidia_bfcl 26.3, v4: 2026.3.23).
V3_ROWS: Mapping[str, int] = MappingProxyType(
    {
        "simple_python": 400, "simple_java": 100, "simple_javascript": 50, "multiple": 200, "parallel": 200,
        "parallel_multiple": 200, "irrelevance": 240, "live_simple": 258, "live_multiple": 1053, "live_parallel": 16,
        "live_parallel_multiple": 24, "live_irrelevance": 882, "live_relevance": 18, "multi_turn_base": 200,
        "multi_turn_miss_func": 200, "multi_turn_miss_param": 200, "multi_turn_long_context": 200, "exec_simple": 100,
        "exec_multiple": 50, "exec_parallel": 50, "exec_parallel_multiple": 40, "rest": 70,
    }
)  # fmt: skip
V4_ROWS: Mapping[str, int] = MappingProxyType(
    {
        **{name: rows for name, rows in V3_ROWS.items() if name not in (*EXECUTABLE, *REST)},
        "live_irrelevance": 884, "live_relevance": 16, "memory_kv": 155, "memory_vector": 155, "memory_rec_sum": 155,
        "web_search_base": 100, "web_search_no_snippet": 100,
    }
)  # fmt: skip

_NEEDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(MULTI_TURN, f"the simulated services of bfcl_eval: {BFCL_SIMULATORS}"),
        **dict.fromkeys(EXECUTABLE, f"the functions of nvidia_bfcl: {BFCL_FUNCTIONS}"),
        "rest": "keys of live services (retired upstream): RAPID_API_KEY, EXCHANGERATE_API_KEY, OMDB_API_KEY, "
        "GEOCODE_API_KEY in .env or the environment",
        **dict.fromkeys(AGENTIC[:3], "memory back ends, which this product does not have"),
        **dict.fromkeys(AGENTIC[3:], "a web search key and live web pages"),
        **dict.fromkeys(UNSCORED, "a scorer: upstream has none for it"),
    }
)


def canonical(name: str) -> str:
    """The v4 name of one category.

    Raises:
        UsageError: no such category; the nearest names are in the message.
    """
    found = V3_TO_V4.get(name, name)
    if not is_category(found):
        raise UsageError(f"no BFCL category {name!r}; there are {', '.join((*GROUPS, *GROUPS['all'], *V3_TO_V4))}")
    return found


def is_category(name: str) -> bool:
    """Whether this is a category's v4 name."""
    return name in GROUPS["all"] or name in UNSCORED


def expand(names: Iterable[str]) -> tuple[str, ...]:
    """Categories and groups, by any of their names (also with commas) → v4 names, each once, in the order asked.

    Raises:
        UsageError: one of them is neither.
    """
    asked = [part.strip() for name in names for part in name.split(",") if part.strip()]
    found: dict[str, None] = {}
    for name in asked:
        found.update(dict.fromkeys(GROUPS[name] if name in GROUPS else (canonical(name),)))
    return tuple(found)


def not_run_reason(
    category: str, *, simulators: bool = False, functions: bool = False, keys: bool = False
) -> str | None:
    """The reason that this category (v4 name) cannot run, or None when it can.

    ``simulators``: bfcl_eval's services are installed; ``functions``: those of nvidia_bfcl; ``keys``: at least one key
    of the rest rows is set.
    """
    able = (MULTI_TURN if simulators else ()) + (EXECUTABLE if functions else ()) + (REST if keys else ())
    if category in able:
        return None
    needs = _NEEDS.get(category)
    return None if needs is None else f"not run: needs {needs}"


def language_of(category: str) -> Language:
    """The programming language of a row's values, by the name of its category in either version."""
    if "javascript" in category:
        return "javascript"
    return "java" if "java" in category else "python"


def expects_no_call(category: str) -> bool:
    return "irrelevance" in category


def is_relevance(category: str) -> bool:
    """Only whether a call was made counts, not what it says."""
    return "relevance" in category
