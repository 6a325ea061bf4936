"""Identity findings: served names, fingerprints, ids, limits and identical bytes, in a run and since an earlier one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from vendor_verifier.audit.finding import finding
from vendor_verifier.scoring.observation import Answered
from vendor_verifier.values.history import HistoryRun
from vendor_verifier.values.judgement import Finding, ServedNames

LEAST_ANSWERS = 10
_SAME_SHARE, _SAME_LEVEL = 0.5, 0.01
_REPEATED_SHARE = 0.9
_CUT_SHORT = 0.9
_LEAST_OF_FAMILY = 5
_LEAST_SHARE_OF_FAMILY = 0.02
_VERSION = re.compile(r"[-@](?:\d{3,8}|\d{4}-\d{2}-\d{2})|[-:](?:latest|preview|free|nitro|floor)")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PREFIX = re.compile(r"([A-Za-z]+)[-_]")
_HEX = re.compile(r"[0-9a-f]+")


Rows = Sequence[Answered]
_Question = tuple[str, str]


def identity_findings(label: str, rows: Rows, asked_model: str, limit: float | None = None) -> tuple[Finding, ...]:
    """Identity findings from one vendor's own rows; ``limit`` is the ``max_tokens`` that its entry states.

    A limit stated as none is infinite; ``None`` means that each sample's own limit applies.
    """
    found = (
        _other_model(label, rows, asked_model),
        _changes(label, [row.traits.served_model for row in rows], "served_model_changes", "models"),
        _changes(label, [row.traits.fingerprint for row in rows], "fingerprint_changes", "fingerprints"),
        _id_families(label, rows),
        _limit_exceeded(label, rows, limit),
        _cut_short(label, rows, limit),
        _repeated(label, rows),
    )
    return tuple(finding for finding in found if finding is not None)


def pass_through_findings(rows: Mapping[str, Rows], baseline: str | None = None) -> tuple[Finding, ...]:
    """Pairs of vendors with response ids in common, or with the same bytes too often for two hosts of one model.

    Too often is on half of their common samples or more, and provably oftener than the baseline answers itself with
    the same bytes, over all pairs of the run. Unless it was asked twice, nothing tells how often honest hosts do.
    """
    if len(rows) < 2:
        return ()
    answers = {label: {row.key: row for row in each if row.digest or row.response_id} for label, each in rows.items()}
    findings = []
    itself = _repeats(rows.get(baseline or "", ()))
    level = _SAME_LEVEL / math.comb(len(answers), 2)
    for one, other in combinations(answers, 2):
        ids = {row.response_id for row in answers[one].values()} & {row.response_id for row in answers[other].values()}
        if ids - {None}:
            findings.append(finding("shared_response_ids", one, {"other": other, "ids": len(ids - {None})}))
        alike = {
            key: answers[one][key].digest == answers[other][key].digest
            for key in answers[one].keys() & answers[other].keys()
            if answers[one][key].digest and answers[other][key].digest
        }
        same = sorted(key for key, is_same in alike.items() if is_same)
        firsts = {key[:2]: is_same for key, is_same in alike.items() if key[2] == 0}
        p_value = oftener_alike(firsts, itself)
        if len(alike) >= LEAST_ANSWERS and len(same) >= _SAME_SHARE * len(alike) and p_value <= level:
            both = firsts.keys() & itself.keys()
            evidence: dict[str, float | int | str] = {
                "other": other, "same": len(same), "compared": len(alike), "p_value": p_value,
                "baseline_same": sum(itself[each] for each in both), "baseline_compared": len(both),
            }  # fmt: skip
            findings.append(finding("identical_answers", one, evidence, tuple(key[1] for key in same[:3])))
    return tuple(findings)


def _repeats(rows: Rows) -> dict[_Question, bool]:
    """Whether the first two answers to a question are the same bytes, where both are known."""
    if not any(row.key[2] == 1 for row in rows):
        return {}
    known = {row.key: row.digest for row in rows if row.digest and row.key[2] < 2}
    return {
        key[:2]: digest == known[*key[:2], 1] for key, digest in known.items() if (*key[:2], 1) in known and not key[2]
    }


def oftener_alike(pair: Mapping[_Question, bool], itself: Mapping[_Question, bool]) -> float:
    """The p-value of a pair's being alike on more questions than the baseline with itself (exact sign test, one-sided).

    On a question that tells the two apart either is the one that is alike equally often, where all four are one model.
    """
    from scipy.special import bdtr

    telling = [pair[each] for each in pair.keys() & itself.keys() if pair[each] != itself[each]]
    # Alike so often or oftener: unlike so often or more rarely.
    return float(bdtr(telling.count(False), len(telling), 0.5)) if telling else 1.0


def same_model(asked: str, served: str) -> bool:
    """Whether a served name can be the asked one: without the maker's prefix, a version or date may follow."""
    one, other = (name.lower().rpartition("/")[2] for name in (asked, served))
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and (long == short or _VERSION.fullmatch(long[len(short) :]) is not None)


