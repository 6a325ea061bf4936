"""The verdict on every vendor of a model, and the first line: docs/verdict.md has the rules."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vendor_verifier.findings import bill, calls, model, probes, reliability, speed
from vendor_verifier.findings.base import CERTAIN, LEVEL, ModelRun, Reach, Test, main_failure
from vendor_verifier.records.results import (
    FACETS,
    WORST_FIRST,
    Choice,
    ChoiceKind,
    Facet,
    FacetName,
    Finding,
    Status,
    VendorResult,
    Verdict,
)
from vendor_verifier.stats.compare import holm
from vendor_verifier.text import listed

# By what they are about; the earlier one is named where two findings weigh the same.
_TESTS = (
    model.TESTS, probes.TESTS, calls.TESTS, (calls.scores,), bill.TESTS, reliability.TESTS, speed.TESTS,
)  # fmt: skip
# Facts need no baseline.
_FACTS = {*model.TESTS, *bill.TESTS, reliability.down}


@dataclass(frozen=True)
class ModelVerdict:
    """The findings on a model's vendors, worst first, the verdicts by label, and the advice."""

    findings: tuple[Finding, ...]
    verdicts: Mapping[str, Verdict]
    choice: Choice


def judge(run: ModelRun, results: Mapping[str, VendorResult]) -> ModelVerdict:
    """The verdict on every vendor; ``results`` are for the advice."""
    findings = _findings(run)
    reaches = {label: reaches_of(run, label) for label in run.vendors}
    reason = "; ".join(fault.reason for fault in run.faults) or "the reference of the others"
    reference = Verdict("reference", reason, {name: Facet(status="reference", reason=reason) for name in FACETS})
    verdicts = dict.fromkeys(run.labels, reference)
    for label in run.vendors:
        verdicts[label] = _verdict([each for each in findings if each.vendor == label], reaches[label])
    return ModelVerdict(tuple(findings), verdicts, choice_of(run, results, verdicts, reaches))


def every_test(run: ModelRun) -> Iterator[tuple[str, Test]]:
    """Every vendor's facts and tests, with its label."""
    for group in _TESTS:
        for label in run.vendors:
            for each in group:
                if (run.baseline or each in _FACTS) and not (run.diagnostics.empty and each in probes.TESTS):
                    yield from ((label, test) for test in each(run, label))


def reaches_of(run: ModelRun, label: str) -> Mapping[FacetName, Sequence[Reach]]:
    """What would have been found at a vendor, by facet. Each evaluation has its reach; probes have one if asked."""
    of_probes = probes.reach(run, label)
    return {
        "model": [model.reach(run, label), *([] if of_probes is None else [of_probes])],
        "tool_calls": [calls.reach(run, label), *calls.score_reaches(run, label)],
        "bill": [bill.reach(run, label)],
        "reliability": [reliability.reach(run, label)],
        "speed": [speed.reach(run, label)],
    }


def _findings(run: ModelRun) -> list[Finding]:
    """All facts, and the tests whose p-value, corrected within the facet, is at most 1 %; worst first."""
    # Where the baseline is not one model even a difference from it says nothing.
    untested = {facet for fault in run.faults if fault.is_sure for facet in fault.facets}
    tests = [(label, test) for label, test in every_test(run) if test.p_value is None or test.facet not in untested]
    found = [_finding(run, label, test, test.status, None) for label, test in tests if test.p_value is None]
    for facet in FACETS:
        family = [each for each in tests if each[1].facet == facet and each[1].p_value is not None and each[1].counts]
        for (label, test), p_value in zip(family, holm([test.p_value or 0.0 for _, test in family]), strict=True):
            if p_value <= LEVEL:
                differs = p_value <= CERTAIN and test.beyond and facet != "speed"
                found.append(_finding(run, label, test, "differs" if differs else "check", p_value))
    return sorted(found, key=lambda each: (WORST_FIRST.index(each.status), each.p_value or 0.0))


