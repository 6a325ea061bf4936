"""The judgement of a check: a scored run and the history before it become a status, an exit code and a few lines.

A check fails where a vendor differs or is down, where a facet of a vendor is worse than when it was last tested, where
a gate fails, and where a figure got worse for good. Everything else is shown and fails nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import pandas as pd

from vendor_verifier.features.history.trends import trends
from vendor_verifier.records.results import FACETS, WORST_FIRST, FacetName, GateResult, Report, Status
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.text import counted, listed

CheckStatus = Literal["passed", "failed", "incomplete", "interrupted", "error"]
MOST_LINES = 10
_WORDS: Mapping[str, str] = {
    **{status: status for status in WORST_FIRST},
    "check": "to check",
    "not_tested": "not tested",
}
_TESTED = ("down", "differs", "check", "matches")
Names = Mapping[tuple[str, str], str]


class FacetChange(msgspec.Struct, frozen=True):
    """A facet of a vendor that does not match the baseline, or matches again.

    ``before`` is its status when it was last tested, None if it never was. It has had this status since the run
    ``since``, in ``runs`` runs that tested it.
    """

    model: str
    label: str
    facet: FacetName
    before: Status | None
    after: Status
    reason: str
    since: str
    runs: int

    @property
    def is_worse(self) -> bool:
        """Whether it is worse than when it was last tested."""
        return self.before is not None and WORST_FIRST.index(self.after) < WORST_FIRST.index(self.before)


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check; ``check.json`` and the webhook's document are this value.

    ``headline`` and ``lines`` are what is printed; ``verdicts`` are model → label → status; ``error`` is why nothing
    could be checked.
    """

    schema: int = 2
    tool: str = "agent-vendor-verifier"
    status: CheckStatus
    exit_code: int
    headline: str
    lines: tuple[str, ...] = ()
    run: str | None = None
    folder: str | None = None
    error: str | None = None
    verdicts: Mapping[str, Mapping[str, Status]] = {}
    changes: tuple[FacetChange, ...] = ()
    gates: tuple[GateResult, ...] = ()
    trends: tuple[Mapping[str, Any], ...] = ()


def judge_check(
    report: Report,
    history: pd.DataFrame,
    *,
    figures: Sequence[str],
    folder: str = "",
    unfinished: Sequence[str] = (),
    signal_number: int | None = None,
    warnings: Sequence[str] = (),
) -> CheckResult:
    """The result of the check of a run, which the ``history`` holds.

    ``figures`` are watched for trends, ``unfinished`` are sentences on vendors that the run did not finish. An
    interrupted run is not judged, because it lacks part of the samples.
    """
    at = f"(run {report.run})"
    if signal_number is not None:
        headline, code = f"check interrupted {at}", 128 + signal_number
        return CheckResult(status="interrupted", exit_code=code, headline=headline, run=report.run, folder=folder)
    until = history.iloc[: int(history["run"].eq(report.run).to_numpy().nonzero()[0].max(initial=-1)) + 1]
    changes = facet_changes(until, report.run)
    watched = trends(until, figures) if report.complete else []
    names = vendor_names((model, label) for model, result in report.models.items() for label in result.vendors)
    bad = [change for change in changes if change.is_worse or change.after in ("down", "differs")]
    worse = [trend for trend in watched if trend.verdict == "regression"]
    missed = [gate for gate in report.gates if gate.outcome == "failed"]
    status: CheckStatus = "failed" if bad or worse or missed else "incomplete" if unfinished else "passed"
    words = [_failing(vendor, bad, names) for vendor in dict.fromkeys((each.model, each.label) for each in bad)]
    for vendor in dict.fromkeys((trend.model, trend.label) for trend in worse):
        its = [trend.figure for trend in worse if (trend.model, trend.label) == vendor]
        words.append(f"{names[vendor]} got worse ({listed(its)})")
    words += [f"{counted(len(missed), 'gate')} failed"] if missed else []
    words += [f"{counted(len(unfinished), 'vendor')} incomplete"] if unfinished else []
    words += _summary(report, changes, names) if status != "failed" else []
    undecided = dict.fromkeys(gate.text for gate in report.gates if gate.outcome == "not_decided")
    lines = [
        *(change_line(change, names) for change in bad),
        *(f"{names[each.model, each.label]}: {each.figure} got worse: {each.reason}." for each in worse),
        *(f"{names[gate.model, gate.vendor]}: gate {gate.text} failed: {gate.reason}" for gate in missed),
        *(f"incomplete: {sentence}" for sentence in unfinished),
        *(change_line(each, names) for each in changes if each.after == "matches"),
        # Beside a failure; in a check that passed the headline names them.
        *(
            change_line(each, names)
            for each in changes
            if each.after == "check" and each not in bad and status == "failed"
        ),
        *(f"{names[one.model, one.label]}: {one.figure}: {one.reason}." for one in watched if one.verdict == "warning"),
        *([f"gates not decided by so few samples: {listed(list(undecided))}"] if undecided else []),
        *(f"warning: {sentence}" for sentence in warnings),
    ]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], f"{len(lines) - MOST_LINES + 1} more lines are in check.json"]
    return CheckResult(
        status=status,
        exit_code={"failed": 1, "incomplete": 3}.get(status, 0),
        headline=plain(f"check {status}: {', '.join(words)} {at}", MAX_SENTENCE),
        lines=tuple(plain(line, MAX_SENTENCE) for line in lines),
        run=report.run,
        folder=folder,
        verdicts={
            model: {label: vendor.verdict.status for label, vendor in result.vendors.items()}
            for model, result in report.models.items()
        },
        changes=tuple(changes),
        gates=report.gates,
        trends=tuple(
            {name: getattr(trend, name) for name in ("model", "label", "figure", "verdict", "reason")}
            for trend in watched
        ),
    )


