"""Which samples ended otherwise in a second run, and what of the question changed; it weighs neither.

A flip is a fact about one sample; whether there are more than chance gives is for the paired intervals to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vendor_verifier.compare.ratios import Part
from vendor_verifier.compare.trials import Trials
from vendor_verifier.values.comparison import Flip, SettingChange

_SHOWN = 200
# What differs between any two runs, or repeats what is told elsewhere.
_INCIDENTAL = frozenset(
    {
        *("run", "created_at", "finished_at", "status", "identity", "warnings", "stopped", "schema", "imported"),
        *("event_loop", "calibration", "load"),  # measured, not chosen
    }
)


def flips_of(model: str, before: Trials, after: Trials, suites: Sequence[str] = ()) -> Iterator[Flip]:
    """Samples of one vendor whose success, decision to call, schema validity or ``suites`` score changed sides."""
    for what, metric, words in (
        ("success", "success_rate", ("failed", "succeeded")),
        ("schema", "schema_accuracy", ("invalid", "valid")),
        *((suite, suite, ("missed", "right")) for suite in suites),
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
        name = f"{flip.model} / {flip.label} / {flip.what}: {flip.before} → {flip.after}"
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items()))


def setting_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[SettingChange, ...]:
    """What differs between two manifests, by path; entries are joined by model and label, tasks by suite."""
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
