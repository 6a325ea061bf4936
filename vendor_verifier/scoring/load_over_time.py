"""The course of a vendor's load, from when its requests began and ended: the most in flight, and stretch by stretch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vendor_verifier.records.score import PaceOverTime

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A stretch is to hold some requests, and a chart to be readable.
_MOST_STRETCHES, _LEAST_STRETCHES, _EACH = 40, 3, 4
# Moments of sending are stored to the millisecond, cut off: requests that overlap by less may have followed each other.
_STORED_TO_S = 0.001


def peak_in_flight(begins: NDArray[np.float64], ends: NDArray[np.float64]) -> int:
    """The most requests surely in flight at one moment; one that begins when another ends takes its place."""
    import numpy as np

    begun = np.sort(begins)
    # Of equal moments the ends come first.
    ended = np.searchsorted(np.sort(ends - _STORED_TO_S), begun, side="right")
    return int((np.arange(1, begun.size + 1) - ended).max(initial=min(begins.size, 1)))


def load_over_time(
    begins: NDArray[np.float64], ends: NDArray[np.float64], answered: NDArray[np.bool_], tokens: NDArray[np.float64]
) -> PaceOverTime | None:
    """The load stretch by stretch; ``tokens`` are NaN where none are reported. None with too few requests."""
    import numpy as np

    stretches = min(_MOST_STRETCHES, begins.size // _EACH)
    if stretches < _LEAST_STRETCHES or not ends.max() > begins.min():
        return None
    edges = np.linspace(begins.min(), ends.max(), stretches + 1)
    step_s = float(edges[1] - edges[0])
    busy = np.diff(_seconds_before(begins, edges) - _seconds_before(ends, edges))
    came = ends[answered]
    is_known = not np.isnan(tokens[answered]).all()
    gave = np.histogram(came, edges, weights=np.nan_to_num(tokens[answered]))[0]
    return PaceOverTime(
        step_s=step_s,
        in_flight=_rounded(busy / step_s),
        requests_per_s=_rounded(np.histogram(begins, edges)[0] / step_s),
        answers_per_s=_rounded(np.histogram(came, edges)[0] / step_s),
        tokens_per_s=_rounded(gave / step_s) if is_known else None,
    )


def _seconds_before(moments: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ max(0, edge − moment) over the moments, for every edge."""
    import numpy as np

    # Seconds since the epoch would leave few digits for sums of small differences.
    ordered, at = np.sort(moments) - edges[0], edges - edges[0]
    sums = np.concatenate(((0.0,), ordered.cumsum()))
    count = np.searchsorted(ordered, at)
    result: NDArray[np.float64] = count * at - sums[count]
    return result


def _rounded(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Four significant digits: as many as a chart shows."""
    return tuple(float(f"{value:.4g}") for value in values.tolist())
