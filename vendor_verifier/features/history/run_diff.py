"""Two runs of the same vendors, sample by sample: paired changes with intervals and a verdict; it reads no files.

Shares (F1, success, schema, a suite's score) are ratios of sums: the change is after − before, its standard error
sd(ψ_after − ψ_before) ÷ √n from influence values (:mod:`vendor_verifier.stats.bootstrap`). Quantities are compared by
mean log ratio per sample, and for times the change that the other vendors have in common is taken out
(:mod:`vendor_verifier.features.history.run_diff`). Intervals hold together:
Student's t at 1 − 0.05 ÷ (number of comparisons) (Bonferroni), for times
as wide as their drifts ask. Where no sample changed, 3 ÷ n bounds what could (the
rule of three).

worse, improved: the interval excludes 0 and the change is at least the least one that matters (shares 2 points, tokens
5 %, times 10 %); same: the whole interval lies within it; undecided: anything else.

Limit: latency moves from run to run by itself, and no interval from two runs can know by how much. A lasting change is
for :mod:`vendor_verifier.features.history.regression` to find.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import NormalDist, median
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from vendor_verifier.audit.identity import changes_since, served_names
from vendor_verifier.features.history.figures import LEAST_DIFFERENCE, LEAST_RATIO, direction_of, scale_of
from vendor_verifier.features.history.paired_changes import LEAST_PAIRS, Paired, paired_changes
from vendor_verifier.features.history.verdict_changes import verdict_changes
from vendor_verifier.pipeline.stored_observations import StoredTrials, read_trials
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.history import ChangeVerdict, Flip, MetricChange, RunComparison, SettingChange
from vendor_verifier.records.judgement import Finding, ServedNames
from vendor_verifier.records.manifest import ScoreRequest, Undecided
from vendor_verifier.scoring.collect import EntryKey
from vendor_verifier.scoring.irf import RANK_METRICS
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.ratio_table import Part, Trials
from vendor_verifier.store import RunFolder
from vendor_verifier.words import english

if TYPE_CHECKING:
    pass


LEAST_OTHERS = 3
_SHARE = 0.75
# A hundred million times as much says nothing.
_MOST_LOGARITHM = 18.4


def common_shift(others: Sequence[float]) -> float:
    """The change that the others share, given each one's change; 0 where they share none, or are fewer than three."""
    needed = max(LEAST_OTHERS, math.ceil(_SHARE * len(others)))
    if len(others) < needed:
        return 0.0
    ordered = sorted(others)
    # ``needed`` of them moved up by at least the one, or down by at least the other.
    up, down = max(ordered[-needed], 0.0), min(ordered[needed - 1], 0.0)
    return min(max(median(ordered), 2 * down), 2 * up)


_SHOWN = 200
# Parts of a manifest that differ between any two runs, or are shown elsewhere.
_INCIDENTAL = frozenset(
    {
        *("run", "created_at", "finished_at", "status", "identity", "warnings", "stopped", "schema", "imported"),
        *("event_loop", "load", "pace", "resent"),  # measured, not chosen
    }
)


def flips_of(model: str, before: Trials, after: Trials, suites: Sequence[str] = ()) -> Iterator[Flip]:
    """Samples of one vendor whose success, decision to call, schema validity or ``suites`` score changed sides."""
    for what, metric, words in (
        (english("flip_success"), "success_rate", (english("flip_failed"), english("flip_succeeded"))),
        (english("flip_schema"), "schema_accuracy", (english("flip_invalid"), english("flip_valid"))),
        *((suite, suite, (english("flip_missed"), english("flip_right"))) for suite in suites),
    ):
        first, second = before.ratios.get(metric, {}), after.ratios.get(metric, {})
        for unit in first.keys() & second.keys():
            sides = [words[_is_whole(column[unit])] for column in (first, second)]
            if sides[0] != sides[1]:
                yield Flip(model, before.label, what, *unit, *sides)
    yield from _decisions(model, before, after)


def _decisions(model: str, before: Trials, after: Trials) -> Iterator[Flip]:
    for repetition, (first, second) in enumerate(zip(before.runs, after.runs, strict=False)):
        for sample in first.keys() & second.keys():
            if first[sample] != second[sample]:
                yield Flip(model, before.label, "called", sample, repetition, first[sample], second[sample])


def _is_whole(part: Part) -> bool:
    return part[0] >= part[1]


def shown_flips(flips: Sequence[Flip]) -> tuple[Flip, ...]:
    """A bounded, ordered part of ``flips``."""
    key = {flip: (flip.model, flip.label, flip.what, flip.sample, flip.repetition) for flip in flips}
    return tuple(sorted(flips, key=key.__getitem__)[:_SHOWN])


