"""Speeds that say nothing of a vendor, which are withheld before any figure is made of them.

A faked stream is generated whole and then sent in pieces: the first token comes the later the longer the answer is, the
pieces follow each other evenly, and faster than any model decodes. Each alone can be honest; together they are not. Its
pieces show a timer, so that there is no decoding speed, no time per token and no gap between pieces.

Where many answers bill tokens that they do not show, the speed of the others would stand for all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from vendor_verifier.metrics.answer import too_many_spoilt
from vendor_verifier.metrics.inter_chunk_latency import ICL
from vendor_verifier.metrics.tokens import TPOT_MS, TPS
from vendor_verifier.scoring.irf import average_ranks
from vendor_verifier.scoring.observation import TOKENS_NOT_SHOWN, FakedStream
from vendor_verifier.scoring.observation_table import ObservationTable

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


def withhold_speeds(own: ObservationTable, reference: ObservationTable | None, *, is_baseline: bool) -> None:
    """Withhold what cannot be measured at a vendor, given the baseline's table where there is one.

    A baseline is taken not to fake its streams: it is what others are held against.
    """
    hidden = own.anomalies().get(TOKENS_NOT_SHOWN, 0)
    if hidden and too_many_spoilt(hidden, len(own.values(TPS.name))):
        own.withheld |= {TPS.name: "tokens_not_shown", TPOT_MS.name: "tokens_not_shown"}
    if not is_baseline:
        own.faked = faked_stream(own, reference)
    if own.faked is not None:
        own.withheld |= {TPS.name: "stream_faked", TPOT_MS.name: "stream_faked", ICL: "stream_faked"}


def faked_stream(own: ObservationTable, reference: ObservationTable | None) -> FakedStream | None:
    """The signs that a vendor's streams are faked; None where they are not, or nothing shows it."""
    import numpy as np

    if own.is_lost("ttft_ms") or _bills_reasoning(own):
        return None
    ttft, tokens, asked = (own.column(name) for name in ("ttft_ms", "output_tokens", "input_tokens"))
    there = ~(np.isnan(ttft) | np.isnan(tokens))
    tps = _median(own.column(TPS.name))
    usual = None if reference is None else _median(reference.column(TPS.name))
    if int(there.sum()) < LEAST_ANSWERS or tps is None:
        return None
    # Quick to see and hardly ever so, while ranks cost as much as everything else here together.
    if tps <= max(_IMPLAUSIBLE_TPS, _TIMES_BASELINE * (usual or 0.0)):
        return None
    gaps = own.distributions()[ICL]
    if gaps.p50 is None or gaps.p90 is None or gaps.p50 <= 0 or gaps.p90 / gaps.p50 - 1 > _MOST_UNEVEN:
        return None
    correlation, p_value = partial_rank_correlation(ttft[there], tokens[there], np.nan_to_num(asked)[there])
    if correlation <= _LEAST_CORRELATION or p_value >= _MOST_P:
        return None
    return FakedStream(correlation, p_value, int(there.sum()), tps)


def _bills_reasoning(own: ObservationTable) -> bool:
    """Whether it thinks before it answers: where that is hidden, the first visible token is honestly late."""
    return bool((own.tries.tokens("reasoning") > 0).any())


def _median(column: NDArray[np.float64]) -> float | None:
    import numpy as np

    known = column[~np.isnan(column)]
    return float(np.median(known)) if known.size else None


def partial_rank_correlation(
    x: NDArray[np.float64], y: NDArray[np.float64], given: NDArray[np.float64]
) -> tuple[float, float]:
    """Spearman's correlation of ``x`` and ``y`` with ``given`` held constant, and its one-sided p-value (t-test)."""
    import numpy as np

    from vendor_verifier.special_functions import stdtr

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
