"""Compares two stored runs: reads both, judges the changes, names what else is not the same. It sends nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from vendor_verifier.compare.flips import flip_counts, flips_of, setting_changes, shown_flips
from vendor_verifier.compare.identity_since import changes_since
from vendor_verifier.compare.ranking import RANK_METRICS
from vendor_verifier.compare.two_runs import Side, common_samples, compare_model
from vendor_verifier.pipeline.auditing import EntryKey, names_in
from vendor_verifier.pipeline.request import ScoreRequest
from vendor_verifier.pipeline.stored_trials import StoredTrials, read_trials
from vendor_verifier.store import RunFolder
from vendor_verifier.values.comparison import Flip, MetricChange, RunComparison
from vendor_verifier.values.judgement import Finding, ServedNames

_Changed = tuple[str, Finding]


def compare_folders(before: RunFolder, after: RunFolder) -> RunComparison:
    """``after`` against ``before``, over the samples and vendors that both have.

    Raises:
        RunFolderError: one of them is no readable run folder.
    """
    one, other = read_trials(before), read_trials(after)
    samples = common_samples(one.planned, other.planned)
    flips = tuple(_flips(one, other))
    return RunComparison(
        before=str(one.manifest.get("run")),
        after=str(other.manifest.get("run")),
        common_samples=len(samples),
        settings=setting_changes(one.manifest, other.manifest),
        changes=tuple(_changes(one, other, samples)) if samples else (),
        flips=shown_flips(flips),
        flip_counts=flip_counts(flips),
        notes=tuple(_notes(one, other, samples)),
        identity=tuple(_identity(names_in(before), names_in(after))),
    )


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


def _identity(before: Mapping[EntryKey, ServedNames], after: Mapping[EntryKey, ServedNames]) -> Iterator[_Changed]:
    for model, label in sorted(before.keys() & after.keys()):
        yield from ((model, finding) for finding in changes_since(label, before[model, label], after[model, label]))


def _notes(one: StoredTrials, other: StoredTrials, samples: list[str]) -> Iterator[str]:
    if not samples:
        yield "the two runs have no sample in common: nothing can be compared"
    elif len(samples) < max(len(one.samples), len(other.samples)):
        yield f"{len(samples)} samples are in both runs, of {len(one.samples)} before and {len(other.samples)} after"
    names = [{(model, each.label) for model, found in side.trials.items() for each in found} for side in (one, other)]
    for words, missing in (("only before", names[0] - names[1]), ("only after", names[1] - names[0])):
        if missing:
            yield f"{words}: " + ", ".join(f"{model} / {label}" for model, label in sorted(missing))
    if _policies(one) != _policies(other):
        yield "the runs were scored by different policies: see what changed, and `score` one of them again"


def _policies(stored: StoredTrials) -> ScoreRequest:
    """What changes figures; gates only look at them, and what the baseline is given concerns ranks."""
    return replace(stored.score, gates=(), model_gates={}, slos=(), baseline_f1="fixed")