def id_families(ids: Sequence[str]) -> Counter[str]:
    """The number of ids of each shape: a leading word and the kind of the rest (``chatcmpl-`` + hex …); digits are hex.

    Only frequent words and shapes count, because random letters can look like either, as where base64url begins with
    letters and a dash. The remaining ids are in no family.
    """
    words = _words([each for each in ids if not _UUID.fullmatch(each)], len(ids))
    tally = Counter(_family(each, words) for each in ids)
    return Counter({family: count for family, count in tally.items() if _is_often(count, len(ids))})


def _words(ids: Sequence[str], of: int) -> frozenset[str]:
    """Leading words of ids, except those that other ids begin with without a dash, as ids that begin with a time do."""
    found = Counter(match.group(1) for each in ids if (match := _PREFIX.match(each)))
    often = [word for word, count in found.items() if _is_often(count, of)]
    return frozenset(word for word in often if 2 * found[word] > sum(each.startswith(word) for each in ids))


def _family(response_id: str, words: frozenset[str]) -> str:
    if _UUID.fullmatch(response_id):
        return "uuid"
    prefix = _PREFIX.match(response_id)
    if prefix is None or prefix.group(1) not in words:
        return _kind(response_id)
    return f"{prefix.group(1)}-{_kind(response_id[prefix.end() :])}"


def _kind(text: str) -> str:
    if _UUID.fullmatch(text):
        return "uuid"
    return "hex" if _HEX.fullmatch(text) else "text"


def _is_often(count: int, of: int) -> bool:
    return count >= max(_LEAST_OF_FAMILY, _LEAST_SHARE_OF_FAMILY * of)


def _other_model(label: str, rows: Rows, asked: str) -> Finding | None:
    named = [row for row in rows if row.traits.served_model]
    names = {row.traits.served_model or "" for row in named}
    strange = {name for name in names if not same_model(asked, name)}
    other = [row for row in named if row.traits.served_model in strange] if strange else []
    if not other:
        return None
    served = Counter(row.traits.served_model or "" for row in other).most_common(1)[0][0]
    evidence: dict[str, float | int | str] = {"asked": asked, "served": served, "answers": len(other), "of": len(named)}
    return finding("another_model_served", label, evidence, _samples(other))


def _changes(label: str, values: Iterable[str | None], name: str, noun: str) -> Finding | None:
    tally = Counter(value for value in values if value)
    if len(tally) < 2:
        return None
    shown = ", ".join(f"{value} ({count})" for value, count in tally.most_common(5))
    evidence: dict[str, float | int | str] = {noun: len(tally), "answers": tally.total(), "names": shown}
    return finding(name, label, evidence, count=len(tally))


def _id_families(label: str, rows: Rows) -> Finding | None:
    tally = id_families([row.response_id for row in rows if row.response_id])
    if len(tally) < 2:
        return None
    shown = ", ".join(f"{family} ({count})" for family, count in tally.most_common(5))
    evidence: dict[str, float | int | str] = {"families": len(tally), "answers": tally.total(), "names": shown}
    return finding("id_families", label, evidence)


def _limit_exceeded(label: str, rows: Rows, limit: float | None) -> Finding | None:
    over = [row for row in rows if row.output > (_limit(row, limit) or math.inf)]
    if not over:
        return None
    most = max(row.output for row in over)
    return finding("max_tokens_exceeded", label, {"answers": len(over), "most_tokens": most}, _samples(over))


def _cut_short(label: str, rows: Rows, limit: float | None) -> Finding | None:
    short = [
        row for row in rows
        if row.traits.finish_reason == "length"
        and 0 < row.output < _CUT_SHORT * (_limit(row, limit) or 0)
    ]  # fmt: skip
    if not short:
        return None
    most = max(row.output for row in short)
    return finding("cut_below_max_tokens", label, {"answers": len(short), "most_tokens": most}, _samples(short))


def _repeated(label: str, rows: Rows) -> Finding | None:
    """Questions asked more than once whose answers are all the same bytes."""
    if not any(row.key[2] for row in rows):
        return None
    by_question: dict[_Question, list[bytes]] = {}
    for row in rows:
        if row.digest:
            by_question.setdefault(row.key[:2], []).append(row.digest)
    asked = {question: digests for question, digests in by_question.items() if len(digests) > 1}
    same = sorted(question for question, digests in asked.items() if len(set(digests)) == 1)
    if len(asked) < LEAST_ANSWERS or len(same) < _REPEATED_SHARE * len(asked):
        return None
    samples = tuple(sample for _, sample in same[:3])
    return finding("answers_repeated", label, {"same": len(same), "samples": len(asked)}, samples)


def _limit(row: Answered, stated: float | None) -> float | None:
    """The limit of output tokens that was requested, if any."""
    limit = row.traits.max_tokens if stated is None else stated
    return None if limit == math.inf else limit


def _samples(rows: Rows) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.key[1] for row in rows))[:3]


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
    rows: Mapping[str, Rows],
    asked: Mapping[str, str],
    limits: Mapping[str, float | None],
    baseline: str | None = None,
) -> Iterator[Finding]:
    """All identity findings, given rows, ``asked`` models and token ``limits`` by label, and the baseline's label.

    Where the baseline was asked twice, a vendor repeats itself only if it provably does so oftener than the baseline:
    one that hardly varies lies on either side of any share by chance.
    """
    repeating = False
    itself = _repeats(rows.get(baseline or "", ()))
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
