"""Simulated vendors that stay for the next run of the same process of tests, as a run would have started them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from vendor_verifier.pipeline import execute
from vendor_verifier.records.plan import Entry

# They count what they refused: a run that ended amid it would be met by the next one.
_REMEMBERING = "bursty"


# As a run starts them for itself: vendors of its own, at the pace of their personas.
OWN_COMMAND, OWN_START = execute._command, execute._started


class SharedVendors:
    """Vendors by their seed; those that know answers of a run's own rows, or remember refusals, are that run's own."""

    def __init__(self) -> None:
        self._own = OWN_START
        self._stack = ExitStack()
        self._bases: dict[int, str] = {}

    def __enter__(self) -> SharedVendors:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def started(self, entries: Sequence[Entry], seed: int, known: str) -> Iterator[str]:
        """The address of vendors for these entries."""
        if known != "{}" or any(_REMEMBERING in entry.endpoint.base_url for entry in entries):
            with self._own(entries, seed, known) as base:
                yield base
            return
        if seed not in self._bases:
            self._bases[seed] = self._stack.enter_context(self._own(entries, seed, known))
        yield self._bases[seed]
