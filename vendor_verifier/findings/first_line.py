"""The first line of every report: who is recommended, or why nobody can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from vendor_verifier.findings.base import ModelRun, Reach
from vendor_verifier.findings.baseline import faults
from vendor_verifier.records.results import Choice, Status, VendorResult, Verdict
from vendor_verifier.text import listed

_WORDS: tuple[tuple[Status, str, str], ...] = (
    ("down", "is down", "are down"),
    ("differs", "differs", "differ"),
    ("check", "to check", "to check"),
    ("not_tested", "not tested", "not tested"),
)


def choice_of(
    run: ModelRun, results: Mapping[str, VendorResult], verdicts: Mapping[str, Verdict], reaches: Sequence[Reach]
) -> Choice:
    """The advice on a model."""
    status = {label: verdicts[label].status for label in sorted(run.vendors)}
    answered = [label for label in status if run.rows[label]["ok"].any() or _only_apart(run, label)]
    after = " ".join(filter(None, [_scores(run, results), _unsound(run)]))
    if not status:
        return Choice("no_vendors", (), _joined("Only the baseline was asked: nobody to compare.", after))
    if not answered:
        worst = next(iter(status))
        return Choice("nobody_answered", (), _joined(f"No vendor answered. {worst}: {verdicts[worst].reason}", after))
    matching = tuple(label for label, each in status.items() if each == "matches")
    if matching:
        text = f"{_recommended(run, matching, status)} {_carried(run, verdicts, reaches, matching)}"
        return Choice("recommended", matching, _joined(text, after))
    clean = tuple(label for label, each in status.items() if each == "not_tested" and label in answered)
    if clean:
        return Choice("undecided", clean, _joined(_undecided(run, clean, verdicts, reaches, status), after))
    text = f"No vendor matches the baseline {run.baseline}: {_tally(status)}." if run.baseline else _tally(status)
    return Choice("none", (), _joined(text, after))


def _recommended(run: ModelRun, matching: Sequence[str], status: Mapping[str, Status]) -> str:
    others = _tally({label: each for label, each in status.items() if label not in matching})
    of = f" ({others})" if others else ""
    if len(matching) == 1:
        only = "the only vendor" if len(status) == 1 else f"the only one of {len(status)} vendors"
        return f"Choose {matching[0]}: {only} that matches the baseline {run.baseline}{of}."
    best = []
    money = {label: _cost(run, label) for label in matching}
    seconds = {label: float(run.rows[label]["e2e_ms"].median()) for label in matching}
    for word, figures in (("cheapest", money), ("fastest", seconds)):
        known = {label: figure for label, figure in figures.items() if figure is not None and figure == figure}
        if len(known) == len(matching):
            best.append(f"{word}: {min(known, key=lambda label: known[label])}")
    shown = f"; {', '.join(best)}" if best else ""
    return f"Choose {listed(matching, 8)}: they match the baseline {run.baseline}{of}{shown}."


def _cost(run: ModelRun, label: str) -> float | None:
    found = run.money.get(label)
    return None if found is None else found.per_1000_requests_usd


def _tally(status: Mapping[str, Status]) -> str:
    number = Counter(status.values())
    return ", ".join(
        f"{number[each]} {one if number[each] == 1 else many}" for each, one, many in _WORDS if number[each]
    )


def _carried(run: ModelRun, verdicts: Mapping[str, Verdict], reaches: Sequence[Reach], matching: Sequence[str]) -> str:
    """What would have been seen in tool calls, or in the first facet tested; and what could not be."""
    facets = verdicts[matching[0]].facets
    tested = [name for name in ("tool_calls", "model", "reliability", "speed") if facets[name].status == "matches"]
    return facets[tested[0]].reason if tested else ""


def _undecided(
    run: ModelRun,
    clean: Sequence[str],
    verdicts: Mapping[str, Verdict],
    reaches: Sequence[Reach],
    status: Mapping[str, Status],
) -> str:
    """Against whom nothing was found, which facets lack data, and how many samples would do."""
    nothing = f"Nothing was found against {listed(clean, 8)}, but nobody can be recommended yet"
    others = _tally({label: each for label, each in status.items() if label not in clean})
    of = f" ({others})" if others else ""
    open_facets = [
        reach for reach in reaches
        if reach.vendor == clean[0] and not reach.enough and reach.meant and reach.facet != "bill"
        and verdicts[clean[0]].facets[reach.facet].status == "not_tested"
    ]  # fmt: skip
    if not open_facets:
        return f"{nothing}{of}."
    names = listed(list(dict.fromkeys(reach.facet.replace("_", " ") for reach in open_facets)), 5)
    needed = [reach.needed for reach in open_facets]
    if all(needed):
        return f"{nothing}{of}: about {max(each or 0 for each in needed)} samples would do ({names} not tested)."
    return f"{nothing}{of}: {names} not tested, {next(r.text for r in open_facets if r.needed is None)}"


def _scores(run: ModelRun, results: Mapping[str, VendorResult]) -> str:
    """The evaluations' main scores, best first."""
    shown = []
    for suite in dict.fromkeys(name for result in results.values() for name in result.suites):
        scores = {
            label: result.suites[suite].score
            for label, result in results.items()
            if suite in result.suites and result.suites[suite].score is not None
        }
        best = sorted(scores, key=lambda label: (-(scores[label] or 0.0), label))
        if best:
            shown.append(f"{suite}: " + ", ".join(f"{label} {scores[label]:.3g}" for label in best[:4]))
    return f"Scores: {'; '.join(shown)}." if shown else ""


def _unsound(run: ModelRun) -> str:
    return " ".join(f"{reason[:1].upper()}{reason[1:]}." for _, reason in faults(run))


def _only_apart(run: ModelRun, label: str) -> bool:
    return bool((run.apart["label"] == label).any()) and run.rows[label].empty


def _joined(text: str, after: str) -> str:
    return f"{text} {after}".strip()
