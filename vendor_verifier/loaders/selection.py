"""The selection of a data set's samples by filters, a limit and strata; pure, and the same for every suite.

The samples of a stratum are taken in the order of digests of their ids (:func:`lot`), so a row added to the file moves
no other sample in the order of its stratum.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from vendor_verifier.errors import UsageError
from vendor_verifier.records.sample import ChosenSamples, Sample, Samples, listed

# The call type that a difficulty means.
CALL_TYPES = {"easy": "single", "single": "single", "hard": "multi", "multi": "multi", "medium": "multi"}


def expects_call(sample: Sample) -> bool | None:
    """Whether the right answer holds a tool call; None where the row does not say."""
    if not sample.expected:
        return None
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


def select(
    samples: Sequence[Sample],
    *,
    ids: Sequence[str] = (),
    difficulty: Sequence[str] = (),
    category: Sequence[str] = (),
    tags: Sequence[str] = (),
    stratify_by: str | None = None,
    limit: int | None = None,
    head: bool = False,
    by_call_type: bool = False,
) -> Sequence[Sample]:
    """The samples that every filter lets through, in their order, without a copy of any.

    An empty filter passes everything; case is ignored.

    Args:
        ids: any of these is the sample's id or its tag ``id``.
        difficulty: any of these is the tag ``difficulty`` or ``call_type``. For a sample that has only a call type,
            easy means single, medium and hard mean multi.
        category: any of these is contained in the tag ``category``.
        tags: each of these is contained in the tools or tags as JSON text.
        stratify_by: a tag whose values share ``limit`` in proportion to their numbers.
        limit: at most so many; without ``stratify_by`` a choice that keeps classes and categories.
        head: the first ``limit`` instead.
        by_call_type: as MCPToolBench++ has it, a difficulty is one of the call type's and a category is equal.

    Raises:
        UsageError: a negative limit, or no sample has the tag to stratify by.
    """
    if limit is not None and limit < 0:
        raise UsageError(f"the limit is at least 0, read {limit}")
    wanted_ids = set(ids)
    levels = {level.casefold() for level in difficulty}
    categories = [word.casefold() for word in category]
    words = [word.casefold() for word in tags]

    def passes(sample: Sample) -> bool:
        return (
            (not wanted_ids or sample.id in wanted_ids or _tag(sample, "id") in wanted_ids)
            and (not levels or _has_level(sample, levels, by_call_type))
            and (not categories or any(_is_of(sample, word, by_call_type) for word in categories))
            and (not words or _mentions(sample, words))
        )

    kept = samples
    if wanted_ids or levels or categories or words:
        kept = _at(samples, array("Q", (place for place, sample in enumerate(samples) if passes(sample))))
    if stratify_by is not None and kept and not any(stratify_by in sample.tags for sample in kept):
        raise UsageError(f"no sample has the tag {stratify_by!r} to stratify by; {_known_tags(kept)}")
    if limit is None or len(kept) <= limit:
        return kept
    if stratify_by is not None:
        return _at(kept, _stratified(kept, stratify_by, limit))
    return _at(kept, range(limit) if head else balanced(kept, limit))


def unmatched(samples: Iterable[Sample], option: str, words: Sequence[str], *, by_call_type: bool = False) -> list[str]:
    """Those of the words of a filter (``ids``, ``difficulty``, ``category`` or ``tags``) that fit no sample."""
    left = list(dict.fromkeys(words))
    for sample in samples:
        if not left:
            break
        left = [word for word in left if not _fits(sample, option, word, by_call_type)]
    return left


def words_there_are(samples: Iterable[Sample], option: str) -> list[str]:
    """The values that a filter could match in these samples, sorted."""
    found: set[str] = set()
    for sample in samples:
        if option == "ids":
            found.add(_tag(sample, "id") or sample.id)
        elif option == "difficulty":
            found |= {_tag(sample, "difficulty"), _tag(sample, "call_type")}
        elif option == "category":
            found.add(_tag(sample, "category"))
        else:
            found |= {word for key, tag in sample.tags.items() if key not in ("id", "source") for word in _words(tag)}
    return sorted(found - {""})


def _words(tag: object) -> Iterator[str]:
    """The words of a tag, which may be a list of them; numbers and objects are none."""
    for word in tag if isinstance(tag, list) else [tag]:
        if isinstance(word, str):
            yield word


def _fits(sample: Sample, option: str, word: str, by_call_type: bool) -> bool:
    if option == "ids":
        return word in (sample.id, _tag(sample, "id"))
    if option == "difficulty":
        return _has_level(sample, {word.casefold()}, by_call_type)
    if option == "category":
        return _is_of(sample, word.casefold(), by_call_type)
    return _mentions(sample, [word.casefold()])


def _at(samples: Sequence[Sample], places: Sequence[int]) -> Samples:
    """Those at ``places``; of a choice its own places are looked up, so that a choice is never of a choice."""
    whole = listed(samples)
    if isinstance(whole, ChosenSamples):
        return ChosenSamples(whole.whole, array("Q", (whole.places[place] for place in places)))
    return ChosenSamples(whole, places)


def _tag(sample: Sample, key: str) -> str:
    """A tag as text; "" when the sample has none."""
    value: Any = sample.tags.get(key)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _is_of(sample: Sample, word: str, by_call_type: bool) -> bool:
    own = _tag(sample, "category").casefold()
    return word == own if by_call_type else word in own


def _has_level(sample: Sample, levels: set[str], by_call_type: bool) -> bool:
    own, call_type = _tag(sample, "difficulty").casefold(), _tag(sample, "call_type").casefold()
    if by_call_type and call_type:
        return call_type in {CALL_TYPES.get(level, level) for level in levels}
    if own in levels or call_type in levels:
        return bool(own or call_type)
    return not own and bool(call_type) and call_type in {CALL_TYPES.get(level, level) for level in levels}


def _mentions(sample: Sample, words: Sequence[str]) -> bool:
    text = json.dumps([list(sample.turn.tools), dict(sample.tags)], ensure_ascii=False).casefold()
    return all(word in text for word in words)


def _known_tags(samples: Sequence[Sample]) -> str:
    known = sorted({key for sample in samples for key in sample.tags})
    return f"there are {', '.join(known)}" if known else "there are no tags at all"


def _stratified(samples: Sequence[Sample], key: str, limit: int) -> Sequence[int]:
    """Places, ascending."""
    strata: dict[str, list[tuple[bytes, int]]] = {}
    for place, sample in enumerate(samples):
        strata.setdefault(_tag(sample, key), []).append((lot(sample.id), place))
    order = _mixed({name: sorted(lots) for name, lots in strata.items()})
    return array("Q", sorted(place for _, place in order[:limit]))
