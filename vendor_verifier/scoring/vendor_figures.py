"""One vendor's score in an evaluation or in its contract, by region, its pace, and the standing of all vendors.

A record's region is the one that its worker stated; a lost record belongs to none.

    success rate of a region = succeeded ÷ records made there that are charged to the vendor

Pace (requests in flight, answers per second) is taken from a vendor's first request until its last sample had been sent
once: what ends after that shows the slowest answers, not whether the concurrency asked for was used. A run so small
that nothing ended before is taken whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import structs

from vendor_verifier.metrics.answer import too_many_spoilt
from vendor_verifier.metrics.base import distribution
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import (
    Distribution,
    FeatureCheck,
    FeatureStatus,
    ModelScore,
    Pace,
    RegionScore,
    Report,
    SuiteScore,
    VendorScore,
    ranked_by,
    unranked,
)
from vendor_verifier.scoring.irf import Beside, irf, ranks
from vendor_verifier.scoring.load_over_time import load_over_time, peak_in_flight
from vendor_verifier.scoring.observation import Traits, same_provider
from vendor_verifier.scoring.observation_table import ObservationTable, known

EntryKey = tuple[str, str]


def pace(tables: Iterable[ObservationTable], places: int | None, *, waited_for_turns: bool) -> Pace | None:
    """One entry's pace over all its ``tables``; None when nothing was sent, or no time passed.

    ``waited_for_turns`` leaves out time in which none of its requests was in flight, as where vendors take turns or
    the run was resumed.
    """
    import numpy as np

    sent = [(*table.tries.spans(), table.tries.output_tokens()) for table in tables]
    begins, ends, answered, first, tokens = map(np.concatenate, zip(*sent, strict=True))
    del sent
    if not begins.size:
        return None
    end = begins[first].max()
    if not (ends <= end).any():
        end = ends.max()
    cut = begins < end
    begun, ended = begins[cut], np.minimum(ends[cut], end)
    seconds = _covered_s(zip(begun, ended, strict=True)) if waited_for_turns else float(end - begins.min())
    if seconds <= 0:
        return None
    came = answered & (ends <= end)
    gave = tokens[came]
    return Pace(
        places=places,
        in_flight=float((ended - begun).sum()) / seconds,
        answers_per_s=int(came.sum()) / seconds,
        seconds=seconds,
        requests_per_s=int(cut.sum()) / seconds,
        tokens_per_s=None if np.isnan(gave).all() else float(np.nansum(gave)) / seconds,
        peak_in_flight=peak_in_flight(begins, ends),
        over_time=load_over_time(begins, ends, answered, tokens),
    )


def with_pace(
    report: Report,
    tables: Mapping[EntryKey, Iterable[ObservationTable]],
    places: Mapping[EntryKey, int | None],
    *,
    waited_for_turns: bool,
) -> Report:
    """The report with every vendor's pace; ``places`` is the concurrency asked for, by entry."""

    def of(model: str, vendor: VendorScore) -> VendorScore:
        key = (model, vendor.label)
        return structs.replace(vendor, pace=pace(tables[key], places.get(key), waited_for_turns=waited_for_turns))

    models = (
        structs.replace(each, vendors=tuple(of(each.model, one) for one in each.vendors)) for each in report.models
    )
    return structs.replace(report, models=tuple(models))


def _covered_s(spans: Iterable[tuple[float, float]]) -> float:
    """The seconds covered by at least one of ``spans``."""
    covered, reached = 0.0, float("-inf")
    for begin, end in sorted(spans):
        covered += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return float(covered)


def regions_of(table: ObservationTable) -> tuple[RegionScore, ...]:
    """The scores by region name, records without a region last; empty where no record states one."""
    if not any(each.region for each in table.kinds()):
        return ()
    found: dict[str | None, list[int]] = {}
    traits = table.traits()
    for place, each in enumerate(traits):
        rows = found.setdefault(each.region, [])
        if each.charged:
            rows.append(place)
    names = sorted(found, key=lambda name: (name is None, name or ""))
    return tuple(_region(table, traits, name, found[name]) for name in names)


def _region(table: ObservationTable, traits: Sequence[Traits], name: str | None, charged: Sequence[int]) -> RegionScore:
    succeeded = sum(traits[place].succeeded for place in charged)

    def times(metric: str) -> Distribution:
        """The distribution of a metric in this region, whose spoilt rows are its own: one worker may be late alone."""
        spoilt = sum(metric in traits[place].spoilt for place in charged)
        values = known(table.column(metric)[charged])
        return structs.replace(distribution(() if too_many_spoilt(spoilt, len(values)) else values), stalled=spoilt)

    return RegionScore(
        region=name,
        asked=len(charged),
        succeeded=succeeded,
        success_rate=succeeded / len(charged) if charged else None,
        ttft_ms=times("ttft_ms"),
        e2e_ms=times("e2e_ms"),
    )


def standings(
    scores: Mapping[str, Sequence[VendorScore]],
    baselines: Mapping[str, str],
    rank_metrics: Sequence[str],
    k: int,
    beside: Beside[tuple[str, str]] | None = None,
) -> tuple[ModelScore, ...]:
    """Model → its vendors, as models in the same order whose vendors have ranks and IRF and stand best first.

    ``baselines``: model → label. ``beside``: what pairs of (model, label) are compared by.
    A vendor without any of ``rank_metrics`` has no IRF and stands last.
    """
    keyed = {model: {(model, score.label): score for score in vendors} for model, vendors in scores.items()}
    every = {key: score for vendors in keyed.values() for key, score in vendors.items()}
    overall = irf(_ranked_figures(every, rank_metrics), k, beside=beside)
    # Pairs are of one model, so that what concerns others is without effect on its ranks.
    return tuple(
        ModelScore(
            model, baselines.get(model), _ranked(vendors, _ranked_figures(vendors, rank_metrics), overall, k, beside)
        )
        for model, vendors in keyed.items()
    )


