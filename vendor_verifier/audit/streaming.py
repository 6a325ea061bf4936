"""Findings on how answers come: streams that are faked, and first tokens that now and then come very late.

A faked stream is generated whole and then sent in pieces: the first token comes the later the longer the answer is, the
pieces follow each other evenly, and faster than any model decodes. Each alone can be honest; together they are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from vendor_verifier.audit.finding import finding
from vendor_verifier.scoring.irf import average_ranks
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.stats.intervals import wilson
from vendor_verifier.values.judgement import Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_ANSWERS = 30
# Honest vendors stayed below this correlation in 160 of 160 simulated runs.
_LEAST_CORRELATION, _MOST_P = 0.3, 0.001
# p90 ÷ p50 − 1 of the gaps of all answers: honest streams come in lumps; a timer that is set anew for each does not.
_MOST_UNEVEN = 1.0
# Tokens per second that no served model of a useful size reached, unless the baseline does.
_IMPLAUSIBLE_TPS, _TIMES_BASELINE = 300.0, 2.0
# First tokens so many times later than the median are late; rarer than the least share they are everybody's.
_LATE, _LEAST_LATE, _LATE_LEVEL = 4.0, 0.005, 0.01


def streaming_findings(tables: Mapping[str, ObservationTable], baseline: str | None) -> Iterator[Finding]:
    """Both findings of every vendor but the baseline, given the tables by label."""
    reference = tables.get(baseline or "")
    for label, own in tables.items():
        if label != baseline:
            faked = _faked(label, own, reference)
            late = None if reference is None else _late_at_times(label, own, reference)
            yield from (found for found in (faked, late) if found is not None)


def _faked(label: str, own: ObservationTable, reference: ObservationTable | None) -> Finding | None:
    import numpy as np

    if own.is_lost("ttft_ms") or _bills_reasoning(own):
        return None
    ttft, tokens, asked = (own.column(name) for name in ("ttft_ms", "output_tokens", "input_tokens"))
    there = ~(np.isnan(ttft) | np.isnan(tokens))
    if int(there.sum()) < LEAST_ANSWERS:
        return None
    asked = np.nan_to_num(asked)
    correlation, p_value = partial_rank_correlation(ttft[there], tokens[there], asked[there])
    tps = _median(own.column("tps"))
    usual = None if reference is None else _median(reference.column("tps"))
    unlikely = tps is not None and tps > max(_IMPLAUSIBLE_TPS, _TIMES_BASELINE * (usual or 0.0))
    gaps = own.distributions()["icl_ms"]
    even = gaps.p50 is not None and gaps.p90 is not None and gaps.p50 > 0 and gaps.p90 / gaps.p50 - 1 <= _MOST_UNEVEN
    if not (correlation > _LEAST_CORRELATION and p_value < _MOST_P and unlikely and even):
        return None
    evidence: dict[str, float | int | str] = {
        "correlation": correlation, "p_value": p_value, "answers": int(there.sum()), "tps": tps or 0.0,
    }  # fmt: skip
    return finding("stream_faked", label, evidence, correlation_2=f"{correlation:.2f}", tps_3=f"{tps:.3g}")


def _bills_reasoning(own: ObservationTable) -> bool:
    """Whether it thinks before it answers: where that is hidden, the first visible token is honestly late."""
    return any(each.usage.reasoning for each in own.tries)


def _late_at_times(label: str, own: ObservationTable, reference: ObservationTable) -> Finding | None:
    """First tokens later than four times the vendor's own median, more often than the baseline's are."""
    if own.is_lost("ttft_ms") or reference.is_lost("ttft_ms"):
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


def _median(column: NDArray[np.float64]) -> float | None:
    import numpy as np

    known = column[~np.isnan(column)]
    return float(np.median(known)) if known.size else None


def partial_rank_correlation(
    x: NDArray[np.float64], y: NDArray[np.float64], given: NDArray[np.float64]
) -> tuple[float, float]:
    """Spearman's correlation of ``x`` and ``y`` with ``given`` held constant, and its one-sided p-value (t-test)."""
    import numpy as np
    from scipy.special import stdtr

    def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
        rank_of = average_ranks(values.tolist(), "lower")
        return np.array([rank_of[value] for value in values.tolist()])

    def correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
        if np.ptp(one) == 0 or np.ptp(other) == 0:
            return 0.0
        return float(np.corrcoef(one, other)[0, 1])

    first, second, third = ranks(x), ranks(y), ranks(given)
    xy, xz, yz = correlation(first, second), correlation(first, third), correlation(second, third)
    rest = (1 - xz * xz) * (1 - yz * yz)
    if rest <= 0 or x.size < 5:
        return 0.0, 1.0
    found = max(-1.0, min(1.0, (xy - xz * yz) / math.sqrt(rest)))
    freedom = x.size - 3
    t = found * math.sqrt(freedom / max(1e-12, 1 - found * found))
    return found, float(stdtr(freedom, -t))