def facet_changes(history: pd.DataFrame, run: str) -> list[FacetChange]:
    """The facets of a run's vendors that do not match, or match again, worst first; ``history`` ends with the run."""
    found = []
    for row in history[history["run"] == run].to_dict("records"):
        is_vendor = (history["model"] == row["model"]) & (history["label"] == row["label"])
        earlier = history[is_vendor & (history["run"] != run)]
        for facet in FACETS:
            after = row[f"facets.{facet}"]
            tested = earlier[earlier[f"facets.{facet}"].isin(_TESTED)]
            known = list(tested[f"facets.{facet}"])
            before = known[-1] if known else None
            if after not in _TESTED or (after == "matches" and before in (None, "matches")):
                continue
            lasted = next((count for count, status in enumerate(reversed(known)) if status != after), len(known))
            since = tested["run"].iloc[-lasted] if lasted else run
            about = (row["model"], row["label"], facet, before, after, row[f"reasons.{facet}"])
            found.append(FacetChange(*about, since, lasted + 1))
    return sorted(found, key=lambda change: WORST_FIRST.index(change.after))


def vendor_names(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """(model, label) → the label, with its model where there are several."""
    found = list(dict.fromkeys(keys))
    several = len({model for model, _ in found}) > 1
    return {(model, label): f"{model} / {label}" if several else label for model, label in found}


def change_line(change: FacetChange, names: Names) -> str:
    """``slow: speed to check (matches before): First token 2.9 times slower …``."""
    before = f"{_WORDS[change.before]} before" if change.before else "first tested in this run"
    since = f"since {change.since}, {change.runs} runs" if change.runs > 1 else before
    who = f"{names[change.model, change.label]}: {_shown(change.facet)}"
    return f"{who} {_WORDS[change.after]} ({since}): {change.reason}"


def _failing(vendor: tuple[str, str], bad: Sequence[FacetChange], names: Names) -> str:
    """``slow to check (speed, matches before)``: the vendor's worst facets."""
    its = [change for change in bad if (change.model, change.label) == vendor]
    worst = [change for change in its if change.after == its[0].after]
    before = {change.before for change in worst if change.is_worse}
    since = f", {_WORDS[before.pop() or 'check']} before" if len(before) == 1 else ""
    return f"{names[vendor]} {_WORDS[worst[0].after]} ({listed([_shown(change.facet) for change in worst])}{since})"


def _summary(report: Report, changes: Sequence[FacetChange], names: Names) -> list[str]:
    """``3 vendors match``, ``1 to check (slow: speed since RUN)``, ``1 not tested (other: This machine was busy)``."""
    found: dict[str, list[str]] = {"matches": [], "check": [], "not_tested": []}
    for model, result in report.models.items():
        for label, vendor in result.vendors.items():
            status, why = vendor.verdict.status, plain(vendor.verdict.reason, 100).rstrip(".")
            if status == "check":
                own = [change for change in changes if (change.model, change.label) == (model, label)]
                why = listed([f"{_shown(change.facet)} since {change.since}" for change in own])
            if status in found:
                found[status].append(f"{names[model, label]}: {why}")
    match = len(found.pop("matches"))
    words = [f"{match} vendor matches" if match == 1 else f"{match} vendors match"]
    for name, its in found.items():
        words += [f"{len(its)} {_WORDS[name]} ({'; '.join(its[:2])}{'; …' if len(its) > 2 else ''})"] if its else []
    return words


def _shown(facet: str) -> str:
    return facet.replace("_", " ")
