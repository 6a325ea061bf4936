"""What a session says of itself when it ends: how truthful its clock was and what it cost. It judges nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from vendor_verifier.run.loop_lag import LoopReport


@dataclass(frozen=True, slots=True)
class SessionReport:
    """``records`` it made, CPU seconds of its whole process while at it, and the watch over its event loop."""

    records: int
    cpu_s: float
    loop: LoopReport

    def told(self) -> dict[str, Any]:
        """As it travels and as the manifest has it."""
        return {"records": self.records, "cpu_s": round(self.cpu_s, 3), "event_loop": asdict(self.loop)}

    @classmethod
    def read(cls, told: dict[str, Any]) -> SessionReport:
        """What :meth:`told` told."""
        return cls(told["records"], told["cpu_s"], msgspec.convert(told["event_loop"], LoopReport))


def worst_loop(reports: Iterable[SessionReport]) -> LoopReport | None:
    """One report for the run: of the session with the latest loop, the fullest core of any, the stalls of all."""
    loops = [report.loop for report in reports]
    if not loops:
        return None
    worst = max(loops, key=lambda loop: (loop.p99_ms is not None, loop.p99_ms or 0.0))
    shares = [loop.core_share for loop in loops if loop.core_share is not None]
    return replace(worst, core_share=max(shares, default=None), stalls=sum(loop.stalls for loop in loops))
