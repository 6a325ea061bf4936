"""Identity findings: served names, fingerprints, ids, limits and identical bytes, in a run and since an earlier one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import combinations
from typing import TYPE_CHECKING

from vendor_verifier.audit.finding import finding
from vendor_verifier.records.history import HistoryRun
from vendor_verifier.records.judgement import Finding, ServedNames
from vendor_verifier.records.model_names import same_model
from vendor_verifier.scoring.answer_rows import AnswerRows
from vendor_verifier.scoring.observation import Traits
from vendor_verifier.scoring.row_keys import Question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST_ANSWERS = 10
_SAME_SHARE, _SAME_LEVEL = 0.5, 0.01
_REPEATED_SHARE = 0.9
_CUT_SHORT = 0.9
_LEAST_OF_FAMILY = 5
_LEAST_SHARE_OF_FAMILY = 0.02
_UUID = r"(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\Z"
# A whole UUID, or a leading word, if any, and the kind of the rest.
_SHAPE = re.compile(rf"(?P<whole>{_UUID})|(?:(?P<word>[A-Za-z]+)[-_])?(?:(?P<uuid>{_UUID})|(?P<hex>[0-9a-f]+\Z))?")
_KINDS = {"whole": "uuid", "uuid": "uuid", "hex": "hex"}


def identity_findings(
    label: str, rows: AnswerRows, asked_model: str, limit: float | None = None
) -> tuple[Finding, ...]:
    """Identity findings from one vendor's own rows; ``limit`` is the ``max_tokens`` that its entry states.

    A limit stated as none is infinite; ``None`` means that each sample's own limit applies.
    """
    found = (
        _other_model(label, rows, asked_model),
        _changes(label, rows.tally(lambda traits: traits.served_model), "served_model_changes", "models"),
        _changes(label, rows.tally(lambda traits: traits.fingerprint), "fingerprint_changes", "fingerprints"),
        _id_families(label, rows),
        _limit_exceeded(label, rows, limit),
        _cut_short(label, rows, limit),
        _repeated(label, rows),
    )
    return tuple(finding for finding in found if finding is not None)


def pass_through_findings(rows: Mapping[str, AnswerRows], baseline: str | None = None) -> tuple[Finding, ...]:
    """Pairs of vendors with response ids in common, or with the same bytes too often for two hosts of one model.

    Too often is on half of their common samples or more, and provably oftener than the baseline answers itself with
    the same bytes, over all pairs of the run. Unless it was asked twice, nothing tells how often honest hosts do.
    """
    import numpy as np

    if len(rows) < 2:
        return ()
    findings = []
    itself = _repeats(rows.get(baseline or ""))
    level = _SAME_LEVEL / math.comb(len(rows), 2)
    # A text stands for itself by a number of 64 bits that nobody outside of this process can foretell.
    ids = {label: np.unique(np.fromiter(map(hash, each.ids()), dtype=np.int64)) for label, each in rows.items()}
    for one, other in combinations(rows, 2):
        if shared := np.intersect1d(ids[one], ids[other], assume_unique=True).size:
            findings.append(finding("shared_response_ids", one, {"other": other, "ids": shared}))
        asked, repetitions, is_same = _alike(rows[one], rows[other])
        same, questions = int(is_same.sum()), rows[one].questions
        firsts = {
            questions[number]: alike
            for number, alike in zip(asked[repetitions == 0].tolist(), is_same[repetitions == 0].tolist(), strict=True)
        }
        p_value = oftener_alike(firsts, itself)
        if is_same.size >= LEAST_ANSWERS and same >= _SAME_SHARE * is_same.size and p_value <= level:
            both = firsts.keys() & itself.keys()
            evidence: dict[str, float | int | str] = {
                "other": other, "same": same, "compared": is_same.size, "p_value": p_value,
                "baseline_same": sum(itself[each] for each in both), "baseline_compared": len(both),
            }  # fmt: skip
            keys = zip(asked[is_same].tolist(), repetitions[is_same].tolist(), strict=True)
            shown = nsmallest(3, ((*questions[number], repetition) for number, repetition in keys))
            findings.append(finding("identical_answers", one, evidence, tuple(key[1] for key in shown)))
    return tuple(findings)


def _alike(one: AnswerRows, other: AnswerRows) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
    """Question number (of ``one``), repetition, and whether they are the same bytes, of all answers that both gave."""
    import numpy as np

    numbers = {question: number for number, question in enumerate(one.questions)}
    translated = np.array([numbers.get(question, -1) for question in other.questions], dtype=np.int64)[other.asked]
    theirs = np.flatnonzero((translated >= 0) & (other.digests > 0))
    ours = np.flatnonzero(one.digests > 0)
    # Repetitions are numbered afresh, so that a number of both is small whatever they are.
    different, places = np.unique(
        np.concatenate([one.repetitions[ours], other.repetitions[theirs]]), return_inverse=True
    )
    keys = np.concatenate([one.asked[ours], translated[theirs]]) * different.size + places
    _, left, right = np.intersect1d(keys[: ours.size], keys[ours.size :], assume_unique=True, return_indices=True)
    found = ours[left]
    return one.asked[found], one.repetitions[found], one.digests[found] == other.digests[theirs[right]]


def _repeats(rows: AnswerRows | None) -> dict[Question, bool]:
    """Whether the first two answers to a question are the same bytes, where both are known."""
    import numpy as np

    if rows is None:
        return {}
    first, second = np.zeros((2, len(rows.questions)), dtype=np.uint64)
    for number, digests in enumerate((first, second)):
        own = rows.repetitions == number
        digests[rows.asked[own]] = rows.digests[own]
    both = np.flatnonzero((first > 0) & (second > 0))
    return {
        rows.questions[number]: alike
        for number, alike in zip(both.tolist(), (first == second)[both].tolist(), strict=True)
    }


def oftener_alike(pair: Mapping[Question, bool], itself: Mapping[Question, bool]) -> float:
    """The p-value of a pair's being alike on more questions than the baseline with itself (exact sign test, one-sided).

    On a question that tells the two apart either is the one that is alike equally often, where all four are one model.
    """
    from vendor_verifier.special_functions import bdtr

    telling = [pair[each] for each in pair.keys() & itself.keys() if pair[each] != itself[each]]
    # Alike so often or oftener: unlike so often or more rarely.
    return float(bdtr(telling.count(False), len(telling), 0.5)) if telling else 1.0


def id_families(ids: Callable[[], Iterator[str]]) -> Counter[str]:
    """The number of ids of each shape: a leading word and the kind of the rest (``chatcmpl-`` + hex …); digits are hex.

    Only frequent words and shapes count, because random letters can look like either, as where base64url begins with
    letters and a dash. The remaining ids are in no family.
    """
    shapes = Counter(map(_shape, ids()))
    words = _words(shapes, ids)
    tally: Counter[str] = Counter()
    for (word, kind), times in shapes.items():
        # A whole with a word before a dash is neither hex nor a UUID.
        tally[f"{word}-{kind}" if word in words else "text" if word else kind] += times
    return Counter({family: count for family, count in tally.items() if _is_often(count, shapes.total())})


def _words(shapes: Counter[tuple[str, str]], ids: Callable[[], Iterator[str]]) -> frozenset[str]:
    """Leading words of ids, except those that other ids begin with without a dash, as ids that begin with a time do."""
    found: Counter[str] = Counter()
    for (word, _), times in shapes.items():
        found[word] += times
    often = tuple(word for word, count in found.items() if word and _is_often(count, shapes.total()))
    begun = Counter({word: sum(found[each] for each in found if each.startswith(word)) for word in often})
    if often and found[""] > shapes["", "uuid"]:
        bare = (each for each in ids() if each.startswith(often) and _shape(each) in (("", "hex"), ("", "text")))
        begun.update(word for each in bare for word in often if each.startswith(word))
    return frozenset(word for word in often if 2 * found[word] > begun[word])


def _shape(response_id: str) -> tuple[str, str]:
    """The leading word, "" for none, and the kind of the rest."""
    found = _SHAPE.match(response_id)
    # Every part of the pattern may be missing.
    assert found is not None
    return found["word"] or "", _KINDS.get(found.lastgroup or "", "text")


def _is_often(count: int, of: int) -> bool:
    return count >= max(_LEAST_OF_FAMILY, _LEAST_SHARE_OF_FAMILY * of)


def _other_model(label: str, rows: AnswerRows, asked: str) -> Finding | None:
    named = rows.tally(lambda traits: traits.served_model)
    strange = Counter({name: times for name, times in named.items() if not same_model(asked, name)})
    if not strange:
        return None
    [(served, _)] = strange.most_common(1)
    evidence: dict[str, float | int | str] = {
        "asked": asked, "served": served, "answers": strange.total(), "of": named.total(),
    }  # fmt: skip
    other = rows.each_of(lambda traits: traits.served_model in strange) == 1
    return finding("another_model_served", label, evidence, rows.first_samples(other))


def _changes(label: str, tally: Counter[str], name: str, noun: str) -> Finding | None:
    if len(tally) < 2:
        return None
    shown = ", ".join(f"{value} ({count})" for value, count in tally.most_common(5))
    evidence: dict[str, float | int | str] = {noun: len(tally), "answers": tally.total(), "names": shown}
    return finding(name, label, evidence, count=len(tally))


def _id_families(label: str, rows: AnswerRows) -> Finding | None:
    tally = id_families(rows.ids)
    if len(tally) < 2:
        return None
    shown = ", ".join(f"{family} ({count})" for family, count in tally.most_common(5))
    evidence: dict[str, float | int | str] = {"families": len(tally), "answers": tally.total(), "names": shown}
    return finding("id_families", label, evidence)


def _limit_exceeded(label: str, rows: AnswerRows, limit: float | None) -> Finding | None:
    over = rows.output > rows.each_of(lambda traits: _limit(traits, limit) or math.inf)
    return _lengths("max_tokens_exceeded", label, rows, over)


def _cut_short(label: str, rows: AnswerRows, limit: float | None) -> Finding | None:
    is_cut = rows.each_of(lambda traits: traits.finish_reason == "length") == 1
    least = _CUT_SHORT * rows.each_of(lambda traits: _limit(traits, limit) or 0)
    return _lengths("cut_below_max_tokens", label, rows, is_cut & (rows.output > 0) & (rows.output < least))


def _lengths(name: str, label: str, rows: AnswerRows, shown: NDArray[np.bool_]) -> Finding | None:
    if not shown.any():
        return None
    evidence = {"answers": int(shown.sum()), "most_tokens": int(rows.output[shown].max())}
    return finding(name, label, evidence, rows.first_samples(shown))


def _repeated(label: str, rows: AnswerRows) -> Finding | None:
    """Questions asked more than once whose answers are all the same bytes."""
    import numpy as np

    known = rows.digests > 0
    numbers, digests = rows.asked[known], rows.digests[known]
    least, most = np.full(len(rows.questions), np.iinfo(np.uint64).max), np.zeros(len(rows.questions), dtype=np.uint64)
    np.minimum.at(least, numbers, digests)
    np.maximum.at(most, numbers, digests)
    asked = np.bincount(numbers, minlength=len(rows.questions)) > 1
    same, of = np.flatnonzero(asked & (least == most)).tolist(), int(asked.sum())
    if of < LEAST_ANSWERS or len(same) < _REPEATED_SHARE * of:
        return None
    samples = tuple(sample for _, sample in nsmallest(3, (rows.questions[number] for number in same)))
    return finding("answers_repeated", label, {"same": len(same), "samples": of}, samples)


def _limit(traits: Traits, stated: float | None) -> float | None:
    """The limit of output tokens that was requested, if any."""
    limit = traits.max_tokens if stated is None else stated
    return None if limit == math.inf else limit


MOST_NAMES = 8


def served_names(names: Iterable[tuple[str | None, str | None]]) -> ServedNames:
    """All models and fingerprints that the answers of a run bear, ``MOST_NAMES`` + 1 of a kind at most."""
    found = list(names)
    kinds = ({name for pair in found if (name := pair[kind])} for kind in (0, 1))
    return ServedNames(*(tuple(sorted(names)[: MOST_NAMES + 1]) for names in kinds))


def changes_since(label: str, before: ServedNames, after: ServedNames) -> tuple[Finding, ...]:
    """Findings on served models and fingerprints that changed between two runs of the same entry."""
    findings = []
    for old, new, name in (
        (before.models, after.models, "served_model_changed_since"),
        (before.fingerprints, after.fingerprints, "fingerprint_changed_since"),
    ):
        if old and new and old != new and max(len(old), len(new)) <= MOST_NAMES:
            findings.append(finding(name, label, {"before": ", ".join(old), "after": ", ".join(new)}))
    return tuple(findings)


def changes_since_last(runs: Sequence[HistoryRun]) -> Iterator[tuple[str, Finding]]:
    """(model, finding) of the newest of ``runs``, oldest first: each entry against its last run that has names."""
    if not runs:
        return
    for entry in runs[-1].entries:
        earlier = (
            each.served
            for run in reversed(runs[:-1])
            for each in run.entries
            if (each.model, each.label) == (entry.model, entry.label) and each.served != ServedNames()
        )
        before = next(earlier, None)
        if before is not None:
            yield from ((entry.model, finding) for finding in changes_since(entry.label, before, entry.served))


def who_answered(
    rows: Mapping[str, AnswerRows],
    asked: Mapping[str, str],
    limits: Mapping[str, float | None],
    baseline: str | None = None,
) -> Iterator[Finding]:
    """All identity findings, given rows, ``asked`` models and token ``limits`` by label, and the baseline's label.

    Where the baseline was asked twice, a vendor repeats itself only if it provably does so oftener than the baseline:
    one that hardly varies lies on either side of any share by chance.
    """
    repeating = False
    itself = _repeats(rows.get(baseline or ""))
    level = _SAME_LEVEL / max(1, len(rows) - 1)
    for label, each in rows.items():
        is_usual = bool(itself) and label != baseline and oftener_alike(_repeats(each), itself) > level
        for found in identity_findings(label, each, asked[label], limits[label]):
            repeating = repeating or found.name == "answers_repeated"
            if found.name != "answers_repeated" or not is_usual:
                yield found
    for shared in pass_through_findings(rows, baseline):
        # Where a vendor repeats its own answers byte for byte, equal bytes of another do not point to a common source.
        if shared.name != "identical_answers" or not repeating:
            yield shared
