"""An account book that also closes at a moment: what is asked for later is refused; it looks at no other clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from vendor_verifier.run.spending import Spending


@dataclass(slots=True)
class GuardedSpending(Spending):
    """``until_s`` is on ``clock``. Several sittings may share it: ``requests`` and ``cost_usd`` go on counting."""

    until_s: float = math.inf
    clock: Callable[[], float] = time.monotonic
    is_late: bool = False

    def take(self, *, is_open: bool = True) -> bool:
        """As in :class:`Spending`; nothing more is sent when time is up."""
        if is_open and self.clock() >= self.until_s:
            self.is_late = True
            return False
        return Spending.take(self, is_open=is_open)
