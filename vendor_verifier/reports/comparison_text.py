"""Two runs beside each other as plain lines: verdicts first, then what changed and what flipped; it judges nothing."""

from __future__ import annotations

from collections.abc import Iterator

from vendor_verifier.reports.cells import quantity, rate
from vendor_verifier.reports.escape import plain
from vendor_verifier.values.comparison import ChangeVerdict, MetricChange, RunComparison

_ORDER: tuple[ChangeVerdict, ...] = ("worse", "improved", "undecided", "same")
_MOST_SETTINGS = 40
_MOST_FLIPS = 20
_NIGHTS = "Latency moves from run to run by itself: only `trend` can tell a lasting change from one night's."


def comparison_lines(comparison: RunComparison) -> list[str]:
    """One line a finding; no line ends inside."""
    lines = [summary(comparison), *(f"note: {plain(note)}" for note in comparison.notes)]
    lines += _changes(comparison)
    lines += [plain(f"identity: {model} / {each.label}: {each.statement}") for model, each in comparison.identity]
    lines += _settings(comparison)
    lines += _flips(comparison)
    if any(change.metric == "tps" or change.metric.endswith("_ms") for change in comparison.changes):
        lines.append(_NIGHTS)
    return lines


def summary(comparison: RunComparison) -> str:
    """``run B against run A: 2 worse, 1 improved, 9 same, 4 undecided``."""
    verdicts = [change.verdict for change in comparison.changes]
    counted = ", ".join(f"{verdicts.count(word)} {word}" for word in _ORDER) if verdicts else "nothing to compare"
    return plain(f"{comparison.after} against {comparison.before}: {counted}")


def _changes(comparison: RunComparison) -> Iterator[str]:
    for change in sorted(comparison.changes, key=lambda each: _ORDER.index(each.verdict)):
        yield f"  {change.verdict:9}  {change_words(change)}"


def change_words(change: MetricChange) -> str:
    """``model / vendor / metric: 0.98 → 0.91, -7.0 points (-9.1 … -4.9, n 300)``."""
    write = quantity if change.scale == "ratio" else rate
    effect = change.effect
    ends = " … ".join(effect_words(end, change) for end in (effect.low, effect.high))
    shared = f", the others' {effect_words(change.shared, change)} taken out" if change.shared else ""
    return plain(
        f"{change.model} / {change.label} / {change.metric}: {write(change.before)} → {write(change.after)}, "
        f"{effect_words(effect.value, change)} ({ends}, n {effect.n}{shared})"
    )


def effect_words(value: float | None, change: MetricChange) -> str:
    """``+15.0%`` of what it was, or ``-7.0 points``."""
    if value is None:
        return "–"
    return f"{value:+.1%}" if change.scale == "ratio" else f"{100 * value:+.1f} points"


def _settings(comparison: RunComparison) -> Iterator[str]:
    if not comparison.settings:
        yield "nothing of the question changed"
        return
    yield f"changed between the runs ({len(comparison.settings)}):"
    for change in comparison.settings[:_MOST_SETTINGS]:
        before, after = (plain(value, 60) if value is not None else "(none)" for value in (change.before, change.after))
        yield f"  {plain(change.where)}: {before} → {after}"
    if len(comparison.settings) > _MOST_SETTINGS:
        yield f"  and {len(comparison.settings) - _MOST_SETTINGS} more"


def _flips(comparison: RunComparison) -> Iterator[str]:
    if not comparison.flip_counts:
        yield "no sample ended otherwise"
        return
    yield f"samples that ended otherwise ({sum(comparison.flip_counts.values())}):"
    for name, count in comparison.flip_counts.items():
        yield f"  {plain(name)}: {count}"
    for flip in comparison.flips[:_MOST_FLIPS]:
        yield "    " + plain(f"{flip.sample} #{flip.repetition} {flip.label} {flip.what}: {flip.before} → {flip.after}")
    if sum(comparison.flip_counts.values()) > _MOST_FLIPS:
        yield "    … all of them: --json"
