"""The verdicts on vendors from run to run: those of two run folders beside each other, and since when one holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from vendor_verifier.records.history import HistoryRun, Night, Trend, VerdictChange
from vendor_verifier.records.labels import shown_labels
from vendor_verifier.records.verdict import BEST_FIRST, FAILING, STATUSES, Status
from vendor_verifier.reports.escape import plain
from vendor_verifier.store import RunFolder
from vendor_verifier.wire.payload import parse_json
from vendor_verifier.words import Texts

_SCORES = "scores.json"
_Verdicts = Mapping[tuple[str, str], Status | None]


def verdict_changes(before: RunFolder, after: RunFolder) -> tuple[VerdictChange, ...]:
    """The verdicts of both runs on the vendors that both have, as their scores.json states them."""
    first, second = _stated(before), _stated(after)
    known = [key for key in first if key in second and (first[key] or second[key])]
    return tuple(VerdictChange(*key, first[key], second[key]) for key in known)


def _stated(folder: RunFolder) -> _Verdicts:
    """(model, label) → verdict, None where it is not known; empty without a readable scores.json."""
    try:
        document = parse_json(shown_labels((folder.path / _SCORES).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
    models = _mapping(document, "models")
    return {
        (model, label): _status(_mapping(vendor, "verdict").get("status"))
        for model, found in models.items()
        for label, vendor in _mapping(found, "vendors").items()
    }


def _mapping(document: Any, key: str) -> dict[str, Any]:
    found = document.get(key) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


def _status(word: Any) -> Status | None:
    return cast(Status, word) if word in STATUSES else None


def got_worse(change: VerdictChange) -> bool:
    """Whether a vendor became not as sold or unusable, which it was not, or not so badly."""
    if change.after not in FAILING or change.before not in BEST_FIRST:
        return False
    return BEST_FIRST.index(change.after) > BEST_FIRST.index(change.before)


def change_lines(changes: Iterable[VerdictChange], t: Texts) -> list[str]:
    """A line a vendor, those whose verdict changed first."""
    lines = []
    for change in sorted(changes, key=lambda each: each.before == each.after):
        name = f"{change.model} / {change.label}"
        if change.before == change.after:
            lines.append(plain(t("verdict_kept", name=name, status=status_said(change.after, t))))
        else:
            words = {"before": status_said(change.before, t), "after": status_said(change.after, t)}
            lines.append(plain(t("verdict_changed", name=name, **words)))
    return lines


def status_said(status: Status | None, t: Texts) -> str:
    return t("verdict_unknown" if status is None else f"status_{status}")


def failing_lines(run: HistoryRun, t: Texts) -> Iterator[str]:
    """``model / vendor not as sold`` for each vendor of a stored run that was not as sold or unusable."""
    for entry in run.entries:
        if entry.verdict in FAILING:
            named = f"{entry.model} / {entry.label}"
            yield plain(t("check_vendor", vendor=named, status=status_said(entry.verdict, t)))


def verdict_trend_lines(trends: Iterable[Trend], t: Texts) -> Iterator[str]:
    """For each vendor its verdict in the newest run, and since when it holds; nothing where none is known."""
    longest: dict[tuple[str, str], tuple[Night, ...]] = {}
    for trend in trends:
        key = trend.model, trend.label
        if len(trend.nights) > len(longest.get(key, ())):
            longest[key] = trend.nights
    for (model, label), nights in longest.items():
        if any(night.verdict is not None for night in nights):
            yield plain(_since(f"{model} / {label}", nights, t))


def _since(name: str, nights: tuple[Night, ...], t: Texts) -> str:
    now = nights[-1].verdict
    words = {"name": name, "status": status_said(now, t)}
    others = [place for place, night in enumerate(nights) if night.verdict != now]
    if not others:
        return t("verdict_lasting", n=len(nights), **words)
    last = others[-1]
    return t("verdict_since", run=nights[last + 1].run, before=status_said(nights[last].verdict, t), **words)
