"""A stored run as pandas DataFrames, each made when it is first asked for, and as files; nothing is sent."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, get_args

import msgspec
import pandas as pd

from vendor_verifier.errors import Problem, ProblemsError, UsageError, install_line
from vendor_verifier.features.data import TableFormat
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.records.record import Record, standing
from vendor_verifier.records.results import Report
from vendor_verifier.reports.escape import spreadsheet_text
from vendor_verifier.scoring.columns import ATTEMPT_COLUMNS, EVALUATION_COLUMNS, RECORD_COLUMNS, Column
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.scoring.metrics import METRICS, RANK_METRICS
from vendor_verifier.store import RunFolder
from vendor_verifier.suites.trigger import judged_calls
from vendor_verifier.wire.payload import well_formed

# The tables that people read.
FOR_PEOPLE = ("ranking", "verdicts", "findings")
KEY = ["model", "label", "suite", "sample", "repetition"]
Row = tuple[Any, ...]


class TableKind(msgspec.Struct, frozen=True):
    """A table: what a row is, and its columns."""

    row: str
    columns: tuple[Column, ...]


_RECORD = (EVALUATION_COLUMNS[0], *RECORD_COLUMNS[:5])
_ENTRY = RECORD_COLUMNS[:2]
_EVIDENCE = (
    Column("p_value", "float64", "", "corrected for all tests of the facet; missing for a fact"),
    Column("value", "float64", "", "the difference; for a match, the smallest that would have been found"),
    Column("low", "float64", "", "its 95 % interval: from"),
    Column("high", "float64", "", "to"),
    Column("n", "int64", "", "what it was counted over"),
    Column("samples", "string", "", "ids of samples that show it, with commas"),
    Column("command", "string", "", "the command that shows it"),
)
RANKING = (
    _ENTRY[0],
    Column("place", "float64", "", "by `irf`, or by the mean score of the evaluations; ties share it"),
    _ENTRY[1],
    Column("vendor", "string", "", "the vendor"),
    Column("model_id", "string", "", "what the vendor calls the model"),
    Column("is_baseline", "bool", "", "the others are compared with it"),
    Column("verdict", "string", "", "matches, check, differs, down, not_tested or reference"),
    Column("reason", "string", "", "why"),
    *(Column(name, "float64", METRICS[name].unit, METRICS[name].meaning) for name in ("irf", *RANK_METRICS)),
    Column("scores", "string", "", "main score of each evaluation, in JSON"),
    Column("planned", "int64", "", "samples × repetitions"),
    Column("recorded", "int64", "", "of them with a record"),
    Column("succeeded", "int64", "", "of them answered, after retries"),
)
VERDICTS = (
    *_ENTRY,
    Column("facet", "string", "", "model, tool_calls, bill, reliability or speed"),
    Column("status", "string", "", "its verdict"),
    Column("reason", "string", "", "why"),
    *_EVIDENCE,
)
FINDINGS = (
    *_ENTRY,
    VERDICTS[2],
    Column("name", "string", "", "kind of finding"),
    Column("status", "string", "", "what it means for the facet"),
    Column("text", "string", "", "one sentence with its numbers"),
    *_EVIDENCE,
)
TEXTS = (
    *_RECORD,
    Column("text", "string", "", "text of the last answer"),
    Column("reasoning", "string", "", "reasoning that it shows"),
    Column("tool_calls", "string", "", "its calls, `name(arguments)`, a line each"),
    Column("message", "string", "", "message of the failure"),
    Column("http_status", "float64", "", "HTTP status of the failure"),
    Column("request_id", "string", "", "the vendor's id of the last request"),
)
CALLS = (
    *_RECORD,
    Column("turn", "int64", "", "turn of the conversation, from 0 on"),
    Column("position", "int64", "", "place among the calls of the record, from 0 on"),
    Column("tool", "string", "", "the tool called"),
    Column("arguments", "string", "", "its arguments, as received"),
    Column("verdict", "string", "", "class of its arguments ([metrics](metrics.md#schema-accuracy))"),
    Column("reason", "string", "", "what is wrong with it"),
    Column("pointer", "string", "", "where: a JSON pointer into the arguments"),
    Column("call_id", "string", "", "the vendor's id of it"),
)
RECORDS = (*RECORD_COLUMNS, Column("misrouted", "bool", "", "answered by another provider than the pinned one"))
TABLES: Mapping[str, TableKind] = {
    "ranking": TableKind("a vendor of a model, best place first", RANKING),
    "verdicts": TableKind("a facet of a vendor ([verdict](verdict.md))", VERDICTS),
    "findings": TableKind("something that was seen at a vendor, worst first", FINDINGS),
    "records": TableKind("a record of the plan; of several under one key a success, else the first", RECORDS),
    "texts": TableKind("a record, with what the vendor wrote", TEXTS),
    "calls": TableKind("a tool call of a successful answer, checked against the schema of its turn", CALLS),
    "attempts": TableKind("a request that did not end a turn of a success", ATTEMPT_COLUMNS),
    "evaluations": TableKind("a value that an evaluation gives a record", EVALUATION_COLUMNS),
}


def load_run(run: str | PathLike[str]) -> RunData:
    """The stored run in a folder, scored when a table is first asked for; RunFolderError where there is none."""
    return RunData(Path(run))


class RunData:
    """The tables of a stored run, by their names (docs/data.md lists their columns); each is made once and kept.

    A missing value is missing (NaN), never 0. ``records``, ``attempts`` and ``evaluations`` are the frames that scoring
    uses; ``texts`` and ``calls`` are read again from the records, and have the index of their row in ``record``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = RunFolder(path)
        self.manifest = self._folder.read_manifest()

    def __getattr__(self, name: str) -> pd.DataFrame:
        if name not in TABLES:
            raise AttributeError(f"a run has no table {name!r}; it has {', '.join(TABLES)}")
        makers: Mapping[str, Callable[[], Iterable[Row]]] = {
            "ranking": self._ranking_rows,
            "verdicts": self._verdict_rows,
            "findings": lambda: (_fields(name, each, label=each.vendor) for each in self.scored.findings),
            "texts": lambda: (_text_row(number, record) for number, record in self._numbered_records()),
            "calls": self._call_rows,
        }
        table: pd.DataFrame = _frame(name, [*makers[name]()]) if name in makers else getattr(self.scored, name)
        setattr(self, name, table)
        return table

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *TABLES]

    def __repr__(self) -> str:
        return f"RunData({str(self.path)!r}: {', '.join(TABLES)})"

    def whole(self, name: str) -> pd.DataFrame:
        """The table of that name as files have it: the index of records is a column."""
        table: pd.DataFrame = getattr(self, name)
        return table.reset_index(names="record") if name == "records" else table

    @cached_property
    def scored(self) -> ScoredRun:
        """The run scored as its manifest says."""
        return score_folder(self._folder)

    @property
    def report(self) -> Report:
        """The results, as in scores.json."""
        return self.scored.report

    def _ranking_rows(self) -> Iterator[Row]:
        for model, found in self.report.models.items():
            for each in found.vendors.values():
                scores = {suite: each.metric(suite) for suite in each.suites}
                own = {"model": model, "verdict": each.verdict.status, "reason": each.verdict.reason}
                yield _fields("ranking", each, **own, scores=json.dumps(scores) if scores else None)

    def _verdict_rows(self) -> Iterator[Row]:
        for model, found in self.report.models.items():
            for each in found.vendors.values():
                for facet, judged in each.verdict.facets.items():
                    yield _fields("verdicts", judged, model=model, label=each.label, facet=facet)

    def _call_rows(self) -> Iterator[Row]:
        samples = self.scored.samples
        suites = {
            task.suite: ready_suite(task.suite, task.options, samples[task.suite], self._folder)
            for task in self.manifest.tasks
        }
        for number, record in self._numbered_records():
            sample = samples[record.suite].named(record.sample)
            assert sample is not None
            for position, (turn, call, found) in enumerate(judged_calls(record, suites[record.suite], sample)):
                shown = (call.name, call.arguments, found.verdict, found.message, found.pointer, call.id)
                yield (*_key(number, record), turn, position, *shown)

    def _numbered_records(self) -> Iterator[tuple[int, Record]]:
        """Every record of the frame, read again, with the index of its row."""
        records = standing(self._folder.read_records(lambda _line, _reason: None))
        kept = {_key(0, record)[1:]: record for record in records}
        for row in self.records[KEY].itertuples(name=None):
            yield row[0], kept[row[1:]]


