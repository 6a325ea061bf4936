"""Findings on how answers come: streams that are faked, and first tokens that now and then come very late."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from vendor_verifier.audit.behaviour import shows_tokens_alike
from vendor_verifier.audit.finding import finding
from vendor_verifier.records.judgement import Finding
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.stats.intervals import wilson

LEAST_ANSWERS = 30
# First tokens so many times later than the median are late; rarer than the least share they are everybody's.
_LATE, _LEAST_LATE, _LATE_LEVEL = 4.0, 0.005, 0.01


def streaming_findings(tables: Mapping[str, ObservationTable], baseline: str | None) -> Iterator[Finding]:
    """Both findings of every vendor but the baseline, given the tables by label."""
    reference = tables.get(baseline or "")
    for label, own in tables.items():
        if label != baseline:
            late = None if reference is None else _late_at_times(label, own, reference)
            yield from (found for found in (_faked(label, own), late) if found is not None)


def _faked(label: str, own: ObservationTable) -> Finding | None:
    faked = own.faked
    if faked is None:
        return None
    evidence: dict[str, float | int | str] = {
        "correlation": faked.correlation, "p_value": faked.p_value, "answers": faked.answers, "tps": faked.tps,
    }  # fmt: skip
    return finding("stream_faked", label, evidence, correlation_2=f"{faked.correlation:.2f}", tps_3=f"{faked.tps:.3g}")


def _late_at_times(label: str, own: ObservationTable, reference: ObservationTable) -> Finding | None:
    """First tokens later than four times the vendor's own median, more often than the baseline's are."""
    if own.is_lost("ttft_ms") or reference.is_lost("ttft_ms") or not shows_tokens_alike(own, reference):
        return None
    (late, of, median), (late_base, of_base, _) = _late(own), _late(reference)
    if of < LEAST_ANSWERS or of_base < LEAST_ANSWERS or late < 3:
        return None
    share, base = wilson(late, of), wilson(late_base, of_base)
    assert share.value is not None
    assert share.low is not None
    if share.low <= _LEAST_LATE or chance_of_more(late, of, late_base, of_base) > _LATE_LEVEL:
        return None
    evidence: dict[str, float | int | str] = {
        "share": share.value, "low": share.low, "high": share.high or 1.0, "late": late, "of": of, "median": median,
    }  # fmt: skip
    percent, base_percent = (f"{100 * (each.value or 0.0):.2g}" for each in (share, base))
    words = {"percent": percent, "base": base_percent, "median_3": f"{median:.3g}"}
    return finding("first_token_late_at_times", label, evidence, (), **words)


def _late(table: ObservationTable) -> tuple[int, int, float]:
    """First tokens that come very late, of how many, and the median in ms."""
    import numpy as np

    ttft = table.column("ttft_ms")
    known = ttft[~np.isnan(ttft)]
    if not known.size:
        return 0, 0, math.nan
    median = float(np.median(known))
    return int(np.count_nonzero(known > _LATE * median)), int(known.size), median


def chance_of_more(some: int, of: int, others: int, of_others: int) -> float:
    """The chance that so many or more of all that were hit are the first's, were both hit alike (Fisher's exact test).

    Prompts that are late at both make it smaller than it says, never larger.
    """
    hit = some + others
    ways = sum(math.comb(of, each) * math.comb(of_others, hit - each) for each in range(some, min(of, hit) + 1))
    return ways / math.comb(of + of_others, hit)