def flip_counts(flips: Sequence[Flip]) -> dict[str, int]:
    """``model / label / what: before → after`` → how many samples, in alphabetical order."""
    counts: dict[str, int] = {}
    for flip in flips:
        vendor = f"{flip.model} / {flip.label}"
        name = english("flip_of", vendor=vendor, what=flip.what, before=flip.before, after=flip.after)
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def setting_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[SettingChange, ...]:
    """The differences between two manifests, by path; entries are joined by model and label, tasks by suite."""
    first, second = dict(_flat(_keyed(before))), dict(_flat(_keyed(after)))
    paths = dict.fromkeys([*first, *second])
    return tuple(
        SettingChange(path, first.get(path), second.get(path)) for path in paths if first.get(path) != second.get(path)
    )


def _keyed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in manifest.items() if name not in _INCIDENTAL}
    kept["entries"] = {f"{each.get('model')} / {each.get('label')}": each for each in manifest.get("entries", ())}
    kept["tasks"] = {str(each.get("suite")): each for each in manifest.get("tasks", ())}
    return kept


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _flat(item, f"{path}.{name}" if path else str(name))
    elif value not in (None, [], ()):
        yield path, str(value)


LEAST_TIME_RATIO = 0.10
LEVEL = 0.95


class Side(msgspec.Struct, frozen=True):
    """One model of one run: its vendors and its baseline's label."""

    trials: Sequence[Trials]
    baseline: str | None = None


def compare_model(
    model: str,
    before: Side,
    after: Side,
    samples: Sequence[str],
    *,
    metrics: Sequence[str],
    undecided: Undecided = "missed",
) -> tuple[MetricChange, ...]:
    """Every figure that both runs measured, over the ``samples`` they have in common.

    Vendors are joined by label; one that only one run has is not in the result.
    """
    panels = [
        build_panel(side.trials, samples, baseline=side.baseline, metrics=metrics, undecided=undecided)
        for side in (before, after)
    ]
    labels = [label for label in panels[0].labels if label in panels[1].labels]
    paired = [
        found
        for metric in metrics
        for label in labels
        if (found := paired_changes(panels[0], panels[1], label, metric)) is not None
    ]
    return tuple(_change(model, each, _shared(each, paired), len(paired)) for each in paired)


def _shared(own: Paired, paired: Sequence[Paired]) -> float:
    """The change that the other vendors' times share, which comes from the network or the hour; 0 for other metrics."""
    if not _is_time(own.metric):
        return 0.0
    others = [float(each.changes.mean()) for each in paired if each.metric == own.metric and each.label != own.label]
    return common_shift(others)


def _is_time(metric: str) -> bool:
    return metric == "tps" or metric.endswith("_ms")


def _change(model: str, paired: Paired, shared: float, comparisons: int) -> MetricChange:
    scale = scale_of(paired.metric)
    interval = _interval(paired, comparisons, rate=scale == "difference")
    interval = _each(interval, lambda value: value - shared)
    least = LEAST_DIFFERENCE
    if scale == "ratio":
        least = math.log1p(LEAST_TIME_RATIO if _is_time(paired.metric) else LEAST_RATIO)
    verdict = _verdict(interval, least, lower_is_better=direction_of(paired.metric) == "lower")
    if scale == "ratio":
        interval = _each(interval, _relative)
        shared = math.expm1(shared)
    return MetricChange(
        model, paired.label, paired.metric, scale, paired.before, paired.after, interval, verdict, shared
    )


def _interval(paired: Paired, comparisons: int, *, rate: bool) -> Estimate:
    from vendor_verifier.special_functions import stdtrit

    n = len(paired.changes)
    value = paired.after - paired.before if rate else float(paired.changes.mean())
    quantile = 1 - (1 - LEVEL) / 2 / comparisons
    half = float(stdtrit(n - 1, quantile) * paired.changes.std(ddof=1) / math.sqrt(n))
    if paired.alike is not None and paired.alike.is_seen:
        half = max(half, paired.alike.reach(NormalDist().inv_cdf(quantile)))
    if rate:
        # No sample changed: that bounds how many could, it does not say that none ever will.
        half = half if paired.changes.std() > 0 else min(1.0, 3 / n)
    return Estimate(value, value - half, value + half, n, f"paired, together over {comparisons} comparisons", LEVEL)


def _verdict(interval: Estimate, least: float, *, lower_is_better: bool) -> ChangeVerdict:
    assert interval.value is not None
    assert interval.low is not None
    assert interval.high is not None
    if (interval.low > 0 or interval.high < 0) and abs(interval.value) >= least:
        return "worse" if (interval.value > 0) == lower_is_better else "improved"
    return "same" if -least < interval.low and interval.high < least else "undecided"


def _relative(logarithm: float) -> float | None:
    """The change of a ratio whose logarithm is given; None where two or three samples leave it without an end."""
    return math.expm1(logarithm) if logarithm < _MOST_LOGARITHM else None


def _each(interval: Estimate, change: Callable[[float], float | None]) -> Estimate:
    """``change`` made to the value and both ends."""
    value, low, high = (None if one is None else change(one) for one in (interval.value, interval.low, interval.high))
    return structs.replace(interval, value=value, low=low, high=high)


