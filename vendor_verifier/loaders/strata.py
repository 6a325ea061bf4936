"""A choice of samples that keeps what a data set is made of: both classes and every category, in their shares.

Samples of a stratum are ordered by a digest of their ids, which are digests of what is asked. So the choice needs no
random generator, is the same on every machine and every night, and does not depend on the order of the file.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from vendor_verifier.values.sample import Sample


def expects_call(sample: Sample) -> bool | None:
    """Whether the right answer holds a tool call; None where the row does not say."""
    stated = sample.expected.get("expected_tool_call")
    if isinstance(stated, bool):
        return stated
    if str(sample.expected.get("category")).endswith("irrelevance"):
        return False
    stated = next((found for key in ("calls", "answer") if (found := sample.expected.get(key)) is not None), None)
    return None if stated is None else bool(stated)


def classes_of(samples: Iterable[Sample]) -> frozenset[bool | None]:
    """The classes that occur: a call is expected, none is, or the row does not say."""
    found: set[bool | None] = set()
    for sample in samples:
        found.add(expects_call(sample))
        if len(found) == len((True, False, None)):
            break
    return frozenset(found)


def balanced(samples: Sequence[Sample], limit: int) -> Sequence[int]:
    """``limit`` places, ascending: every class in its share and at least once, in it every category in its share.

    A larger limit only adds places.
    """
    strata: dict[bool | None, dict[str, list[tuple[bytes, int]]]] = {}
    for place, sample in enumerate(samples):
        categories = strata.setdefault(expects_call(sample), {})
        categories.setdefault(str(sample.tags.get("category")), []).append((lot(sample.id), place))
    classes = {name: _mixed({key: sorted(lots) for key, lots in inner.items()}) for name, inner in strata.items()}
    # The first of each class come first of all: in a small choice the smaller class would be missing.
    firsts = [order[0] for order in classes.values()]
    order = dict.fromkeys([*sorted(firsts), *_mixed({str(name): order for name, order in classes.items()})])
    return array("Q", sorted(place for _, place in islice(order, limit)))


def _mixed(groups: Mapping[str, Sequence[tuple[bytes, int]]]) -> list[tuple[bytes, int]]:
    """All groups in one order in which each is spread evenly, so that every beginning holds each in its share."""
    spread = [
        ((at + 0.5) / len(group), -len(group), name, one)
        for name, group in groups.items()
        for at, one in enumerate(group)
    ]
    return [one for _, _, _, one in sorted(spread)]


def lot(sample_id: str) -> bytes:
    """The digest that orders the samples of a stratum."""
    return hashlib.sha256(sample_id.encode()).digest()
