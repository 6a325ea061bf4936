"""The selection of a data set's samples by filters and a limit; pure, and the same for every suite.

The samples of a category are taken in the order of digests of their ids, so that a row added to the file moves no other
sample in that order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from vendor_verifier.records.sample import Sample

# The call type that a difficulty means.
_CALL_TYPES = {"easy": "single", "hard": "multi", "medium": "multi"}


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
    return frozenset(map(expects_call, samples))


def select(
    samples: Sequence[Sample],
    *,
    ids: Sequence[str] = (),
    difficulty: Sequence[str] = (),
    category: Sequence[str] = (),
    tags: Sequence[str] = (),
    limit: int | None = None,
    head: bool = False,
    by_call_type: bool = False,
) -> Sequence[Sample]:
    """The samples that every filter lets through, in their order. An empty filter passes everything; case is ignored.

    ``ids``: the id or the tag ``id`` is one of them. ``difficulty``: the tag ``difficulty`` or ``call_type`` is one of
    them; for a sample with only a call type, easy means single, medium and hard mean multi. ``category``: the tag
    ``category`` contains one of them. ``tags``: the tools or tags as JSON text contain each of them. ``limit`` is the
    most samples: each class (:func:`expects_call`) is among them once or in its share, and so is each category within
    its class, and a larger limit only adds samples. ``head``: the first ``limit`` instead. ``by_call_type``: as in
    MCPToolBench++ a difficulty is one of the call type's, and a category is equal.
    """
    filters = {"ids": ids, "difficulty": difficulty, "category": category, "tags": tags}
    kept = [sample for sample in samples if _passes(sample, filters, by_call_type)]
    if limit is None or len(kept) <= limit:
        return kept
    places = range(limit) if head else sorted(_balanced(kept)[:limit])
    return [kept[place] for place in places]


def unmatched(
    sets: Sequence[tuple[Sequence[Sample], bool]], option: str, words: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The words of a filter that match no sample, and the existing values, sorted.

    ``option`` is ``ids``, ``difficulty``, ``category`` or ``tags``; ``sets`` are samples and whether by call type.
    """
    every = [(sample, by_call_type) for samples, by_call_type in sets for sample in samples]
    left = [word for word in dict.fromkeys(words) if not any(_fits(one, option, word, by) for one, by in every)]
    found: set[str] = set()
    for sample, _ in every if left else ():
        if option == "ids":
            found.add(_tag(sample, "id") or sample.id)
        elif option == "difficulty":
            found |= {_tag(sample, "difficulty"), _tag(sample, "call_type")}
        elif option == "category":
            found.add(_tag(sample, "category"))
        else:
            found |= {tag for key, tag in sample.tags.items() if isinstance(tag, str) and key not in ("id", "source")}
    return left, sorted(found - {""})


def _passes(sample: Sample, filters: Mapping[str, Sequence[str]], by_call_type: bool) -> bool:
    for option, words in filters.items():
        fitting = [_fits(sample, option, word, by_call_type) for word in words]
        if words and not (all(fitting) if option == "tags" else any(fitting)):
            return False
    return True


def _fits(sample: Sample, option: str, word: str, by_call_type: bool) -> bool:
    if option == "ids":
        return word in (sample.id, _tag(sample, "id"))
    word = word.casefold()
    if option == "category":
        own = _tag(sample, "category").casefold()
        return word == own if by_call_type else word in own
    if option == "tags":
        return word in json.dumps([list(sample.turn.tools), dict(sample.tags)], ensure_ascii=False).casefold()
    own, call_type = _tag(sample, "difficulty").casefold(), _tag(sample, "call_type").casefold()
    if call_type and (by_call_type or not own):
        return call_type == _CALL_TYPES.get(word, word) or (not by_call_type and word == call_type)
    return bool(own) and word in (own, call_type)


def _tag(sample: Sample, key: str) -> str:
    """A tag as text; "" when the sample has none."""
    value = sample.tags.get(key)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _balanced(samples: Sequence[Sample]) -> list[int]:
    """All places, ordered so that every beginning holds each class, and in it each category, in its share."""
    classes: dict[str, dict[str, list[int]]] = {}
    for _, place in sorted((hashlib.sha256(sample.id.encode()).digest(), at) for at, sample in enumerate(samples)):
        sample = samples[place]
        of_class = classes.setdefault(str(expects_call(sample)), {})
        of_class.setdefault(str(sample.tags.get("category")), []).append(place)
    orders = {name: _mixed(groups) for name, groups in classes.items()}
    # The first of each class come first of all: in a small choice the smaller class would be missing.
    return list(dict.fromkeys([*(order[0] for order in orders.values()), *_mixed(orders)]))


def _mixed(groups: Mapping[str, Sequence[int]]) -> list[int]:
    """All groups in one order in which each is spread evenly."""
    spread = [
        ((at + 0.5) / len(group), -len(group), name, place)
        for name, group in groups.items()
        for at, place in enumerate(group)
    ]
    return [place for *_, place in sorted(spread)]
