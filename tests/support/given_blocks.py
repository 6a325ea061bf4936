"""Blocks of samples that a test states instead of having them found."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from vendor_verifier.records.judgement import Blocks
from vendor_verifier.stats.bootstrap import ENOUGH_BLOCKS


def given_blocks(block_of: Sequence[Hashable]) -> tuple[Blocks, list[int]]:
    """The blocks by one name per sample, in panel order."""
    number: dict[Hashable, int] = {}
    ids = [number.setdefault(name, len(number)) for name in block_of]
    size = math.ceil(len(ids) / len(number)) if number else 0
    return Blocks(size, len(number), None, {}, len(number) >= ENOUGH_BLOCKS), ids
