"""The tables of a report: verdicts, ranking, findings, failures, evaluations, costs, times, and the conditions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pandas as pd

from vendor_verifier.findings.gates import parse_slo
from vendor_verifier.records.failures import KINDS
from vendor_verifier.records.results import FACETS, WORST_FIRST, Finding, ModelResult, Status, VendorResult
from vendor_verifier.reports import formats
from vendor_verifier.reports.formats import FACET_TITLES
from vendor_verifier.reports.table import Column, Table, table
from vendor_verifier.scoring import breakdowns
from vendor_verifier.scoring.figures import is_apart
from vendor_verifier.scoring.metrics import METRICS
from vendor_verifier.scoring.scored_run import ScoredRun
from vendor_verifier.suites import suite_kind
from vendor_verifier.text import counted

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
    vendors = sorted(model.vendors.values(), key=lambda vendor: BEST_FIRST.index(vendor.verdict.status))
    return sorted(vendors, key=lambda vendor: not (vendor.succeeded or vendor.is_baseline))


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
        *(
            column
            for column in INPUT_COLUMNS
            if any(getattr(vendor, column.key) is not None for vendor in model.vendors.values())
        ),
        Column("answered", "Answered"),
    ]
    rows = {}
    for label, vendor in model.vendors.items():
        rows[label] = {
            "place": vendor.place,
            "verdict": formats.status_word(vendor.verdict.status),
            **{column.key: getattr(vendor, column.key) for column in (*PAGE_COLUMNS, *INPUT_COLUMNS)},
            **{f"suite {name}": vendor.metric(name) if name in vendor.suites else None for name in suites},
            "answered": f"{vendor.succeeded} of {vendor.planned}",
        }
    note = "IRF orders vendors and does not measure them: read it with the verdict."
    return table("Ranking", rows.items(), columns, note=note)


def intervals(model: ModelResult) -> Table:
    """The 95 % intervals of the figures, as texts."""
    rows = [
        (
            label,
            {
                column.key: formats.interval(*vendor.intervals[column.key], column.form)
                for column in PAGE_COLUMNS
                if column.key in vendor.intervals
            },
        )
        for label, vendor in model.vendors.items()
        if vendor.intervals
    ]
    return table("95 % intervals", rows, [Column(column.key, column.head) for column in PAGE_COLUMNS]).without_empty


def counts(model: ModelResult) -> Table:
    """The confusion matrix behind F1, and over how many records each figure was taken."""
    trigger = {"tp": "TP", "fp": "FP", "fn": "FN", "tn": "TN", "precision": "Precision", "recall": "Recall"}
    rates = ("precision", "recall")
    columns = [Column(key, head, formats.rate if key in rates else formats.count) for key, head in trigger.items()]
    columns += [Column(key, key.capitalize(), formats.count) for key in ("planned", "recorded", "succeeded")]
    columns += [Column(c.key, f"{c.head}, of", formats.count) for c in PAGE_COLUMNS[1:] if c.key != "success_rate"]
    rows = []
    for label, vendor in model.vendors.items():
        matrix = {} if vendor.counts is None else {key: getattr(vendor.counts, key) for key in trigger}
        records = {key: getattr(vendor, key) for key in ("planned", "recorded", "succeeded")}
        rows.append((label, {**matrix, **records, **vendor.measured}))
    note = "TP to TN are summed over the pairs of a baseline's repetition and the vendor's; a failure counts as missed."
    return table("Counts", rows, columns, note=note)


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
        Column("reported_ratio", "Billed ÷ computed", formats.quantity),
        Column("unpriced", "Attempts without tokens", formats.count),
    )
    return table("Costs in US dollars", rows.items(), columns).without_empty


def ranked_records(scored: ScoredRun, name: str) -> pd.DataFrame:
    """A model's records that its figures are taken over: without feature checks, probes and misrouted answers."""
    records = scored.records[scored.records["model"] == name]
    if "misrouted" in records:
        records = records[~records["misrouted"]]
    return records[~records["suite"].isin([suite for suite in scored.samples if is_apart(suite)])]


def latency(scored: ScoredRun, name: str) -> Table:
    """The distribution of the times of single answers, a row for each metric and vendor."""
    records = ranked_records(scored, name)
    found = breakdowns.distributions(records)
    reasons = bool((records["ttfat_ms"] > records["ttft_ms"]).any())
    metrics = [metric for metric in TIMES if metric != "ttfat_ms" or reasons]
    kept = [(label, metric) for metric in metrics for label in scored.report.models[name].vendors]
    kept = [key for key in kept if key in found.index]
    titles = [f"{METRICS[metric].title} ({METRICS[metric].unit})" for _, metric in kept]
    frame = found.loc[kept].set_axis([label for label, _ in kept]).assign(metric=titles)
    heads = {"mean": "avg", "min": "min", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "max": "max"}
    columns = [Column(key, head, formats.quantity) for key, head in heads.items()]
    return table(
        "Times of single answers", frame, [Column("metric", "Metric"), *columns, Column("n", "n", formats.count)]
    )