_Key = tuple[str, str]
_Figures = Mapping[_Key, Mapping[str, float | None]]


def _ranked_figures(scores: Mapping[_Key, VendorScore], rank_metrics: Sequence[str]) -> _Figures:
    """The figures by which these are ranked against each other: none that one of them lost to our own lateness."""
    lost = unranked(scores.values())
    left = [name for name in rank_metrics if name not in lost]
    return {key: {name: score.metrics.get(name) for name in left} for key, score in scores.items()}


def _ranked(
    vendors: Mapping[_Key, VendorScore],
    rivals: _Figures,
    overall: Mapping[_Key, float],
    k: int,
    beside: Beside[_Key] | None,
) -> tuple[VendorScore, ...]:
    rank_of, irf_of = ranks(rivals, beside=beside), irf(rivals, k, beside=beside)
    ranked = [
        structs.replace(
            score,
            irf=irf_of[key] if rank_of[key] else None,
            irf_metrics=len(rank_of[key]),
            irf_global=overall[key] or None,
            ranks=rank_of[key],
        )
        for key, score in vendors.items()
    ]
    by_score = ranked_by(vendors.values()) == "score"
    return tuple(sorted(ranked, key=lambda score: _standing(score, by_score=by_score), reverse=True))


def _standing(score: VendorScore, *, by_score: bool) -> tuple[float, ...]:
    """The sort key of a vendor: in a run with evaluations only its scores first, more of them before fewer."""
    irf_last = -1.0 if score.irf is None else score.irf
    if not by_score:
        return (irf_last,)
    return len(score.scores), -1.0 if score.mean_score is None else score.mean_score, irf_last


Means = Mapping[str, float | None]


def suite_score(planned: int, rows: Iterable[Traits], lost: int) -> SuiteScore:
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
                ("call_type", _by(charged, lambda row: row.call_type)),
            )
            if by_name
        },
        problems=dict(Counter(row.problem for row in charged if row.problem).most_common(20)),
    )


def _means(rows: Sequence[Traits], lost: int = 0) -> Means:
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


def _measured(rows: Sequence[Traits]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update({name: int(value is not None) for name, value in row.scores})
    return dict(counts)


def _by(rows: Sequence[Traits], group_of: Callable[[Traits], str | None]) -> dict[str, Means]:
    groups: dict[str, list[Traits]] = {}
    for row in rows:
        name = group_of(row)
        if name is not None:
            groups.setdefault(name, []).append(row)
    return {name: _means(groups[name]) for name in sorted(groups)}


# Of a check's verdicts the worst counts: one broken answer outweighs kept ones, and a finding outweighs none.
_WORST_FIRST: tuple[FeatureStatus, ...] = ("broken", "kept", "not_offered", "not_measurable")
_UNASKED = "no record"
_Finding = tuple[FeatureStatus, str]


def checks_score(
    table: ObservationTable, suite: str, samples: Sequence[Sample], repeat: int, pin: str | None = None
) -> SuiteScore:
    """``kept`` = kept ÷ (kept + broken) records of checks, which stand in the order of ``samples``.

    Most checks provoke a refusal and would spoil every other figure, so their table holds nothing else. A row that
    another provider than the pinned one served measures nothing.
    """
    rows = dict(table.entries())
    others = _others(table, pin) if pin else frozenset()
    found: dict[str, list[_Finding]] = {}
    for sample in samples:
        keys = [(suite, sample.id, number) for number in range(repeat)]
        findings = [_finding(rows[key], others) for key in keys if key in rows]
        found.setdefault(str(sample.tags.get("check", sample.id)), []).extend(findings)
    counts = Counter(status for findings in found.values() for status, _ in findings)
    judged = counts["kept"] + counts["broken"]
    return SuiteScore(
        planned=len(samples) * repeat,
        judged=judged,
        values={"kept": counts["kept"] / judged if judged else None},
        measured={"kept": judged},
        checks={name: _summed_up(findings) for name, findings in found.items()},
    )


def _others(table: ObservationTable, pin: str) -> frozenset[str]:
    """Providers that are not the pinned one; a single name everywhere is taken for an unknown spelling of it."""
    served = frozenset[str]().union(*(traits.providers for traits in table.traits()))
    others = frozenset(name for name in served if not same_provider(pin, name))
    return frozenset() if served == others and len(others) == 1 else others


def _finding(traits: Traits, others: frozenset[str]) -> _Finding:
    strangers = traits.providers & others
    if strangers:
        return "not_measurable", f"served by {', '.join(sorted(strangers))}"
    return traits.status or "not_measurable", traits.evidence


def _summed_up(findings: Sequence[_Finding]) -> FeatureCheck:
    statuses: Counter[FeatureStatus] = Counter(status for status, _ in findings)
    worst: FeatureStatus = next((word for word in _WORST_FIRST if statuses[word]), "not_measurable")
    evidence = next((words for status, words in findings if status == worst), _UNASKED)
    return FeatureCheck(worst, evidence, dict(statuses))
