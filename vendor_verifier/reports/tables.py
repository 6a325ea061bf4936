"""The tables of a report: each is a DataFrame with the headings and formats of its columns, the same for every output.

The index of a frame holds the names of its rows. What strangers wrote stays as it is until an output escapes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import pandas as pd

from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.results import FACETS, WORST_FIRST, Finding, ModelResult, Status, VendorResult
from vendor_verifier.reports import formats
from vendor_verifier.reports.escape import markdown
from vendor_verifier.reports.formats import FACET_TITLES, Format
from vendor_verifier.scoring.scored_run import ScoredRun
from vendor_verifier.text import counted

INCOMPLETE = "The run is incomplete: figures cover what was sent so far."
MOST_FINDINGS = 100
_LABEL_LENGTH, _CELL_LENGTH = 80, 500
BEST_FIRST: tuple[Status, ...] = WORST_FIRST[::-1]


class Column(NamedTuple):
    """A column: its name in the frame, its heading, and how its values are written; text without a format."""

    key: str
    head: str
    form: Format = str


# The columns of the product's page, in its order.
PAGE_COLUMNS = (
    Column("irf", "IRF Score", formats.irf),
    Column("success_rate", "Success Rate", formats.rate),
    Column("f1", "F1 Score", formats.rate),
    Column("tps", "TPS", formats.quantity),
    Column("schema_accuracy", "Schema Accuracy", formats.rate),
    Column("avg_ttft_ms", "TTFT (ms)", formats.quantity),
    Column("avg_tokens", "Avg Token", formats.quantity),
)


@dataclass(frozen=True)
class Table:
    """A frame with a title, the columns that are shown, in their order, the heading of its index, and a note."""

    title: str
    frame: pd.DataFrame
    columns: tuple[Column, ...]
    head: str = "Vendor"
    note: str = ""

    @property
    def heads(self) -> list[str]:
        """The headings, that of the index first."""
        return [self.head, *(column.head for column in self.columns)]

    def rows(self) -> Iterator[list[str]]:
        """The texts of every row, its name first; not escaped."""
        values = [self.frame[column.key].astype(object) for column in self.columns]
        for place, name in enumerate(self.frame.index):
            cells = (
                formats.written(value.iloc[place], column.form)
                for value, column in zip(values, self.columns, strict=True)
            )
            yield [str(name), *cells]

    @property
    def without_empty(self) -> Table:
        """The table without the columns in which nothing was measured."""
        kept = tuple(column for column in self.columns if self.frame[column.key].notna().any())
        return Table(self.title, self.frame, kept, self.head, self.note)


def markdown_lines(table: Table) -> list[str]:
    """A GitHub table with everything escaped; empty without a row."""
    if table.frame.empty:
        return []
    lines = [[markdown(text, _LABEL_LENGTH) for text in table.heads]]
    lines += [[markdown(row[0], _LABEL_LENGTH), *(markdown(text, _CELL_LENGTH) for text in row[1:])]
              for row in table.rows()]  # fmt: skip
    drawn = ["| " + " | ".join(line) + " |" for line in lines]
    return [drawn[0], "|" + "---|" * len(lines[0]), *drawn[1:]]


def table(
    title: str,
    rows: Iterable[tuple[str, Mapping[str, Any]]],
    columns: Iterable[Column],
    head: str = "Vendor",
    note: str = "",
) -> Table:
    """A table from the name and the values of each row; names may repeat, and values may be missing."""
    named, columns = list(rows), tuple(columns)
    values: list[Any] = [row for _, row in named]
    frame = pd.DataFrame(values, index=[name for name, _ in named], dtype=object)
    return Table(title, frame.reindex(columns=[column.key for column in columns]), columns, head, note)


def value_tally(values: pd.Series[Any]) -> str:
    """``word 3, other 1`` of the values of a column."""
    return formats.tally({str(word): int(number) for word, number in values.value_counts().items() if number})


def by_verdict(model: ModelResult) -> list[VendorResult]:
    """The vendors of a model, the best verdict first, and by place in each."""
    return sorted(model.vendors.values(), key=lambda vendor: BEST_FIRST.index(vendor.verdict.status))


def verdicts(model: ModelResult) -> Table:
    """Vendors × facets in words."""
    rows = []
    for vendor in by_verdict(model):
        words: dict[str, str] = {"verdict": formats.status_word(vendor.verdict.status)}
        for name, facet in vendor.verdict.facets.items():
            words[name] = formats.status_word(facet.status)
        rows.append((vendor.label, words))
    columns = [Column("verdict", "Verdict"), *(Column(name, FACET_TITLES[name]) for name in FACETS)]
    return table("Verdict", rows, columns)


def suites_of(model: ModelResult) -> list[str]:
    """The evaluations with a result of any vendor, in the order of the first that has them."""
    return list(dict.fromkeys(name for vendor in model.vendors.values() for name in vendor.suites))


def ranking(model: ModelResult) -> Table:
    """The product page's columns by place, with the verdict and a column for each evaluation's main score."""
    suites = [name for name in suites_of(model) if any(v.metric(name) is not None for v in model.vendors.values())]
    columns = [
        Column("place", "Place", formats.quantity),
        Column("verdict", "Verdict"),
        *PAGE_COLUMNS,
        *(Column(f"suite {name}", name, formats.rate) for name in suites),
        Column("answered", "Answered"),
    ]
    rows = {}
    for label, vendor in model.vendors.items():
        rows[label] = {
            "place": vendor.place,
            "verdict": formats.status_word(vendor.verdict.status),
            **{column.key: getattr(vendor, column.key) for column in PAGE_COLUMNS},
            **{f"suite {name}": vendor.metric(name) if name in vendor.suites else None for name in suites},
            "answered": f"{vendor.succeeded} of {vendor.planned}",
        }
    note = "IRF orders vendors and does not measure them: read it with the verdict."
    return table("Ranking", rows.items(), columns, note=note)


def counts(model: ModelResult) -> Table:
    """The confusion matrix behind F1, and over how many answers each figure was taken."""
    columns = (
        Column("tp", "TP", formats.count),
        Column("fp", "FP", formats.count),
        Column("fn", "FN", formats.count),
        Column("tn", "TN", formats.count),
        Column("precision", "Precision", formats.rate),
        Column("recall", "Recall", formats.rate),
        Column("planned", "Planned", formats.count),
        Column("recorded", "Recorded", formats.count),
        Column("succeeded", "Succeeded", formats.count),
        *(
            Column(f"measured {column.key}", f"{column.head}, of", formats.count)
            for column in PAGE_COLUMNS
            if column.key in ("schema_accuracy", "avg_tokens", "avg_ttft_ms", "tps")
        ),
    )
    rows = {}
    for label, vendor in model.vendors.items():
        trigger = ("tp", "fp", "fn", "tn", "precision", "recall")
        rows[label] = {
            **{name: None if vendor.counts is None else getattr(vendor.counts, name) for name in trigger},
            **{name: getattr(vendor, name) for name in ("planned", "recorded", "succeeded")},
            **{f"measured {name}": number for name, number in vendor.measured.items()},
        }
    note = "TP to TN are summed over the pairs of a baseline's repetition and the vendor's; a failure counts as missed."
    return table("Counts", rows.items(), columns, note=note)


def findings(found: Iterable[Finding]) -> Table:
    """What was seen at vendors, in the order given: the sentence, its evidence and the difference with its interval."""
    columns = (
        Column("facet", "Facet"),
        Column("status", "Means"),
        Column("text", "Finding"),
        Column("p_value", "p", formats.p_value),
        Column("difference", "Difference"),
        Column("n", "n", formats.count),
        Column("name", "Name"),
    )
    rows = []
    for finding in list(found)[:MOST_FINDINGS]:
        value = formats.written(finding.value, formats.quantity)
        ends = formats.interval(finding.low, finding.high)
        rows.append((finding.vendor, {
            "facet": FACET_TITLES[finding.facet],
            "status": "noted" if finding.status == "matches" else formats.status_word(finding.status),
            "text": finding.text,
            "p_value": finding.p_value,
            "difference": f"{value} ({ends})" if ends else value,
            "n": finding.n or None,
            "name": finding.name,
        }))  # fmt: skip
    return table("Findings", rows, columns)


def failures(records: pd.DataFrame) -> Table:
    """Failed records by kind: how many at which vendor, who answers for them, the cause and what to do."""
    failed = records[records["failure"].notna()]
    columns = (
        Column("vendors", "Records"),
        Column("charge", "Counts against"),
        Column("cause", "Cause"),
        Column("remedy", "What to do"),
    )
    rows = {}
    for kind, part in failed.groupby("failure", observed=True):
        known = KINDS[str(kind)]
        rows[str(kind)] = {
            "vendors": value_tally(part["label"]),
            "charge": value_tally(part["charge"]),
            "cause": known.cause,
            "remedy": known.remedy,
        }
    return table("Failures", rows.items(), columns, head="Kind")


def evaluation(model: ModelResult, suite: str) -> Table:
    """The scores of one evaluation by vendor; a failure counts 0."""
    rows = {
        label: {"judged": f"{found.judged} of {found.planned}", **found.values}
        for label, vendor in model.vendors.items()
        if (found := vendor.suites.get(suite)) is not None
    }
    names = dict.fromkeys(name for values in rows.values() for name in values if name != "judged")
    columns = (Column("judged", "Judged"), *(Column(name, name, formats.rate) for name in names))
    return table(f"Evaluation {suite}", rows.items(), columns)


def checks(model: ModelResult, suite: str) -> Table:
    """Features × vendors: what became of each check."""
    labels = [label for label, vendor in model.vendors.items() if suite in vendor.suites]
    names = dict.fromkeys(name for label in labels for name in model.vendors[label].suites[suite].checks)
    rows = {}
    for name in names:
        found = {label: model.vendors[label].suites[suite].checks.get(name) for label in labels}
        rows[name] = {label: None if word is None else word.replace("_", " ") for label, word in found.items()}
    return table(f"Checks of {suite}", rows.items(), [Column(label, label) for label in labels], head="Check")


def identity(scored: ScoredRun, name: str) -> Table:
    """What each vendor was asked for, and what its answers say they come from."""
    records = scored.records[scored.records["model"] == name]
    columns = (
        Column("vendor", "Vendor's name"),
        Column("model_id", "Model asked for"),
        Column("served", "Model in answers"),
        Column("provider", "Provider in answers"),
    )
    rows = {}
    for label, vendor in scored.report.models[name].vendors.items():
        own = records[records["label"] == label]
        rows[label] = {
            "vendor": vendor.vendor,
            "model_id": vendor.model_id,
            "served": value_tally(own["served_model"]),
            "provider": value_tally(own["provider"]),
        }
    return table("Models and providers", rows.items(), columns, head="Vendor entry")


def costs(scored: ScoredRun, name: str) -> Table:
    """What the answers of each vendor of a model cost."""
    rows = {
        label: msgspec.structs.asdict(scored.money[name, label])
        for label in scored.report.models[name].vendors
        if (name, label) in scored.money
    }
    columns = (
        Column("total_usd", "All", formats.usd),
        Column("wasted_usd", "Of it on failures and retries", formats.usd),
        Column("per_1000_requests_usd", "1,000 requests", formats.usd),
        Column("per_answer_usd", "1,000 answers", lambda usd: formats.usd(1000 * usd)),
        Column("per_valid_call_usd", "1,000 valid calls", lambda usd: formats.usd(1000 * usd)),
        Column("monthly_usd", "A month of your volume", formats.usd),
        Column("reported_ratio", "Billed ÷ computed", formats.quantity),
        Column("unpriced", "Attempts without tokens", formats.count),
    )
    return table("Costs in US dollars", rows.items(), columns).without_empty


def conditions(scored: ScoredRun) -> list[str]:
    """How the run was sent and scored, in sentences."""
    manifest, settings = scored.manifest, scored.manifest.settings
    found = [f"Sent {manifest.created_at[:16].replace('T', ' ')} UTC."] if manifest.created_at else []
    found += [f"Suite {task.suite}: {counted(task.count, 'sample')}." for task in manifest.tasks]
    found.append(f"Each sample was sent {counted(settings.repeat, 'time')} to each vendor.")
    if settings.load is not None:
        found.append(f"Load: {formats.load_words(msgspec.to_builtins(settings.load))}.")
    elif settings.request_concurrency:
        found.append(f"At most {counted(settings.request_concurrency, 'request')} in flight for each account.")
    loop = manifest.event_loop
    if loop is not None and loop.p99_ms is not None:
        found.append(f"This program read answers up to {formats.quantity(loop.p99_ms)} ms late (p99).")
    policies = {name: value for name, value in scored.report.settings.items() if isinstance(value, (str, int, float))}
    found.append("Settings: " + ", ".join(f"{name} {value}" for name, value in sorted(policies.items())) + ".")
    packages = {name: number for name, number in (manifest.packages or {}).items() if number}
    tool = manifest.tool
    versions = [f"{tool.name} {tool.version}"] if tool is not None and tool.name else []
    versions += [f"{name} {number}" for name, number in packages.items()]
    return [*found, *([f"Versions: {', '.join(versions)}."] if versions else [])]


def sections(scored: ScoredRun, name: str) -> list[Table]:
    """The tables of a model that follow its verdict and ranking, in their order; some may be empty."""
    model = scored.report.models[name]
    records = scored.records[scored.records["model"] == name]
    found = [counts(model), findings(each for each in scored.findings if each.model == name), failures(records)]
    for suite in suites_of(model):
        found += [evaluation(model, suite), checks(model, suite)]
    return [*found, costs(scored, name), identity(scored, name)]