def _key(number: int, record: Record) -> Row:
    return number, record.model, record.label, record.suite, record.sample, record.repetition


def _text_row(number: int, record: Record) -> Row:
    response = None if record.final is None else record.final.response
    failure = next((each.failure for each in record.finals if each.failure is not None), None)
    calls = [] if response is None else [f"{call.name}({call.arguments})" for call in response.tool_calls]
    return (
        *_key(number, record),
        *(getattr(response, name, None) or None for name in ("text", "reasoning")),
        "\n".join(calls) or None,
        *(getattr(failure, name, None) for name in ("message", "status")),
        getattr(response, "request_id", None) or getattr(failure, "request_id", None),
    )


def _fields(table: str, found: msgspec.Struct, **own: object) -> Row:
    """The fields of a struct by the names of the table's columns, ``own`` in their place where given."""
    values = [own[each.name] if each.name in own else getattr(found, each.name) for each in TABLES[table].columns]
    return tuple(",".join(value) or None if isinstance(value, tuple) else value for value in values)


def _frame(table: str, rows: list[Row]) -> pd.DataFrame:
    """These rows as a table; no format of files can write a lone surrogate."""
    columns = TABLES[table].columns
    found = {}
    for column, part in zip(columns, zip(*rows, strict=True) if rows else [()] * len(columns), strict=True):
        values = [well_formed(value) if isinstance(value, str) else value for value in part]
        found[column.name] = pd.Series(values, dtype=column.dtype)
    return pd.DataFrame(found)