def common_samples(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> list[str]:
    """Sample ids that the same suite asked in both runs, in the order of the first."""
    asked = {suite: frozenset(ids) for suite, ids in after.items()}
    found = [sample for suite, ids in before.items() for sample in ids if sample in asked.get(suite, ())]
    return list(dict.fromkeys(found))


_Changed = tuple[str, Finding]


def compare_folders(before: RunFolder, after: RunFolder) -> RunComparison:
    """``after`` against ``before``, over the samples and vendors that both have.

    Raises:
        RunFolderError: one of them is no readable run folder.
    """
    one, other = read_trials(before), read_trials(after)
    samples = common_samples(one.planned, other.planned)
    flips = tuple(_flips(one, other))
    changes = tuple(_changes(one, other, samples)) if samples else ()
    return RunComparison(
        before=one.manifest.run,
        after=other.manifest.run,
        common_samples=len(samples),
        settings=(*setting_changes(one.manifest.raw, other.manifest.raw), *_choices(one.planned, other.planned)),
        changes=changes,
        flips=shown_flips(flips),
        flip_counts=flip_counts(flips),
        notes=(*_notes(one, other, samples), *_unpaired(one, other, changes)),
        identity=tuple(_identity(_names_in(before), _names_in(after))),
        verdicts=verdict_changes(before, after),
    )


def _choices(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> Iterator[SettingChange]:
    """Evaluations that asked other samples, with how many of each run's the other asked too."""
    for suite in before.keys() & after.keys():
        first, second = set(before[suite]), set(after[suite])
        if first != second:
            both = len(first & second)
            counts = (f"{len(each)}, of which {both} in both runs" for each in (first, second))
            yield SettingChange(f"tasks.{suite}.samples", *counts)


def _changes(one: StoredTrials, other: StoredTrials, samples: list[str]) -> Iterator[MetricChange]:
    metrics = (*RANK_METRICS, *(name for name in one.scores if name in other.scores))
    for model in one.trials:
        if model in other.trials:
            before, after = (Side(each.trials[model], each.baselines.get(model)) for each in (one, other))
            yield from compare_model(model, before, after, samples, metrics=metrics, undecided=other.score.undecided)


def _flips(one: StoredTrials, other: StoredTrials) -> Iterator[Flip]:
    for model, trials in one.trials.items():
        later = {each.label: each for each in other.trials.get(model, ())}
        for each in trials:
            if each.label in later:
                yield from flips_of(model, each, later[each.label], [*one.scores])


def _names_in(folder: RunFolder) -> dict[EntryKey, ServedNames]:
    """The served models and fingerprints in the answers of a stored run, by entry."""
    found: dict[EntryKey, list[tuple[str | None, str | None]]] = {}
    for record in folder.read_records(lambda _line, _reason: None):
        answer = None if record.final is None else record.final.response
        if answer is not None:
            found.setdefault((record.model, record.label), []).append((answer.served_model, answer.fingerprint))
    return {key: served_names(names) for key, names in found.items()}


def _identity(before: Mapping[EntryKey, ServedNames], after: Mapping[EntryKey, ServedNames]) -> Iterator[_Changed]:
    for model, label in sorted(before.keys() & after.keys()):
        yield from ((model, finding) for finding in changes_since(label, before[model, label], after[model, label]))


def _notes(one: StoredTrials, other: StoredTrials, samples: list[str]) -> Iterator[str]:
    if not samples:
        yield english("note_nothing_common")
    elif len(samples) < max(len(one.samples), len(other.samples)):
        counted = {"before": len(one.samples), "after": len(other.samples)}
        yield english("note_common", samples=english("summary_samples", n=len(samples)), **counted)
        if len(samples) < LEAST_PAIRS:
            yield english("note_one_sample")
    names = [{(model, each.label) for model, found in side.trials.items() for each in found} for side in (one, other)]
    for name, missing in (("note_only_before", names[0] - names[1]), ("note_only_after", names[1] - names[0])):
        if missing:
            yield english(name, labels=", ".join(f"{model} / {label}" for model, label in sorted(missing)))
    if _policies(one) != _policies(other):
        yield english("note_policies")


def _unpaired(one: StoredTrials, other: StoredTrials, changes: Sequence[MetricChange]) -> Iterator[str]:
    """For each figure that was compared of some vendors: those of both runs that lack it."""
    found: dict[tuple[str, str], set[str]] = {}
    for change in changes:
        found.setdefault((change.model, change.metric), set()).add(change.label)
    for (model, metric), compared in found.items():
        later = {each.label for each in other.trials[model]}
        # A baseline that was asked once has nothing to be compared with.
        expected = later - ({one.baselines.get(model), other.baselines.get(model)} if metric == "f1" else set())
        lacking = [each.label for each in one.trials[model] if each.label in expected - compared]
        if lacking:
            yield english("note_unpaired", model=model, metric=metric, labels=", ".join(lacking))


def _policies(stored: StoredTrials) -> ScoreRequest:
    """The scoring policies that change figures, without those for gates, SLOs, volume and the baseline's rank."""
    figures = ("undecided", "schema_policy", "rank_metrics")
    return ScoreRequest(**{name: getattr(stored.score, name) for name in figures})
