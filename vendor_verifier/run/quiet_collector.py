"""Keeps the garbage collector quiet while streams are timed; it frees nothing itself."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Keep the garbage collector from walking samples and plan while streams are timed: that takes tens of ms a time.

    What exists now is frozen, garbage and all, because collecting it first is that very walk; full collections become
    rare; a run makes few cycles.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
