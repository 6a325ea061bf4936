"""The columns of the history of runs as a frame: a row a vendor of a model in a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import msgspec

from vendor_verifier.features.data.columns import Column, FrameKind
from vendor_verifier.metrics import RANKED, RECORD_METRICS
from vendor_verifier.records.history import HistoryEntry, HistoryRun

_STATISTICS = {"mean": "mean", "p50": "median", "p95": "95th percentile"}


class HistoryRow(msgspec.Struct, frozen=True):
    """A vendor of a model in a stored run."""

    run: HistoryRun
    entry: HistoryEntry


def history_rows(runs: Iterable[HistoryRun]) -> Iterator[HistoryRow]:
    """The rows of these runs, in their order."""
    return (HistoryRow(run, entry) for run in runs for entry in run.entries)


def history_kind(figures: Iterable[str]) -> FrameKind[HistoryRow]:
    """The frame whose columns hold these figures of the history, by the names that the history has for them."""
    known = tuple(figures)
    return FrameKind(
        "load_history()",
        "a vendor of a model in a run of the history, oldest run first",
        (
            Column("run", "string", "id of the run", lambda row: row.run.run),
            Column("at", "datetime64[ns, UTC]", "when it began", lambda row: row.run.at or None),
            Column("folder", "string", "where it lay when it was added", lambda row: row.run.folder),
            Column("question", "string", "digest of what was asked; compare runs of one question",
                   lambda row: row.run.question),
            Column("complete", "boolean", "no record was missing", lambda row: row.run.complete),
            Column("version", "string", "version of this program", lambda row: row.run.version or None),
            Column("model", "string", "unified model name", lambda row: row.entry.model),
            Column("label", "string", "the vendor's entry, as in every table", lambda row: row.entry.label),
            Column("vendor", "string", "the vendor", lambda row: row.entry.vendor),
            Column("model_id", "string", "what the vendor calls the model", lambda row: row.entry.model_id),
            Column("is_baseline", "boolean", "the others are compared with it", lambda row: row.entry.is_baseline),
            Column("verdict", "string", "the verdict over all; missing in old runs", lambda row: row.entry.verdict),
            Column("planned", "Int64", "samples × repetitions", lambda row: row.entry.planned),
            Column("succeeded", "Int64", "of them answered, after retries", lambda row: row.entry.succeeded),
            *(column for figure in known for column in _figure(figure)),
            Column("scores", "string", "main scores of evaluations, in JSON", lambda row: _scores(row, known)),
            Column("served_models", "string", "models named in answers, in JSON",
                   lambda row: json.dumps(row.entry.served.models, ensure_ascii=False)),
            Column("fingerprints", "string", "fingerprints named there, in JSON",
                   lambda row: json.dumps(row.entry.served.fingerprints, ensure_ascii=False)),
        ),
    )  # fmt: skip


def _figure(name: str) -> Iterator[Column[HistoryRow]]:
    """The column of a figure, and that of the number of records that it was taken over."""
    metric, _, statistic = name.partition(".")
    unit, words = _meaning(metric, statistic)
    column = name.replace(".", "_")
    yield Column(column, "Float64", words, lambda row: row.entry.figures.get(name, (None, 0))[0], unit)
    yield Column(f"measured_{column}", "Int64", f"over how many `{column}` was taken",
                 lambda row: row.entry.figures.get(name, (None, 0))[1])  # fmt: skip


def _meaning(metric: str, statistic: str) -> tuple[str, str]:
    """Unit and meaning of a figure."""
    if statistic:
        found = next(each for each in RECORD_METRICS if each.name == metric)
        return found.unit, f"{_STATISTICS[statistic]} of `{metric}` of single records"
    ranked = RANKED[metric]
    return ranked.unit, metric if ranked.figure is None else ranked.figure.words


def _scores(row: HistoryRow, known: tuple[str, ...]) -> str | None:
    found = {name: value for name, (value, _) in row.entry.figures.items() if name not in known}
    return json.dumps(found, ensure_ascii=False) if found else None
