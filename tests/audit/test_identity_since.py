"""Another model or deployment than last time is said with both names, once, and only where both runs told any."""

from __future__ import annotations

from changing import replace
from histories import night

from vendor_verifier.audit.identity import MOST_NAMES, changes_since, changes_since_last, served_names
from vendor_verifier.records.history import HistoryRun
from vendor_verifier.records.judgement import ServedNames

OLD, NEW = ServedNames(("model-1",), ("fp_1",)), ServedNames(("model-1",), ("fp_2",))


def run(number: int, **served: ServedNames) -> HistoryRun:
    """A night on which each label's answers bore these names."""
    told = night(number, dict.fromkeys(served, 1.0))
    return replace(told, entries=tuple(replace(each, served=served[each.label]) for each in told.entries))


def test_names_are_gathered_once_and_sorted() -> None:
    """Of a thousand answers two fingerprints, and of a thousand fingerprints not all."""
    rows = [("m-1", f"fp_{number % 2}") for number in range(1000)]
    assert served_names(rows) == ServedNames(("m-1",), ("fp_0", "fp_1"))
    many = served_names((None, f"fp_{number}") for number in range(1000))
    assert len(many.fingerprints) == MOST_NAMES + 1


def test_a_change_is_told_with_both_names() -> None:
    """Of the fingerprint, of the model; a run that tells nothing is no change, nor is a new name for every answer."""
    [finding] = changes_since("v", OLD, NEW)
    assert (finding.name, finding.evidence) == ("fingerprint_changed_since", {"before": "fp_1", "after": "fp_2"})
    [finding] = changes_since("v", OLD, replace(OLD, models=("model-2",)))
    assert finding.name == "served_model_changed_since"
    endless = replace(OLD, fingerprints=tuple(f"fp_{number}" for number in range(MOST_NAMES + 1)))
    for after in (OLD, ServedNames(), endless):
        assert changes_since("v", OLD, after) == ()


def test_each_entry_is_held_against_its_own_last_run_that_told_names() -> None:
    """A night without the vendor, or without names, is passed over; what changed back and forth earlier is not told."""
    runs = [run(1, a=OLD, b=NEW), run(2, b=NEW), run(3, a=ServedNames(), b=NEW), run(4, a=NEW, b=NEW, c=OLD)]
    assert [(model, each.label, each.name) for model, each in changes_since_last(runs)] == [
        ("m", "a", "fingerprint_changed_since")
    ]
    assert list(changes_since_last([])) == []