def _finding(run: ModelRun, label: str, test: Test, status: Status, p_value: float | None) -> Finding:
    words = ["agent-vendor-verifier", "explain", run.run, "--vendor", label, "--facet", test.facet]
    return Finding(
        model=run.model, vendor=label, facet=test.facet, name=test.name, status=status, text=test.text,
        p_value=p_value, value=test.value, low=test.low, high=test.high, n=test.n, samples=test.samples,
        command=shlex.join(words),
    )  # fmt: skip


def _verdict(findings: Sequence[Finding], reaches: Mapping[FacetName, Sequence[Reach]]) -> Verdict:
    """The worst facet that counts: an untested bill and a facet that the run did not mean to measure do not."""
    facets: dict[FacetName, Facet] = {}
    counted: list[FacetName] = []
    for name in FACETS:
        seen = [each for each in findings if each.facet == name and each.status != "matches"]
        facets[name] = _facet(name, seen, reaches[name])
        untested = facets[name].status == "not_tested"
        if not (untested and (name == "bill" or not any(reach.meant for reach in reaches[name]))):
            counted.append(name)
    if not counted:
        return Verdict("not_tested", "No facet of this run is compared with a baseline.", facets)
    worst = min(counted, key=lambda name: WORST_FIRST.index(facets[name].status))
    status, reason = facets[worst].status, facets[worst].reason
    if status == "matches":
        reason = "No difference from the baseline was found."
    elif status == "not_tested":
        same = [name for name in counted if reason.rstrip(".") in facets[name].reason]
        names = [name.replace("_", " ") for name in same]
        reason = f"{listed(names, 5).capitalize()} not tested: {reason}"
    return Verdict(status, reason, facets)


def _facet(name: FacetName, findings: Sequence[Finding], reaches: Sequence[Reach]) -> Facet:
    """The worst finding; without any what would have been found, or why the facet is not tested.

    Every comparison of a facet needs its reach; of the model's either answers or probes will do.
    """
    if findings:
        worst = findings[0]
        return Facet(
            status=worst.status, reason=worst.text, p_value=worst.p_value, value=worst.value, low=worst.low,
            high=worst.high, n=worst.n, samples=worst.samples, command=worst.command,
        )  # fmt: skip
    meant = [reach for reach in reaches if reach.meant] or list(reaches)
    lacking = [reach for reach in meant if not reach.enough]
    enough = len(lacking) < len(meant) if name == "model" else not lacking
    shown = next(reach for reach in meant if reach.enough) if enough else lacking[0]
    if enough and shown.meant:
        return Facet(status="matches", reason=shown.text, n=shown.n)
    needed = f"; about {shown.needed} would do" if shown.needed else ""
    return Facet(status="not_tested", reason=f"{shown.text.rstrip('.')}{needed}.", n=shown.n)


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
    run: ModelRun,
    results: Mapping[str, VendorResult],
    verdicts: Mapping[str, Verdict],
    reaches: Mapping[str, Mapping[FacetName, Sequence[Reach]]],
) -> Choice:
    """The advice on a model, from the verdicts on its vendors."""
    status = {label: verdicts[label].status for label in sorted(run.vendors)}
    answered = set(run.records["label"][run.records["ok"]]) | set(run.diagnostics["label"])
    matching = tuple(label for label, each in status.items() if each == "matches")
    untested = [label for label, each in status.items() if each == "not_tested" and label in answered]
    open_to = tuple(label for label in untested if not reliability.failed_more(run, label))
    others = _tally([each for label, each in status.items() if label not in (matching or open_to)])
    kind: ChoiceKind = "none"
    labels: tuple[str, ...] = ()
    if not status:
        kind, text = "no_vendors", "Only the baseline was asked."
    elif run.baseline is not None and run.baseline not in answered and answered:
        kinds, remedy = main_failure(run.reference)
        text = f"The baseline {run.baseline} answered nothing{kinds}: nothing was compared. {remedy}"
        return Choice("none", (), text)
    elif not len(run.records) and matching:
        # Probes and checks of features test neither reliability nor speed.
        kind, labels, text = "undecided", matching, f"Nothing was found against {listed(matching, MOST_NAMED)}{others}"
        text += "; reliability and speed were not tested."
    elif matching:
        alone = "it matches" if len(status) == 1 else f"the only one of {len(status)} vendors that matches"
        text = f"Choose {listed(matching, MOST_NAMED)}: {'they match' if len(matching) > 1 else alone} the baseline "
        text += f"{run.baseline}{others}{_best(run, matching)}."
        facets = verdicts[matching[0]].facets
        # What would have been seen, in tool calls if they were tested.
        seen = next((facets[name].reason for name in _ORDER if facets[name].status == "matches"), "")
        kind, labels, text = "recommended", matching, f"{text} {seen}".strip()
    elif not answered.intersection(status):
        first = next(iter(status))
        who = f"No vendor but the baseline {run.baseline}" if run.baseline in answered else "No vendor"
        which = first if len(status) == 1 else f"One of {len(status)}, {first}"
        kind, text = "nobody_answered", f"{who} answered. {which}: {verdicts[first].reason}"
    elif open_to:
        lacking = _lacking(verdicts[open_to[0]], reaches[open_to[0]])
        kind, labels, text = "undecided", open_to, f"Nobody can be recommended yet{others}: "
        text += f"{lacking[:1].lower()}{lacking[1:]}"
        if run.baseline is not None and len(run.records):
            text += f" So far nothing was found against {listed(open_to, MOST_NAMED)}."
    elif run.baseline is None:
        text = f"No vendor can be recommended{others}."
    else:
        text = f"No vendor matches the baseline {run.baseline}{others}."
    unsound = [f"{fault.reason[:1].upper()}{fault.reason[1:]}." for fault in run.faults]
    return Choice(kind, labels, " ".join([text, *unsound, *_scores(results)]))


