"""The judgement of a check: a run, its gates and the history before it become a status, an exit code and a few lines.

A check fails where a vendor differs or is down, where a facet of a vendor is worse than the last time it was tested,
where a gate fails, and where a figure got worse for good. Everything else is said and fails nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import pandas as pd

from vendor_verifier.features.history.trends import Trend, trends
from vendor_verifier.records.results import FACETS, WORST_FIRST, FacetName, GateResult, Report, Status
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.text import counted, listed

CheckStatus = Literal["passed", "failed", "incomplete", "interrupted", "error"]
MOST_LINES = 10
_WORDS: Mapping[Status, str] = {
    "matches": "matches",
    "check": "to check",
    "differs": "differs",
    "down": "down",
    "not_tested": "not tested",
}
_TESTED = ("down", "differs", "check", "matches")


class FacetChange(msgspec.Struct, frozen=True):
    """A facet of a vendor in a run that does not match, or matches again.

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
        """Whether it is worse than the last time it was tested."""
        return self.before is not None and WORST_FIRST.index(self.after) < WORST_FIRST.index(self.before)


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check; ``check.json`` and the webhook's document are this value.

    ``headline`` and ``lines`` are what is printed. ``verdicts`` are model → label → status, ``recommended`` the choice
    by model. ``error`` is why nothing could be checked.
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
    recommended: Mapping[str, tuple[str, ...]] = {}
    verdicts: Mapping[str, Mapping[str, Status]] = {}
    changes: tuple[FacetChange, ...] = ()
    gates: tuple[GateResult, ...] = ()
    trends: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()


