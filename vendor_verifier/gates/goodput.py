"""Goodput: the requests that kept every SLO, as a share and per second.

A request is one record, all its turns and tries. It is

- **good** when it succeeded and its own figure keeps every SLO,
- **missed** when it succeeded and some figure breaks one, or when it failed: an answer that never came keeps nothing,
- **unmeasured** when it succeeded, broke none, and some figure could not be measured (an answer that came whole has no
  TTFT). It is not good either, but it is counted separately;
- **stalled** when it succeeded, broke none, and only our own lateness kept a figure from being measured: it is left out
  and counted. Where these are more than a fifth of the successes there is neither share nor rate.

    share = good ÷ asked             asked as in the success rate, without what stalled
    goodput = share × (asked + stalled) ÷ (last end − first send), in requests a second of wall time

The time runs from the first request that was sent, recorded and charged to the end of the last answer or failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from vendor_verifier.gates.thresholds import REQUEST_METRICS, meets
from vendor_verifier.metrics.answer import too_many_spoilt
from vendor_verifier.records.judgement import Threshold
from vendor_verifier.records.score import Goodput, Report, VendorScore
from vendor_verifier.scoring.observation_table import ObservationTable


def goodput(table: ObservationTable, slos: Sequence[Threshold], *, asked: int, seconds: float | None) -> Goodput:
    """One entry's goodput under ``slos``; ``asked`` is the denominator of its success rate.

    ``seconds`` None gives no rate, as for a run that was resumed after a pause.
    """
    kept = dict.fromkeys(map(str, slos), 0)
    good = unmeasured = failed = stalled = succeeded = 0
    wanted = [REQUEST_METRICS[slo.metric] for slo in slos]
    measured = zip(*(table.column(name).tolist() for name in wanted), strict=True)
    for traits, values in zip(table.traits(), measured, strict=True):
        if not traits.succeeded:
            failed += traits.charged
            continue
        succeeded += 1
        verdicts = [meets(slo, value) for slo, value in zip(slos, values, strict=True)]
        for name, verdict in zip(kept, verdicts, strict=True):
            kept[name] += verdict is True
        good += all(verdicts)
        if False not in verdicts and None in verdicts:
            is_ours = not set(traits.spoilt).isdisjoint(wanted)
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
    report: Report, tables: Mapping[tuple[str, str], ObservationTable], slos: Sequence[Threshold], *, is_timed: bool
) -> Report:
    """The report with every vendor's goodput; no rate unless ``is_timed``."""

    def of(model: str, vendor: VendorScore) -> VendorScore:
        table = tables[model, vendor.label]
        asked, seconds = vendor.measured.get("success_rate", 0), seconds_of(table) if is_timed else None
        return structs.replace(vendor, goodput=goodput(table, slos, asked=asked, seconds=seconds))

    models = (
        structs.replace(each, vendors=tuple(of(each.model, one) for one in each.vendors)) for each in report.models
    )
    return structs.replace(report, models=tuple(models))


def seconds_of(table: ObservationTable) -> float | None:
    """Wall seconds from the first send to the last end; ``None`` when nothing was sent."""
    begins, ends, _, _ = table.tries.spans()
    return float(ends.max() - begins.min()) if begins.size else None