def _best(run: ModelRun, matching: Sequence[str]) -> str:
    """The cheapest and, by a tenth, the fastest of several."""
    prices = {label: run.money[label].per_1000_requests_usd for label in matching if label in run.money}
    seconds = {label: float(run.rows[label]["e2e_ms"].median()) for label in matching}
    parts = []
    for word, figures in (("cheapest", prices), ("fastest", seconds)):
        known = {label: figure for label, figure in figures.items() if figure is not None and figure == figure}
        first, second = sorted(known.values())[:2] if len(known) == len(matching) > 1 else (1.0, 1.0)
        # Times differ by some per cent by chance; prices do not.
        if first < (0.9 if word == "fastest" else 1.0) * second:
            parts.append(f"; {word}: {min(known, key=lambda label: (known[label], label))}")
    return "".join(parts)


def _lacking(verdict: Verdict, reaches: Mapping[FacetName, Sequence[Reach]]) -> str:
    """The facets that lack data, with the first reason that more samples would not fix, or the number needed."""
    lacking = [name for name in _ORDER if verdict.facets[name].status == "not_tested"]
    found = [
        (name, each) for name in FACETS if name in lacking for each in reaches[name] if each.meant and not each.enough
    ]
    cause = next((each.text for _, each in found if each.needed is None), None)
    caused = {name for name, each in found if (cause or "") in each.text}
    names = listed([name.replace("_", " ") for name in _ORDER if name in caused], len(_ORDER))
    if not found:
        return verdict.reason
    if cause is not None:
        return f"{names} not tested ({cause})."
    return f"{names} not tested; about {max(each.needed or 0 for _, each in found)} samples would do."


def _tally(status: Sequence[Status]) -> str:
    number = Counter(status)
    found = ", ".join(f"{number[each]} {words[number[each] > 1]}" for each, words in _WORDS.items() if number[each])
    return f" ({found})" if found else ""


def _scores(results: Mapping[str, VendorResult]) -> list[str]:
    """A sentence for each evaluation, with its main scores, worst first."""
    found = []
    for suite in dict.fromkeys(name for result in results.values() for name in result.suites):
        scores = {label: each.suites[suite].score for label, each in results.items() if suite in each.suites}
        known = sorted((score, label) for label, score in scores.items() if score is not None)
        if known:
            found.append(f"{suite}: {listed([f'{label} {score:.3g}' for score, label in known], MOST_NAMED)}.")
    return found