def judge_check(
    report: Report,
    history: pd.DataFrame,
    *,
    folder: str,
    figures: Sequence[str],
    unfinished: Sequence[str] = (),
    signal_number: int | None = None,
    warnings: Sequence[str] = (),
) -> CheckResult:
    """The result of the check of a scored run, which ends the ``history``.

    ``figures`` are watched for trends, ``unfinished`` are sentences on vendors that the run did not finish. An
    interrupted run is not judged, because it lacks part of the samples.
    """
    found: dict[str, Any] = {"run": report.run, "folder": folder, "warnings": tuple(warnings)}
    if signal_number is not None:
        headline = f"check interrupted (run {report.run})"
        return CheckResult(status="interrupted", exit_code=128 + signal_number, headline=headline, **found)
    until = history.iloc[: int(history["run"].eq(report.run).to_numpy().nonzero()[0].max()) + 1]
    changes, watched = facet_changes(until, report.run), trends(until, figures) if report.complete else []
    verdicts = {
        model: {label: vendor.verdict.status for label, vendor in result.vendors.items() if not vendor.is_baseline}
        for model, result in report.models.items()
    }
    bad = [change for change in changes if change.is_worse or change.after in ("down", "differs")]
    worse = [trend for trend in watched if trend.verdict == "regression"]
    missed = [gate for gate in report.gates if gate.outcome == "failed"]
    status: CheckStatus = "failed" if bad or worse or missed else "incomplete" if unfinished else "passed"
    name = _names(report)
    words = [_failing(vendor, bad, name) for vendor in dict.fromkeys((each.model, each.label) for each in bad)]
    for vendor in dict.fromkeys((trend.model, trend.label) for trend in worse):
        its = [trend.figure for trend in worse if (trend.model, trend.label) == vendor]
        words.append(f"{name[vendor]} got worse ({listed(its)})")
    words += [f"{counted(len(missed), 'gate')} failed"] if missed else []
    words += [f"{counted(len(unfinished), 'vendor')} incomplete"] if unfinished else []
    words = words if status == "failed" else [*words, *_summary(report, changes, name)]
    lines = [
        *(_change_line(change, name) for change in bad),
        *(f"{name[trend.model, trend.label]}: {trend.figure} got worse: {trend.reason}." for trend in worse),
        *(f"{name[gate.model, gate.vendor]}: gate {gate.text} failed: {gate.reason}" for gate in missed),
        *(f"incomplete: {words}" for words in unfinished),
        *(_change_line(change, name) for change in changes if change.after == "matches"),
        *(f"{name[one.model, one.label]}: {one.figure}: {one.reason}." for one in watched if one.verdict == "warning"),
        *_undecided(report.gates, name),
        *_renamed(until, report.run, name),
        *(f"warning: {words}" for words in warnings),
    ]
    # What was so the last time, too, is in the headline; the lines repeat it only beside a failure.
    if status == "failed":
        lines += [_change_line(change, name) for change in changes if change.after == "check" and change not in bad]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], f"{len(lines) - MOST_LINES + 1} more lines are in check.json"]
    return CheckResult(
        status=status,
        exit_code={"failed": 1, "incomplete": 3}.get(status, 0),
        headline=plain(f"check {status}: {', '.join(words)} (run {report.run})", MAX_SENTENCE),
        lines=tuple(plain(line, MAX_SENTENCE) for line in lines),
        recommended={
            model: result.choice.labels
            for model, result in report.models.items()
            if result.choice.kind == "recommended"
        },
        verdicts=verdicts,
        changes=tuple(changes),
        gates=report.gates,
        trends=tuple(
            {name: getattr(trend, name) for name in ("model", "label", "figure", "verdict", "reason")}
            for trend in watched
        ),
        **found,
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


def _names(report: Report) -> dict[tuple[str, str], str]:
    """(model, label) → the label, with its model where there are several."""
    return {
        (model, label): label if len(report.models) == 1 else f"{model} / {label}"
        for model, result in report.models.items()
        for label in result.vendors
    }


def _failing(vendor: tuple[str, str], bad: Sequence[FacetChange], name: Mapping[tuple[str, str], str]) -> str:
    """``HonestAPI to check (speed, matched before)``; the facets with the vendor's worst status."""
    its = [change for change in bad if (change.model, change.label) == vendor]
    worst = [change for change in its if change.after == its[0].after]
    before = {change.before for change in worst if change.is_worse}
    since = "".join(f", {_WORDS[status]} before" for status in before if status) if len(before) == 1 else ""
    return f"{name[vendor]} {_WORDS[its[0].after]} ({listed([_facet(change.facet) for change in worst])}{since})"


def _summary(report: Report, changes: Sequence[FacetChange], name: Mapping[tuple[str, str], str]) -> list[str]:
    """``3 vendors match``, ``1 to check (slow: speed since RUN)``, ``1 not tested (other: This machine was busy)``."""
    found: dict[Status, list[str]] = {"matches": [], "check": [], "not_tested": []}
    for model, result in report.models.items():
        for label, vendor in result.vendors.items():
            status, who = vendor.verdict.status, name[model, label]
            if status == "check":
                its = [change for change in changes if (change.model, change.label, change.after) == (model, label, status)]
                found[status].append(f"{who}: {listed([f'{_facet(each.facet)} since {each.since}' for each in its])}")
            elif status in found:
                found[status].append(f"{who}: {plain(vendor.verdict.reason, 100).rstrip('.')}")
    match = len(found["matches"])
    words = [f"{counted(match, 'vendor')} {'matches' if match == 1 else 'match'}"]
    for status in ("check", "not_tested"):
        if its := found[status]:
            words.append(f"{len(its)} {_WORDS[status]} ({'; '.join(its[:2])}{'; …' if len(its) > 2 else ''})")
    return words


def _change_line(change: FacetChange, name: Mapping[tuple[str, str], str]) -> str:
    who, now = f"{name[change.model, change.label]}: {_facet(change.facet)}", _WORDS[change.after]
    before = f"{_WORDS[change.before]} before" if change.before else "first tested in this run"
    since = f"since {change.since}, {counted(change.runs, 'run')}" if change.runs > 1 else before
    return f"{who} {now} ({since}): {change.reason}"


def _undecided(gates: Sequence[GateResult], name: Mapping[tuple[str, str], str]) -> list[str]:
    """One line on all gates that these samples cannot decide."""
    found: dict[str, list[str]] = {}
    for gate in gates:
        if gate.outcome == "not_decided":
            found.setdefault(gate.text, []).append(name[gate.model, gate.vendor])
    return [f"gates not decided: {'; '.join(f'{text} ({listed(its)})' for text, its in found.items())}"] if found else []


def _renamed(history: pd.DataFrame, run: str, name: Mapping[tuple[str, str], str]) -> list[str]:
    """Vendors whose answers name other models than in the last run that named any."""
    named = history[history["served_models"].map(bool)]
    lines = []
    for (model, label), rows in named.groupby(["model", "label"], sort=False):
        if rows["run"].iloc[-1] == run and len(rows) > 1:
            before, after = rows["served_models"].iloc[-2:]
            if before != after:
                lines.append(f"{name[model, label]}: answers name {listed(after)}; before {listed(before)}")
    return lines


def _facet(name: str) -> str:
    return name.replace("_", " ")
