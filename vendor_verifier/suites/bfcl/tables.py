"""The leaderboard's tables (``data_overall.csv`` and those beside it) of one model's vendors, as rows of cells.

Columns, order and ``N/A`` are upstream's. An ``… Overall Acc`` counts what was not run as 0, every other summary is
``N/A`` then. Two things differ: vendors stand where upstream has models, and equal ones share the better rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from vendor_verifier.suites.bfcl.categories import AGENTIC, EXECUTABLE, LIVE_AST, MULTI_TURN, NON_LIVE_AST, REST
from vendor_verifier.suites.bfcl.prompts import SENSITIVITY_FORMATS
from vendor_verifier.suites.bfcl.results import (
    VendorResult,
    Version,
    accuracies_of,
    latency,
    live,
    mean_of,
    non_live,
    overall,
    sensitivity,
)

_NA = "N/A"
_SIMPLE = NON_LIVE_AST[:3]
_NON_LIVE = NON_LIVE_AST[3:]
_EXECUTED = EXECUTABLE[1:]
_MEMORY, _WEB_SEARCH = AGENTIC[:3], AGENTIC[3:]


@dataclass(frozen=True, slots=True)
class _Figures:
    """One vendor's accuracies (0 to 1) by category, and what the tables make of them; None is ``N/A``."""

    vendor: VendorResult
    version: Version

    def one(self, category: str) -> float | None:
        found = accuracies_of(self.vendor).get(category)
        return None if found is None else found[0]

    def mean(self, categories: Sequence[str]) -> float | None:
        return _mean([self.one(category) for category in categories])

    def ast(self) -> float | None:
        return _mean([self.mean(_SIMPLE), *map(self.one, _NON_LIVE)])

    def executed(self) -> float | None:
        return _mean([self.mean(("exec_simple", *REST)), *map(self.one, _EXECUTED)])

    def live_ast(self) -> float | None:
        accuracies = accuracies_of(self.vendor)
        return live(accuracies, "v4") if all(name in accuracies for name in LIVE_AST) else None

    def with_zeros(self, categories: Sequence[str]) -> float:
        return mean_of(accuracies_of(self.vendor), categories)


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if len(there) == len(values) else None


_Column = Callable[[_Figures], float | None]


def _one(category: str) -> _Column:
    return lambda figures: figures.one(category)


def _mean_column(*categories: str) -> _Column:
    return lambda figures: figures.mean(categories)


def _live(figures: _Figures) -> float:
    return live(accuracies_of(figures.vendor), figures.version)


_AST_COLUMNS: Mapping[str, _Column] = MappingProxyType(
    {
        "Simple AST": _mean_column(*_SIMPLE),
        "Python Simple AST": _one("simple_python"),
        "Java Simple AST": _one("simple_java"),
        "JavaScript Simple AST": _one("simple_javascript"),
        "Multiple AST": _one("multiple"),
        "Parallel AST": _one("parallel"),
        "Parallel Multiple AST": _one("parallel_multiple"),
    }
)
_EXEC_COLUMNS: Mapping[str, _Column] = MappingProxyType(
    {
        "Simple Exec": _mean_column("exec_simple", *REST),
        "Python Simple Exec": _one("exec_simple"),
        "REST Simple Exec": _one("rest"),
        "Multiple Exec": _one("exec_multiple"),
        "Parallel Exec": _one("exec_parallel"),
        "Parallel Multiple Exec": _one("exec_parallel_multiple"),
    }
)
_LIVE_COLUMNS: Mapping[str, _Column] = MappingProxyType(
    {
        "Live Overall Acc": _live,
        "AST Summary": lambda figures: figures.live_ast(),
        "Python Simple AST": _one("live_simple"),
        "Python Multiple AST": _one("live_multiple"),
        "Python Parallel AST": _one("live_parallel"),
        "Python Parallel Multiple AST": _one("live_parallel_multiple"),
        "Irrelevance Detection": _one("live_irrelevance"),
        "Relevance Detection": _one("live_relevance"),
    }
)
_MULTI_TURN_NAMES = ("Base", "Miss Func", "Miss Param", "Long Context")
_MULTI_TURN_COLUMNS: Mapping[str, _Column] = MappingProxyType(
    {
        "Multi Turn Overall Acc": lambda figures: figures.with_zeros(MULTI_TURN),
        **{name: _one(category) for name, category in zip(_MULTI_TURN_NAMES, MULTI_TURN, strict=True)},
    }
)
_AGENTIC_SUMMARIES: Mapping[str, _Column] = MappingProxyType(
    {
        "Web Search Summary": _mean_column(*_WEB_SEARCH),
        "Web Search Base": _one("web_search_base"),
        "Web Search No Snippet": _one("web_search_no_snippet"),
        "Memory Summary": _mean_column(*_MEMORY),
        "Memory KV": _one("memory_kv"),
        "Memory Vector": _one("memory_vector"),
        "Memory Recursive Summarization": _one("memory_rec_sum"),
    }
)
_AGENTIC_COLUMNS: Mapping[str, _Column] = MappingProxyType(
    {
        "Agentic Overall Acc": lambda figures: (figures.with_zeros(_WEB_SEARCH) + figures.with_zeros(_MEMORY)) / 2,
        **_AGENTIC_SUMMARIES,
    }
)


