"""The tables of a report: verdicts, ranking, findings, failures, evaluations, costs, times, and the conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import pandas as pd

from vendor_verifier.findings.gates import parse_slo
from vendor_verifier.records.failures import CHARGES, KINDS
from vendor_verifier.records.manifest import Tool
from vendor_verifier.records.results import FACETS, WORST_FIRST, Finding, ModelResult, Status, VendorResult
from vendor_verifier.reports import formats
from vendor_verifier.reports.formats import FACET_TITLES, Column, Table, rows_of
from vendor_verifier.scoring import breakdowns
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.scoring.metrics import METRICS
from vendor_verifier.suites import is_diagnostic, suite_kind
from vendor_verifier.text import counted, times

INCOMPLETE = "The run is incomplete: figures cover what was sent so far."
MOST_FINDINGS = 100
# The times of single answers that a report shows; TTFAT where the model reasons.
TIMES = ("ttft_ms", "ttft_due_ms", "ttfat_ms", "tpot_ms", "e2e_ms")
BEST_FIRST: tuple[Status, ...] = WORST_FIRST[::-1]

# The columns of the product's page, in its order.
PAGE_COLUMNS = (
    Column("irf", "IRF Score", formats.irf),
    Column("success_rate", "Success Rate", formats.rate),
    Column("f1", "F1 Score", formats.rate),
    Column("tps", "TPS", formats.quantity),
    Column("schema_accuracy", "Schema Accuracy", formats.rate),
    Column("avg_ttft_ms", "TTFT avg (ms)", formats.quantity),
    Column("avg_tokens", "Avg Token", formats.quantity),
)
# What of the input came from a cache, and what a million input tokens cost with that.
INPUT_COLUMNS = (
    Column("cached_share", "Cache Hits", formats.rate),
    Column("input_price_usd", "Input, 1M Tokens", formats.usd),
)


def value_tally(values: pd.Series[Any]) -> str:
    """``word 3, other 1`` of the values of a column."""
    return formats.tally({str(word): int(number) for word, number in values.value_counts().items() if number})


def by_verdict(model: ModelResult) -> list[VendorResult]:
    """The vendors of a model, the best verdict first, and by place in each; last those that answered nothing."""
    return sorted(
        model.vendors.values(),
        key=lambda each: (not (each.succeeded or each.is_baseline), BEST_FIRST.index(each.verdict.status)),
    )


def suites_of(model: ModelResult) -> list[str]:
    """The evaluations with a result of any vendor, in the order of the first that has them."""
    return list(dict.fromkeys(name for vendor in model.vendors.values() for name in vendor.suites))


@dataclass(frozen=True)
class ModelTables:
    """The tables of one model of a run, for all reports; what several of them show is made once."""

    scored: ScoredRun
    name: str

    @property
    def model(self) -> ModelResult:
        """The results of the model."""
        return self.scored.report.models[self.name]

    @cached_property
    def records(self) -> pd.DataFrame:
        """The records that figures are taken over: without feature checks, probes and misrouted answers."""
        records = self.scored.records[self.scored.records["model"] == self.name]
        if "misrouted" in records:
            records = records[~records["misrouted"]]
        return records[~records["suite"].isin([suite for suite in self.scored.samples if is_diagnostic(suite)])]

    @property
    def found(self) -> list[Finding]:
        """All findings on its vendors, worst first."""
        return [finding for finding in self.scored.findings if finding.model == self.name]

    @cached_property
    def times(self) -> dict[Any, dict[Any, Any]]:
        """(vendor, metric) → mean, min, p50, … max and n of its times."""
        return breakdowns.distributions(self.records).to_dict("index")

    @cached_property
    def sections(self) -> list[Table]:
        """The tables that follow verdict and ranking, in their order, without those that have no rows."""
        found = [self.gates(), self.intervals(), self.counts(), self.findings(), self.failures()]
        for suite in suites_of(self.model):
            found += [self.evaluation(suite), self.groups(suite), self.checks(suite)]
        found += [self.costs(), self.latency(), self.pace(), self.goodput(), self.regions(), self.identity()]
        return [table for table in found if table.rows]

    def verdicts(self) -> Table:
        """Vendors × facets in words."""
        rows = []
        for vendor in by_verdict(self.model):
            words: dict[str, str] = {"verdict": formats.status_word(vendor.verdict.status)}
            for name, facet in vendor.verdict.facets.items():
                words[name] = formats.status_word(facet.status)
            rows.append((vendor.label, words))
        columns = [Column("verdict", "Verdict"), *(Column(name, FACET_TITLES[name]) for name in FACETS)]
        return Table("Verdict", rows, columns)

    @cached_property
    def ranking(self) -> Table:
        """The product page's columns by place, with the verdict and a column for each evaluation's main score."""
        vendors = self.model.vendors
        suites = [name for name in suites_of(self.model) if any(v.metric(name) is not None for v in vendors.values())]
        columns = [
            Column("place", "Place", formats.quantity),
            Column("verdict", "Verdict"),
            *PAGE_COLUMNS,
            *(Column(f"suite {name}", name, formats.rate) for name in suites),
            *(each for each in INPUT_COLUMNS if any(getattr(v, each.key) is not None for v in vendors.values())),
            Column("answered", "Answered"),
        ]
        rows = [
            (label, {
                "place": vendor.place,
                "verdict": formats.status_word(vendor.verdict.status),
                **{column.key: getattr(vendor, column.key) for column in (*PAGE_COLUMNS, *INPUT_COLUMNS)},
                **{f"suite {name}": vendor.metric(name) for name in suites if name in vendor.suites},
                "answered": f"{vendor.succeeded} of {vendor.planned}",
            })
            for label, vendor in vendors.items()
        ]  # fmt: skip
        note = "IRF orders vendors; it does not measure them. Read it with the verdict."
        return Table("Ranking", rows, columns, note=note)

    def intervals(self) -> Table:
        """The 95 % intervals of the figures, as texts."""
        forms = {column.key: column.form for column in PAGE_COLUMNS}
        rows = [
            (label, {key: formats.interval(*ends, forms[key]) for key, ends in v.intervals.items() if key in forms})
            for label, v in self.model.vendors.items()
            if v.intervals
        ]
        return Table("95 % intervals", rows, [Column(each.key, each.head) for each in PAGE_COLUMNS]).without_empty

    def counts(self) -> Table:
        """The confusion matrix behind F1, and over how many records each figure was taken."""
        matrix = {"tp": "TP", "fp": "FP", "fn": "FN", "tn": "TN"}
        rates = {"precision": "Precision", "recall": "Recall"}
        records = {"planned": "Planned", "recorded": "Recorded", "succeeded": "Succeeded"}
        measured = {c.key: f"{c.head} (n)" for c in PAGE_COLUMNS[1:] if c.key != "success_rate"}
        columns = [
            *_columns(matrix, formats.quantity),
            *_columns(rates, formats.rate),
            *_columns({**records, **measured}, formats.quantity),
        ]
        rows = [
            (label, {
                **({key: getattr(v.counts, key) for key in (*matrix, *rates)} if v.counts is not None else {}),
                **{key: getattr(v, key) for key in records},
                **v.measured,
            })
            for label, v in self.model.vendors.items()
        ]  # fmt: skip
        note = "TP to TN are sums over all pairs of a baseline and a vendor repetition; a failure counts as missed."
        return Table("Counts", rows, columns, note=note)

    def findings(self) -> Table:
        """What was seen at vendors: the sentence, its evidence and the difference with its interval."""
        columns = (
            Column("facet", "Facet"),
            Column("status", "Status"),
            Column("text", "Finding"),
            Column("p_value", "p", formats.p_value),
            Column("difference", "Difference"),
            Column("n", "n", formats.quantity),
            Column("name", "Name"),
        )
        rows = []
        for each in self.found[:MOST_FINDINGS]:
            value, ends = formats.written(each.value, formats.quantity), formats.interval(each.low, each.high)
            rows.append((each.vendor, {
                "facet": FACET_TITLES[each.facet],
                "status": "noted" if each.status == "matches" else formats.status_word(each.status),
                "text": each.text,
                "p_value": each.p_value,
                "difference": f"{value} ({ends})" if ends else value,
                "n": each.n or None,
                "name": each.name,
            }))  # fmt: skip
        return Table("Findings", rows, columns)

    def failures(self) -> Table:
        """Failed records by kind: how many at which vendor, who answers for them, the cause and what to do."""
        heads = {"vendors": "Records", "charge": "Counts against", "cause": "Cause", "remedy": "What to do"}
        rows = []
        for name, part in self.records.groupby("failure", observed=True):
            kind = KINDS[str(name)]
            # Where nothing is charged, in the words of this kind.
            charges = value_tally(part["charge"].astype(object).map({**CHARGES, "us": CHARGES[kind.charge]}))
            rows.append((str(name), {
                "vendors": value_tally(part["label"]), "charge": charges, "cause": kind.cause, "remedy": kind.remedy,
            }))  # fmt: skip
        return Table("Failures", rows, _columns(heads), head="Kind")

    def evaluation(self, suite: str) -> Table:
        """The scores of one evaluation by vendor; a failure counts 0."""
        rows = [
            (label, {"judged": f"{found.judged} of {found.planned}", **found.values})
            for label, vendor in self.model.vendors.items()
            if (found := vendor.suites.get(suite)) is not None
        ]
        names = dict.fromkeys(name for _, values in rows for name in values if name != "judged")
        columns = (Column("judged", "Judged"), *(Column(name, name, formats.rate) for name in names))
        return Table(f"Evaluation {suite}", rows, columns)

    def checks(self, suite: str) -> Table:
        """Features × vendors: what became of each check."""
        found = {label: v.suites[suite].checks for label, v in self.model.vendors.items() if suite in v.suites}
        rows = [
            (name, {label: checks[name].replace("_", " ") for label, checks in found.items() if name in checks})
            for name in dict.fromkeys(name for checks in found.values() for name in checks)
        ]
        return Table(f"Checks of {suite}", rows, [Column(label, label) for label in found], head="Check")

    def groups(self, suite: str) -> Table:
        """The main score of one evaluation by category, difficulty and call type of the samples, a column a vendor."""
        kind, found = suite_kind(suite), breakdowns.group_scores(self.scored.evaluations, self.records)
        rows: dict[str, dict[str, float]] = {}
        for label in self.model.vendors:
            for group, members in found.get((self.name, label, suite), {}).items():
                for member, means in members.items():
                    if kind is not None and kind.ranks_by in means:
                        rows.setdefault(f"{group.replace('_', ' ')}: {member}", {})[label] = means[kind.ranks_by]
        labels = dict.fromkeys(label for row in rows.values() for label in row)
        columns = [Column(label, label, formats.rate) for label in labels]
        return Table(f"Score of {suite} by group", list(rows.items()), columns, head="Samples")

    def costs(self) -> Table:
        """What the answers of each vendor cost."""
        money = self.scored.money
        rows = [
            (label, msgspec.structs.asdict(money[self.name, label]))
            for label in self.model.vendors
            if (self.name, label) in money
        ]
        columns = (
            Column("total_usd", "All", formats.usd),
            Column("wasted_usd", "On failures and retries", formats.usd),
            Column("per_1000_requests_usd", "1,000 requests", formats.usd),
            Column("per_answer_usd", "1,000 answers", lambda usd: formats.usd(1000 * usd)),
            Column("per_valid_call_usd", "1,000 valid calls", lambda usd: formats.usd(1000 * usd)),
            Column("reported_ratio", "Billed ÷ computed", formats.quantity),
            Column("unpriced", "Attempts without token counts", formats.quantity),
        )
        return Table("Costs in US dollars", rows, columns).without_empty

    def latency(self) -> Table:
        """The distribution of the times of single answers, a row for each metric and vendor."""
        reasons = bool((self.records["ttfat_ms"] > self.records["ttft_ms"]).any())
        rows = [
            (label, {"metric": f"{METRICS[metric].title} ({METRICS[metric].unit})", **self.times[label, metric]})
            for metric in TIMES
            for label in self.model.vendors
            if (label, metric) in self.times and (reasons or metric != "ttfat_ms")
        ]
        heads = {"mean": "avg", "min": "min", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "max": "max"}
        columns = [Column("metric", "Metric"), *_columns(heads, formats.quantity), Column("n", "n", formats.quantity)]
        return Table("Latency", rows, columns)

    def pace(self) -> Table:
        """The load that each vendor got and what it answered; empty of imported results, which were not sent here."""
        heads = {
            "requests": "Requests",
            "seconds": "Seconds",
            "requests_per_s": "Requests/s",
            "answers_per_s": "Answers/s",
            "tokens_per_s": "Output tokens/s",
            "in_flight": "In flight, avg",
            "most_in_flight": "In flight, max",
        }
        rows = []
        manifest = self.scored.manifest
        if manifest.status != "imported":
            attempts = self.scored.attempts[self.scored.attempts["model"] == self.name]
            # Between the sessions of a resumed run no request was due.
            counts_idle = manifest.settings.is_open and len(manifest.executors) < 2
            rows = rows_of(breakdowns.pace(self.records, attempts, counts_idle=counts_idle))
        return Table("Throughput", rows, _columns(heads, formats.quantity))

    def goodput(self) -> Table:
        """The requests that kept every SLO, and how many of them a second; empty without SLOs."""
        slos = self.scored.manifest.score.slos
        heads = {"good": "Good", "asked": "Asked", "failed": "Failed", "unmeasured": "Unmeasured"}
        columns = [
            Column("per_s", "Good/s", formats.quantity),
            Column("share", "Good ÷ asked", formats.rate),
            *_columns(heads, formats.quantity),
        ]
        seconds = {label: row["seconds"] or None for label, row in self.pace().rows}
        found = breakdowns.goodput(self.records, list(map(parse_slo, slos)))
        found["per_s"] = found["good"] / found.index.map(seconds).astype(float)
        rows = rows_of(found) if slos else []
        return Table("Goodput", rows, columns, note=f"A good request meets {' and '.join(slos)}.")

    def regions(self) -> Table:
        """Success and median times by the region from which requests were sent; empty where no worker names one."""
        columns = (
            Column("region", "Region"),
            Column("asked", "Requests", formats.quantity),
            Column("success_rate", "Success Rate", formats.rate),
            Column("ttft_ms", "TTFT p50 (ms)", formats.quantity),
            Column("e2e_ms", "E2E p50 (ms)", formats.quantity),
        )
        found = breakdowns.regions(self.records).reset_index(level="region")
        return Table("Regions", rows_of(found), columns)

    def identity(self) -> Table:
        """What each vendor was asked for, and what its answers say they come from."""
        columns = ["label", "served_model", "provider"]
        records = self.scored.records.loc[self.scored.records["model"] == self.name, columns]
        heads = {
            "vendor": "Vendor's name",
            "model_id": "Model requested",
            "served": "Model in answers",
            "provider": "Provider in answers",
        }
        rows = []
        for label, vendor in self.model.vendors.items():
            own = records[records["label"] == label]
            named = {"served": value_tally(own["served_model"]), "provider": value_tally(own["provider"])}
            rows.append((label, {"vendor": vendor.vendor, "model_id": vendor.model_id, **named}))
        return Table("Models and providers", rows, _columns(heads), head="Vendor entry")

    def gates(self) -> Table:
        """The outcome of every gate on the vendors."""
        heads = {"gate": "Gate", "outcome": "Outcome", "reason": "Reason"}
        rows = [
            (gate.vendor, {
                "gate": gate.text, "outcome": gate.outcome.replace("_", " "), "reason": gate.reason or None,
            })
            for gate in self.scored.report.gates
            if gate.model == self.name
        ]  # fmt: skip
        return Table("Gates", rows, _columns(heads))


def _columns(heads: Mapping[str, str], form: formats.Format = str) -> list[Column]:
    return [Column(key, head, form) for key, head in heads.items()]


def conditions(scored: ScoredRun) -> list[str]:
    """How the run was sent and scored, in sentences."""
    manifest, settings = scored.manifest, scored.manifest.settings
    found = [f"Sent {manifest.created_at[:16].replace('T', ' ')} UTC."] if manifest.created_at else []
    found += [f"Suite {task.suite}: {counted(task.count, 'sample')}." for task in manifest.tasks]
    often = {entry.repeat or settings.repeat for entry in manifest.entries if entry.is_baseline} - {settings.repeat}
    more = f", {times(max(often))} to a baseline" if often else ""
    how_often = "as often as time allowed" if manifest.is_by_doing else f"{times(settings.repeat)} to each vendor{more}"
    found.append(f"Each sample was sent {how_often}.")
    if settings.load is not None:
        found.append(f"Load: {settings.load}.")
    elif settings.request_concurrency:
        found.append(f"At most {counted(settings.request_concurrency, 'request')} in flight for each account.")
    loop = manifest.event_loop
    if loop is not None and loop.p99_ms is not None:
        found.append(f"This program read answers up to {formats.quantity(loop.p99_ms)} ms late (p99).")
    policies = {name: value for name, value in scored.report.settings.items() if isinstance(value, (str, int, float))}
    if policies:
        found.append("Settings: " + ", ".join(f"{name} {value}" for name, value in sorted(policies.items())) + ".")
    tool = manifest.tool or Tool()
    known = [(tool.name, tool.version), *manifest.packages.items()]
    if versions := [f"{name} {number}" for name, number in known if name and number]:
        found.append(f"Versions: {', '.join(versions)}.")
    return found
