"""The first line of every report: who is recommended, or why nobody can be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from vendor_verifier.findings.base import ModelRun, Reach, main_failure
from vendor_verifier.findings.baseline import faults
from vendor_verifier.findings.reliability import failed_more
from vendor_verifier.records.results import Choice, FacetName, Status, VendorResult, Verdict
from vendor_verifier.text import listed

MOST_NAMED = 8
_ORDER: tuple[FacetName, ...] = ("tool_calls", "model", "reliability", "speed")
_WORDS: Mapping[Status, tuple[str, str]] = {
    "matches": ("matches", "match"),
    "down": ("is down", "are down"),
    "differs": ("differs", "differ"),
    "check": ("to check", "to check"),
    "not_tested": ("not tested", "not tested"),
}


def choice_of(
    run: ModelRun, results: Mapping[str, VendorResult], verdicts: Mapping[str, Verdict], reaches: Sequence[Reach]
) -> Choice:
    """The advice on a model, from the verdicts on its vendors."""
    status = {label: verdicts[label].status for label in sorted(run.vendors)}
    matching = tuple(label for label, each in status.items() if each == "matches")
    clean = tuple(label for label, each in status.items() if each == "not_tested" and not failed_more(run, label))
    answered = set(run.records["label"][run.records["ok"]]) | set(run.apart["label"])
    open_to = tuple(label for label in clean if label in answered)
    others = _tally([each for label, each in status.items() if label not in (matching or open_to)])
    others = f" ({others})" if others else ""
    if not status:
        choice = Choice("no_vendors", (), "Only the baseline was asked.")
    elif run.baseline is not None and run.baseline not in answered and answered:
        kinds, remedy = main_failure(run.reference)
        why = f" ({kinds})" if kinds else ""
        return Choice("none", (), f"The baseline {run.baseline} answered nothing{why}: nothing was compared. {remedy}")
    elif matching:
        text = f"{_recommended(run, matching, len(status))}{others}{_best(run, matching)}."
        choice = Choice("recommended", matching, f"{text} {_seen(verdicts[matching[0]])}".strip())
    elif not answered.intersection(status):
        first = next(iter(status))
        choice = Choice("nobody_answered", (), f"No vendor answered. {first}: {verdicts[first].reason}")
    elif open_to:
        text = f"Nothing was found against {listed(open_to, MOST_NAMED)}{others}, but nobody can be recommended yet: "
        choice = Choice("undecided", open_to, text + _lacking(verdicts[open_to[0]], open_to[0], reaches))
    else:
        text = (
            "No vendor can be recommended" if run.baseline is None else f"No vendor matches the baseline {run.baseline}"
        )
        choice = Choice("none", (), f"{text}{others}.")
    unsound = [f"{reason[:1].upper()}{reason[1:]}." for _, reason in faults(run)]
    return Choice(choice.kind, choice.labels, " ".join([choice.text, *unsound, *_scores(results)]))


def _recommended(run: ModelRun, matching: Sequence[str], vendors: int) -> str:
    if len(matching) > 1:
        return f"Choose {listed(matching, MOST_NAMED)}: they match the baseline {run.baseline}"
    whole = "it" if vendors == 1 else f"the only one of {vendors} vendors that"
    return f"Choose {matching[0]}: {whole} matches the baseline {run.baseline}"


def _best(run: ModelRun, matching: Sequence[str]) -> str:
    """The cheapest and the fastest of several, where it is known of all, and whether the baseline is cheaper."""
    costs = {label: money.per_1000_requests_usd for label, money in run.money.items()}
    own = costs.get(run.baseline or "")
    others = [costs.get(label) for label in matching]
    cheaper = own is not None and all(cost is not None and own < cost for cost in others)
    maker = f"; the baseline {run.baseline} itself is cheaper" if cheaper else ""
    if len(matching) == 1:
        return maker
    prices = {label: costs[label] for label in matching if label in costs}
    seconds = {label: float(run.rows[label]["e2e_ms"].median()) for label in matching}
    parts = []
    for word, figures in (("cheapest", prices), ("fastest", seconds)):
        known = {label: figure for label, figure in figures.items() if figure is not None and figure == figure}
        if len(known) == len(matching):
            parts.append(f"; {word}: {min(known, key=lambda label: (known[label], label))}")
    return "".join(parts) + maker


def _seen(verdict: Verdict) -> str:
    """What would have been seen, in tool calls if they were tested; then what was to be tested and could not be."""
    return next((verdict.facets[name].reason for name in _ORDER if verdict.facets[name].status == "matches"), "")


def _lacking(verdict: Verdict, label: str, reaches: Sequence[Reach]) -> str:
    """The facets that lack data at a vendor, with the first reason that no more samples would mend, or their number."""
    lacking = [name for name in _ORDER if verdict.facets[name].status == "not_tested"]
    found = [
        each for each in reaches if each.vendor == label and not each.enough and each.meant and each.facet in lacking
    ]
    names = listed([name.replace("_", " ") for name in _ORDER if name in {each.facet for each in found}], len(_ORDER))
    cause = next((each.text for each in found if each.needed is None), None)
    if not found:
        return verdict.reason
    if cause is not None:
        return f"{names} not tested ({cause})."
    return f"{names} not tested; about {max(each.needed or 0 for each in found)} samples would do."


def _tally(status: Sequence[Status]) -> str:
    number = Counter(status)
    return ", ".join(f"{number[each]} {words[number[each] > 1]}" for each, words in _WORDS.items() if number[each])


def _scores(results: Mapping[str, VendorResult]) -> list[str]:
    """A sentence for each evaluation, with its main scores, best first."""
    found = []
    for suite in dict.fromkeys(name for result in results.values() for name in result.suites):
        scores = {label: each.suites[suite].score for label, each in results.items() if suite in each.suites}
        known = sorted((-score, label) for label, score in scores.items() if score is not None)
        if known:
            found.append(f"{suite}: {listed([f'{label} {-score:.3g}' for score, label in known], MOST_NAMED)}.")
    return found