def export_run(run: RunData, format: TableFormat | None, tables: Sequence[str], output: Path | None) -> list[Path]:
    """Write tables of a run and return the files.

    ``output`` is a file where its ending is a format's, else a folder; None is ``export`` in the folder of the run.
    ``format`` None is that of the file, or CSV. ``tables`` may hold ``all``; none are those that people read.

    Raises:
        ProblemsError: no such table, several tables for one file, or a file of another format.
        UsageError: the library of Parquet is missing.
        StorageError: the disk refused.
    """
    words = [word.strip() for text in tables for word in text.split(",") if word.strip()]
    if unknown := [word for word in words if word not in (*TABLES, "all")]:
        told = f"read {', '.join(unknown)}; expected some of {', '.join(TABLES)}, or all"
        raise ProblemsError([Problem(told, key="--table")])
    names = tuple(TABLES) if "all" in words else tuple(dict.fromkeys(words)) or FOR_PEOPLE
    ending = "" if output is None or output.is_dir() else output.suffix.lower().removeprefix(".")
    file = output if ending in get_args(TableFormat) else None
    chosen = format or (ending if file is not None else "csv")
    if file is not None and (ending != chosen or len(names) > 1):
        told = f"read the file {file} for {', '.join(names)} as {chosen}; give a folder, or one --table of its format"
        raise ProblemsError([Problem(told, key="--output-dir")])
    if chosen == "parquet" and find_spec("pyarrow") is None:
        raise UsageError(f"--format parquet needs pyarrow, which is not installed: {install_line('export')}")
    folder = RunFolder(file.parent if file is not None else output or run.path / "export")
    folder.create()
    written = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}[chosen]
    return [
        folder.write(file.name if file else f"{name}.{chosen}", written(run.whole(name), TABLES[name].columns))
        for name in names
    ]


def _csv(table: pd.DataFrame, _columns: Sequence[Column]) -> bytes:
    """UTF-8 with a BOM for Excel; no text is read as a formula."""
    shown = table.copy()
    for name in table:
        if not pd.api.types.is_numeric_dtype(table[name].dtype):
            texts = table[name].astype("object")
            shown[name] = texts.map(spreadsheet_text, na_action="ignore").astype("object")
    return codecs.BOM_UTF8 + shown.to_csv(index=False).encode()


def _jsonl(table: pd.DataFrame, _columns: Sequence[Column]) -> bytes:
    """A JSON object per row; missing values are null."""
    text = table.to_json(orient="records", lines=True, double_precision=15, force_ascii=False)
    return text.encode() if len(table) else b""


def _parquet(table: pd.DataFrame, columns: Sequence[Column]) -> bytes:
    """Unit and meaning are in the metadata of each column."""
    import pyarrow
    from pyarrow import parquet

    known = {column.name: {"unit": column.unit, "meaning": column.meaning} for column in columns}
    texts = table.select_dtypes("category").columns
    found = pyarrow.Table.from_pandas(table.astype(dict.fromkeys(texts, "string")), preserve_index=False)
    fields = [field.with_metadata(known.get(field.name, {})) for field in found.schema]
    target = BytesIO()
    parquet.write_table(found.cast(pyarrow.schema(fields)), target, compression="zstd")
    return target.getvalue()
