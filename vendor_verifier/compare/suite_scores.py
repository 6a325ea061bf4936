"""One vendor's result in an evaluation whose score is a mean over samples; it compares no vendors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from vendor_verifier.compare.facts import Facts
from vendor_verifier.values.score import SuiteScore

Means = Mapping[str, float | None]


def suite_score(planned: int, rows: Iterable[Facts], lost: int) -> SuiteScore:
    """Means over the charged ``rows``; each of the ``lost`` planned records without a row counts 0 in every mean.

    A value is ``None`` in a record it does not apply to (no parameters expected); such records leave that mean alone.
    """
    charged = [row for row in rows if row.charged]
    return SuiteScore(
        planned=planned,
        judged=len(charged),
        values=_means(charged, lost),
        measured=_measured(charged),
        groups={
            group: by_name
            for group, by_name in (
                ("category", _by(charged, lambda row: row.category)),
                ("difficulty", _by(charged, lambda row: row.difficulty)),
            )
            if by_name
        },
        problems=dict(Counter(row.problem for row in charged if row.problem).most_common(20)),
    )


def _means(rows: Sequence[Facts], lost: int = 0) -> Means:
    sums: dict[str, float] = {}
    counts: dict[str, int] = {}
    for row in rows:
        for name, value in row.scores:
            sums.setdefault(name, 0.0)
            counts.setdefault(name, 0)
            if value is not None:
                sums[name] += value
                counts[name] += 1
    return {name: sums[name] / (counts[name] + lost) if counts[name] else None for name in sums}


def _measured(rows: Sequence[Facts]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update({name: int(value is not None) for name, value in row.scores})
    return dict(counts)


def _by(rows: Sequence[Facts], group_of: Callable[[Facts], str | None]) -> dict[str, Means]:
    groups: dict[str, list[Facts]] = {}
    for row in rows:
        name = group_of(row)
        if name is not None:
            groups.setdefault(name, []).append(row)
    return {name: _means(groups[name]) for name in sorted(groups)}
