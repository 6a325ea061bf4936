"""Goodput: how many requests kept every SLO, and how many of those a second; it draws no conclusion.

A request is one record, all its turns and tries. It is

- **good** when it succeeded and its own figure keeps every SLO,
- **missed** when it succeeded and some figure breaks one, or when it failed: an answer that never came keeps nothing,
- **unmeasured** when it succeeded, broke none, and some figure could not be measured (an answer that came whole has no
  TTFT). It is not good either, because nobody knows, but it is counted apart;
- **stalled** when it succeeded, broke none, and only our own lateness kept a figure from being measured: it is left out
  and counted. Where these are more than a fifth of the successes there is neither share nor rate.

    share = good ÷ asked             asked as in the success rate, without what stalled
    goodput = share × (asked + stalled) ÷ (last end − first send), in requests a second of wall time

The time runs from the first request that was sent, recorded and charged to the end of the last answer or failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from vendor_verifier.gates.thresholds import REQUEST_METRICS, meets
from vendor_verifier.metrics.lateness import too_many_spoilt
from vendor_verifier.scoring.observation_table import Columns
from vendor_verifier.scoring.under_way import sent_s
from vendor_verifier.values.judgement import Threshold
from vendor_verifier.values.record import Attempt, Record
from vendor_verifier.values.score import Goodput, Report, VendorScore


@dataclass(slots=True)
class Spans:
    """From when to when each entry was asked in ``suites``: (model, label) → seconds of first send and last end."""

    suites: frozenset[str]
    seen: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Note when a record's requests began and ended."""
        sent = [moment for turn in record.turns for attempt in turn.attempts if (moment := _span(attempt)) is not None]
        if not sent or record.suite not in self.suites:
            return
        key = (record.model, record.label)
        first, last = min(begin for begin, _ in sent), max(end for _, end in sent)
        known = self.seen.get(key)
        self.seen[key] = (first, last) if known is None else (min(first, known[0]), max(last, known[1]))

    def seconds(self, model: str, label: str) -> float | None:
        """Wall seconds from the first send to the last end; ``None`` when nothing was sent."""
        known = self.seen.get((model, label))
        return None if known is None else known[1] - known[0]


def goodput(columns: Columns, slos: Sequence[Threshold], *, asked: int, seconds: float | None) -> Goodput:
    """One entry's requests held to ``slos``; ``asked`` is what its success rate divides by.

    ``seconds`` None leaves the rate open, as where a run was gone on with after a pause.
    """
    kept = dict.fromkeys(map(str, slos), 0)
    good = unmeasured = failed = stalled = succeeded = 0
    wanted = [REQUEST_METRICS[slo.metric] for slo in slos]
    rows = columns.rows
    for _, facts, place in rows.entries():
        if not facts.succeeded:
            failed += facts.charged
            continue
        succeeded += 1
        verdicts = [meets(slo, rows.value(name, place)) for slo, name in zip(slos, wanted, strict=True)]
        for name, verdict in zip(kept, verdicts, strict=True):
            kept[name] += verdict is True
        good += all(verdicts)
        if False not in verdicts and None in verdicts:
            is_ours = not set(facts.spoilt).isdisjoint(wanted)
            stalled += is_ours
            unmeasured += not is_ours
    asked -= stalled
    share = good / asked if asked and not too_many_spoilt(stalled, succeeded - stalled) else None
    return Goodput(
        asked=asked,
        good=good,
        unmeasured=unmeasured,
        failed=failed,
        kept=kept,
        share=share,
        seconds=seconds,
        per_s=share * (asked + stalled) / seconds if seconds and share is not None else None,
        stalled=stalled,
    )


def with_goodput(
    report: Report, columns: Mapping[tuple[str, str], Columns], slos: Sequence[Threshold], spans: Spans | None
) -> Report:
    """The report with every vendor's goodput; without ``spans`` no rate."""

    def of(model: str, vendor: VendorScore) -> VendorScore:
        seconds = None if spans is None else spans.seconds(model, vendor.label)
        asked = vendor.measured.get("success_rate", 0)
        return replace(vendor, goodput=goodput(columns[model, vendor.label], slos, asked=asked, seconds=seconds))

    models = (replace(each, vendors=tuple(of(each.model, one) for one in each.vendors)) for each in report.models)
    return replace(report, models=tuple(models))


def _span(attempt: Attempt) -> tuple[float, float] | None:
    """Begin and end of one attempt in seconds since the epoch; None when it was never sent."""
    begin = sent_s(attempt)
    return None if begin is None or attempt.timing is None else (begin, begin + attempt.timing.end_ns / 1e9)
