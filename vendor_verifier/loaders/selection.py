"""The selection of a data set's samples by filters, a limit and strata; pure, and the same for every suite.

The samples of a stratum are taken in the order of digests of their ids, so a row added to the file moves no other
sample in the order of its stratum.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from vendor_verifier.errors import UsageError
from vendor_verifier.records.sample import ChosenSamples, Sample, Samples, listed

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
        limit: at most so many; without ``stratify_by`` each class (:func:`expects_call`) is in it once or in its
            share, and so is each category within its class. A larger limit only adds samples.
        head: the first ``limit`` instead.
        by_call_type: as MCPToolBench++ has it, a difficulty is one of the call type's and a category is equal.

    Raises:
        UsageError: a negative limit, or no sample has the tag to stratify by.
    """
    if limit is not None and limit < 0:
        raise UsageError(f"the limit is at least 0, read {limit}")
    wanted, filters = set(ids), {"difficulty": difficulty, "category": category, "tags": tags}
    kept: Sequence[Sample] = samples
    if wanted or any(filters.values()):
        passed = [place for place, one in enumerate(samples) if _passes(one, wanted, filters, by_call_type)]
        kept = _at(samples, passed)
    if stratify_by is not None and kept and not any(stratify_by in sample.tags for sample in kept):
        known = ", ".join(sorted({key for sample in kept for key in sample.tags}))
        there = f"there are {known}" if known else "there are no tags at all"
        raise UsageError(f"no sample has the tag {stratify_by!r} to stratify by; {there}")
    if limit is None or len(kept) <= limit:
        return kept
    if head and stratify_by is None:
        return _at(kept, range(limit))
    if stratify_by is None:
        strata = [(expects_call(sample), str(sample.tags.get("category"))) for sample in kept]
    else:
        strata = [(None, _tag(sample, stratify_by)) for sample in kept]
    return _at(kept, sorted(_balanced(kept, strata)[:limit]))


def unmatched(samples: Iterable[Sample], option: str, words: Sequence[str], *, by_call_type: bool = False) -> list[str]:
    """Those of the words of a filter (``ids``, ``difficulty``, ``category`` or ``tags``) that fit no sample."""
    left = list(dict.fromkeys(words))
    for sample in samples:
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
            tags = [tag for key, tag in sample.tags.items() if key not in ("id", "source")]
            words = [word for tag in tags for word in (tag if isinstance(tag, list) else [tag])]
            found |= {word for word in words if isinstance(word, str)}
    return sorted(found - {""})


def _passes(sample: Sample, ids: set[str], filters: Mapping[str, Sequence[str]], by_call_type: bool) -> bool:
    if ids and not ids & {sample.id, _tag(sample, "id")}:
        return False
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


def _balanced(samples: Sequence[Sample], strata: Sequence[tuple[bool | None, str]]) -> list[int]:
    """All places in an order of which every beginning holds each class, and in it each stratum, in its share."""
    classes: dict[str, dict[str, list[int]]] = {}
    for _, place in sorted((hashlib.sha256(sample.id.encode()).digest(), at) for at, sample in enumerate(samples)):
        name, stratum = strata[place]
        classes.setdefault(str(name), {}).setdefault(stratum, []).append(place)
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


def _at(samples: Sequence[Sample], places: Sequence[int]) -> Samples:
    """Those at ``places``; of a choice its own places are looked up, so that a choice is never of a choice."""
    whole = listed(samples)
    if isinstance(whole, ChosenSamples):
        return ChosenSamples(whole.whole, [whole.places[place] for place in places])
    return ChosenSamples(whole, places)