def pace(scored: ScoredRun, name: str) -> Table:
    """The load that each vendor got and what it answered of it; empty of imported results, which were not sent here."""
    if scored.manifest.status == "imported":
        return table("Pace", (), ())
    attempts = scored.attempts[scored.attempts["model"] == name]
    found = breakdowns.pace(ranked_records(scored, name), attempts)
    heads = {
        "requests": "Requests",
        "seconds": "Seconds",
        "requests_per_s": "Requests/s",
        "answers_per_s": "Answers/s",
        "tokens_per_s": "Output tokens/s",
        "in_flight": "In flight, avg",
        "most_in_flight": "In flight, max",
    }
    return table("Pace", found, [Column(key, head, formats.quantity) for key, head in heads.items()])


def goodput(scored: ScoredRun, name: str) -> Table:
    """The requests that kept every SLO; empty without SLOs."""
    slos = scored.manifest.score.slos
    columns = [Column("share", "Good ÷ sent", formats.rate)]
    columns += [Column(key, key.capitalize(), formats.count) for key in ("good", "asked", "failed", "unmeasured")]
    if not slos:
        return table("Goodput", (), columns)
    found = breakdowns.goodput(ranked_records(scored, name), [parse_slo(text) for text in slos])
    return table("Goodput", found, columns, note=f"A good request keeps {' and '.join(slos)}.")


def regions(scored: ScoredRun, name: str) -> Table:
    """Success and median times by the region from which requests were sent; empty where no worker names one."""
    found = breakdowns.regions(ranked_records(scored, name)).reset_index(level="region")
    columns = (
        Column("region", "Region"),
        Column("asked", "Requests", formats.count),
        Column("success_rate", "Success Rate", formats.rate),
        Column("ttft_ms", "TTFT p50 (ms)", formats.quantity),
        Column("e2e_ms", "E2E p50 (ms)", formats.quantity),
    )
    return table("Regions", found, columns)


def groups(scored: ScoredRun, name: str, suite: str) -> Table:
    """The main score of one evaluation by category, difficulty and call type of the samples, a column a vendor."""
    kind, found = suite_kind(suite), breakdowns.group_scores(scored.evaluations, ranked_records(scored, name))
    rows: dict[str, dict[str, float]] = {}
    for label in scored.report.models[name].vendors:
        for group, members in found.get((name, label, suite), {}).items():
            for member, means in members.items():
                if kind is not None and kind.ranks_by in means:
                    rows.setdefault(f"{group.replace('_', ' ')}: {member}", {})[label] = means[kind.ranks_by]
    labels = dict.fromkeys(label for row in rows.values() for label in row)
    columns = [Column(label, label, formats.rate) for label in labels]
    return table(f"Score of {suite} by group", rows.items(), columns, head="Samples")


def conditions(scored: ScoredRun) -> list[str]:
    """How the run was sent and scored, in sentences."""
    manifest, settings = scored.manifest, scored.manifest.settings
    found = [f"Sent {manifest.created_at[:16].replace('T', ' ')} UTC."] if manifest.created_at else []
    found += [f"Suite {task.suite}: {counted(task.count, 'sample')}." for task in manifest.tasks]
    often = {entry.repeat or settings.repeat for entry in manifest.entries if entry.is_baseline} - {settings.repeat}
    more = f", {counted(max(often), 'time')} to a baseline" if often else ""
    found.append(f"Each sample was sent {counted(settings.repeat, 'time')} to each vendor{more}.")
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
    packages = {name: number for name, number in manifest.packages.items() if number}
    tool = manifest.tool
    versions = [f"{tool.name} {tool.version}"] if tool is not None and tool.name else []
    versions += [f"{name} {number}" for name, number in packages.items()]
    return [*found, *([f"Versions: {', '.join(versions)}."] if versions else [])]


def gates(scored: ScoredRun, name: str) -> Table:
    """The outcome of every gate on the vendors of a model."""
    columns = (Column("gate", "Gate"), Column("outcome", "Outcome"), Column("reason", "Reason"))
    own = [gate for gate in scored.report.gates if gate.model == name]
    rows = [
        (gate.vendor, {"gate": gate.text, "outcome": gate.outcome.replace("_", " "), "reason": gate.reason or None})
        for gate in own
    ]
    return table("Gates", rows, columns)


def sections(scored: ScoredRun, name: str) -> list[Table]:
    """The tables of a model that follow its verdict and ranking, in their order; some may be empty."""
    model = scored.report.models[name]
    records = ranked_records(scored, name)
    own = [finding for finding in scored.findings if finding.model == name]
    found = [
        gates(scored, name),
        intervals(model),
        counts(model),
        findings(own),
        failures(records),
    ]
    for suite in suites_of(model):
        found += [evaluation(model, suite), groups(scored, name, suite), checks(model, suite)]
    found += [costs(scored, name), latency(scored, name), pace(scored, name), goodput(scored, name)]
    return [*found, regions(scored, name), identity(scored, name)]
