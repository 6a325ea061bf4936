"""The seam to simulated vendors: what they can know of a plan, and serving them, which is done above the pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from vendor_verifier.lazy_import import registered
from vendor_verifier.values.plan import Entry, Task

SEAM = "simulated vendors"
# By digest of a question its right answer, as those who serve the vendors write it.
AnswerKey = Mapping[str, Any]


class Simulation(Protocol):
    """Whoever serves the vendors at ``sim://`` addresses."""

    def known_answers(self, tasks: Sequence[Task], seed: int) -> tuple[AnswerKey, Sequence[str]]:
        """The answers the vendors can know, and a sentence for each evaluation with rows that they cannot."""

    def served(
        self, entries: Sequence[Entry], seed: int, known: AnswerKey
    ) -> AbstractContextManager[tuple[Entry, ...]]:
        """The entries with loopback addresses, which answer while the context lasts."""


def known_answers(entries: Sequence[Entry], tasks: Sequence[Task], seed: int) -> tuple[AnswerKey, Sequence[str]]:
    """What simulated vendors can know of the rows, and sentences about what not; nothing without such vendors."""
    if not any(entry.is_simulated for entry in entries):
        return {}, ()
    return _simulation().known_answers(tasks, seed)


@contextmanager
def with_simulated_vendors(
    entries: Sequence[Entry], seed: int, known: AnswerKey | None = None
) -> Iterator[tuple[Entry, ...]]:
    """Entries with every ``sim://persona`` address replaced by a real loopback one; none is served if none is needed.

    ``known`` are answers that the vendors know beside those to the rows that ship.
    """
    if not any(entry.is_simulated for entry in entries):
        yield tuple(entries)
        return
    with _simulation().served(entries, seed, known or {}) as served:
        yield served


def _simulation() -> Simulation:
    found: Simulation = registered(SEAM)
    return found