def _non_live_columns(version: Version) -> dict[str, _Column]:
    columns: dict[str, _Column] = {
        "Non-Live Overall Acc" if version == "v4" else "Non_Live Overall Acc": lambda figures: non_live(
            accuracies_of(figures.vendor), figures.version
        ),
        "AST Summary": lambda figures: figures.ast(),
    }
    if version == "v3":
        columns["Exec Summary"] = lambda figures: figures.executed()
    columns |= _AST_COLUMNS
    columns |= _EXEC_COLUMNS if version == "v3" else {}
    return {**columns, "Irrelevance Detection": _one("irrelevance")}


def _overall_columns(version: Version) -> dict[str, _Column]:
    """The columns of ``data_overall.csv`` that are accuracies."""
    columns: dict[str, _Column] = {"Non-Live AST Acc": lambda figures: figures.ast()}
    columns |= {f"Non-Live {name}": column for name, column in _AST_COLUMNS.items() if not name.startswith(_LANGUAGES)}
    if version == "v3":
        columns["Non-Live Exec Acc"] = lambda figures: figures.executed()
        shown = {name: column for name, column in _EXEC_COLUMNS.items() if not name.startswith((*_LANGUAGES, "REST"))}
        columns |= {f"Non-Live {name}": column for name, column in shown.items()}
    columns["Live Acc"] = _live
    columns |= {name.replace("Python", "Live"): column for name, column in _LIVE_COLUMNS.items() if "Python" in name}
    columns["Multi Turn Acc"] = _MULTI_TURN_COLUMNS["Multi Turn Overall Acc"]
    columns |= {f"Multi Turn {name}": _MULTI_TURN_COLUMNS[name] for name in _MULTI_TURN_NAMES}
    if version == "v4":
        columns |= {name.replace("Summary", "Acc"): column for name, column in _AGENTIC_SUMMARIES.items()}
    columns["Relevance Detection"] = _one("live_relevance")
    columns["Irrelevance Detection"] = _mean_column("irrelevance", "live_irrelevance")
    return columns


_LANGUAGES = ("Python", "Java", "JavaScript")


def leaderboard_tables(vendors: Sequence[VendorResult], version: Version) -> dict[str, list[list[str]]]:
    """File name → its rows, the head first, best vendor on top."""
    figures = [_Figures(vendor, version) for vendor in vendors]
    tables = {
        "data_overall.csv": _overall_table(figures, version),
        "data_non_live.csv": _table(figures, _non_live_columns(version)),
        "data_live.csv": _table(figures, _LIVE_COLUMNS),
        "data_multi_turn.csv": _table(figures, _MULTI_TURN_COLUMNS),
    }
    if version == "v4":
        tables["data_agentic.csv"] = _table(figures, _AGENTIC_COLUMNS)
        tables["data_format_sensitivity.csv"] = _sensitivity_table(figures)
    return tables


def _table(figures: Sequence[_Figures], columns: Mapping[str, _Column]) -> list[list[str]]:
    rows = [(each.vendor.label, [column(each) for column in columns.values()]) for each in figures]
    ranked = _ranked([(values[0], [label, *map(_percent, values)]) for label, values in rows])
    return [["Rank", "Model", *columns], *ranked]


def _overall_table(figures: Sequence[_Figures], version: Version) -> list[list[str]]:
    columns = _overall_columns(version)
    cost = "Total Cost ($)" if version == "v4" else "Cost ($ Per 1k Function Calls)"
    times = list(latency(()))
    varying = ["Format Sensitivity Max Delta", "Format Sensitivity Standard Deviation"] if version == "v4" else []
    head = ["Rank", "Overall Acc", "Model", "Model Link", cost, *times, *columns, *varying, "Organization", "License"]
    rows = []
    for each in figures:
        total, found = overall(accuracies_of(each.vendor), version), sensitivity(each.vendor)
        spread = [_number(found.get("max_delta")), _number(found.get("std"))] if varying else []
        seconds = [_number(value) for value in latency(each.vendor.latencies_s).values()]
        cells = [_percent(column(each)) for column in columns.values()]
        rows.append((total, [_percent(total), each.vendor.label, _NA, _NA, *seconds, *cells, *spread, _NA, _NA]))
    return [head, *_ranked(rows)]


def _sensitivity_table(figures: Sequence[_Figures]) -> list[list[str]]:
    names = [wanted.name for wanted in SENSITIVITY_FORMATS]
    head = ["Rank", "Model", "Format Sensitivity Max Delta", "Format Sensitivity Standard Deviation"]
    rows: list[tuple[float | None, list[str]]] = []
    for each in figures:
        found = sensitivity(each.vendor)
        shares = found.get("configs", {})
        cells = [_percent(shares.get(name)) for name in names]
        delta = found.get("max_delta")
        rows.append((delta, [each.vendor.label, _number(delta), _number(found.get("std")), *cells]))
    return [[*head, *(f"Config {name}" for name in names)], *_ranked(rows)]


def _ranked(rows: Sequence[tuple[float | None, list[str]]]) -> list[list[str]]:
    """The rows behind their rank, the highest value first, those without one last."""
    keys = [-1.0 if value is None else value for value, _ in rows]
    order = sorted(range(len(rows)), key=lambda place: -keys[place])
    return [[str(1 + sum(other > keys[place] for other in keys)), *rows[place][1]] for place in order]


def _percent(share: float | None) -> str:
    return _NA if share is None else f"{share * 100:.2f}%"


def _number(value: float | None) -> str:
    return _NA if value is None else str(value)
