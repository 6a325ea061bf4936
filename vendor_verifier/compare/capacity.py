"""Where to look next for the load a vendor bears: doubling, then bisection; it sends nothing and judges no level.

From the unloaded level on every level is twice the one before, until one does not hold or the highest is reached. Then
the middle between the highest that holds and the lowest that does not is tried, until both are one step apart. A level
that stays undecided is asked more; if that does not settle it, it does not hold. What is known is all the state there
is, so a search can be gone on with from what was stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from vendor_verifier.values.capacity import Ended, SearchBounds, Step, Tried


def next_step(seen: Sequence[Tried], bounds: SearchBounds) -> Step | Ended:
    """What to do after ``seen``: the unloaded level, then every level tried, in the order of trying, each once.

    Raises:
        ValueError: ``seen`` is empty; without the unloaded level there is nothing to compare with.
    """
    if not seen:
        raise ValueError("a search begins with the unloaded level")
    first, last = seen[0], seen[-1]
    # A rate of 0, because nothing was answered, has no double; whatever the limits say.
    if first.outcome == "broken" or not first.level:
        return Ended("unloaded", None)
    left = bounds.max_requests - sum(tried.requests for tried in seen)
    if len(seen) > 1 and last.outcome == "undecided" and _may_ask_more(last, bounds, left):
        return Step(last.level, repetitions_at(last.level, bounds))
    level = _next_level(seen, bounds)
    capacity = capacity_of(seen)
    if level is None:
        failed = first_failed(seen)
        if failed is None:
            return Ended("highest", capacity)
        return Ended("client" if failed.outcome == "client" else "edge", capacity)
    repetitions = repetitions_at(level, bounds)
    if requests_at(level, bounds) > left:
        return Ended("requests", capacity)
    return Step(level, repetitions)


def repetitions_at(level: float, bounds: SearchBounds) -> int:
    """How often every sample is asked at ``level``: so often that each place is filled ``per_place`` times.

    For a rate ``per_place`` is the seconds that it is kept up.
    """
    return max(1, math.ceil(bounds.per_place * level / bounds.samples))


def aside_at(level: float) -> int:
    """Requests that keep the load up before the first counted one, and as many after the last: one for each place, or
    a second's worth."""
    return math.ceil(level)


def requests_at(level: float, bounds: SearchBounds) -> int:
    """What one visit to ``level`` takes: the repetitions, and what is sent before and after them."""
    return repetitions_at(level, bounds) * bounds.samples + 2 * aside_at(level)


def resolution(level: float, bounds: SearchBounds) -> float:
    """How far above ``level`` the next one may lie when a search ends."""
    return max(1.0, bounds.step * level) if bounds.kind == "concurrency" else bounds.step * level


def _may_ask_more(last: Tried, bounds: SearchBounds, left: int) -> bool:
    once = requests_at(last.level, bounds)
    return last.requests + once <= bounds.more * once and once <= left


def first_failed(seen: Sequence[Tried]) -> Tried | None:
    """The lowest level that does not hold, the unloaded one aside."""
    return min((tried for tried in seen[1:] if tried.outcome != "holds"), key=lambda tried: tried.level, default=None)


def _bracket(seen: Sequence[Tried]) -> tuple[float, Tried | None]:
    """The highest level that holds below all that failed, and the lowest that did; the unloaded one never did."""
    failed = first_failed(seen)
    top = math.inf if failed is None else failed.level
    return max([seen[0].level, *(t.level for t in seen[1:] if t.outcome == "holds" and t.level < top)]), failed


def capacity_of(seen: Sequence[Tried]) -> float | None:
    """The highest level that holds below every one that does not; ``None`` when there is none.

    The unloaded level counts only where no load holds: one request after the other may make more than the highest rate.
    """
    failed = first_failed(seen)
    top = math.inf if failed is None else failed.level
    unloaded, *loaded = [tried.level if tried.outcome == "holds" and tried.level < top else None for tried in seen]
    return max((level for level in loaded if level is not None), default=unloaded)


def _next_level(seen: Sequence[Tried], bounds: SearchBounds) -> float | None:
    holds, failed = _bracket(seen)
    if failed is None:
        doubled = 2 * holds if bounds.kind == "concurrency" else _rounded(2 * holds)
        # Without load nothing came by the clock yet, however many a second it was.
        is_untried = bounds.kind == "rate" and len(seen) == 1
        return min(doubled, bounds.highest) if is_untried or holds < bounds.highest else None
    if failed.level - holds <= resolution(holds, bounds):
        return None
    if bounds.kind == "concurrency":
        return float((holds + failed.level) // 2)
    middle = _rounded(math.sqrt(holds * failed.level))
    return middle if holds < middle < failed.level else None


def _rounded(rate: float) -> float:
    """Three significant digits: rates are typed by people."""
    return float(f"{rate:.3g}")
