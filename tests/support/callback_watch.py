"""Measures how much processor time each callback of this thread's event loop takes, whatever else the machine does."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest


@dataclass
class Watched:
    """Seconds of this thread's processor time that each callback took; a garbage collection is nobody's work."""

    took_s: list[float] = field(default_factory=list)

    @property
    def longest_s(self) -> float:
        return max(self.took_s)


@contextmanager
def watched_callbacks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """Watch the callbacks that this thread's loop runs within the block."""
    watched = Watched()
    here = threading.get_ident()
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        if threading.get_ident() != here:
            run(handle)
            return
        began_s = time.thread_time()
        run(handle)
        watched.took_s.append(time.thread_time() - began_s)

    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(asyncio.Handle, "_run", timed)
            yield watched
    finally:
        if was_enabled:
            gc.enable()
