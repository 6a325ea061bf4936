"""A check: a scored run and the history before it become a status, an exit code and a few lines.

A check fails where a vendor differs or is down, where a facet of a vendor is worse than when it was last tested, where
a gate fails, and where a figure got worse for good. Everything else is shown and fails nothing.
Around it: one check at a time, old run folders that are deleted, and a webhook.
"""

from __future__ import annotations

import html
import logging
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import filelock
import httpx2
import msgspec
import pandas as pd

from vendor_verifier.errors import RunFolderError, StorageError, UsageError
from vendor_verifier.features.history.trends import Trend, trends
from vendor_verifier.pipeline.run import RunOutcome, unfinished_vendors
from vendor_verifier.records.results import FACETS, WORST_FIRST, FacetName, GateResult, Report, Status
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.reports.junit import Regression
from vendor_verifier.store import FILE_MODE, FOLDER_MODE, RunFolder
from vendor_verifier.text import counted, listed
from vendor_verifier.transport.proxies import is_loopback, proxy_for

CheckStatus = Literal["passed", "failed", "incomplete", "interrupted", "error"]
MOST_LINES = 10
_WORDS: dict[str, str] = {**{status: status for status in WORST_FIRST}, "check": "to check", "not_tested": "not tested"}
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
        """Whether it is worse than when last tested; a first *differs* or *down* counts as worse."""
        before = self.before or "check"
        return WORST_FIRST.index(self.after) < WORST_FIRST.index(before)


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a check; ``check.json`` and the webhook's document are this value.

    ``headline`` and ``lines`` are what is printed. ``trends`` are those with a change.
    """

    schema: int = 2
    status: CheckStatus
    exit_code: int
    headline: str
    lines: tuple[str, ...] = ()
    run: str | None = None
    folder: str | None = None
    changes: tuple[FacetChange, ...] = ()
    gates: tuple[GateResult, ...] = ()
    trends: tuple[Trend, ...] = ()

    @property
    def regressions(self) -> list[Regression]:
        """What fails by the history alone; *differs* and *down* fail by the verdict."""
        facets = [each for each in self.changes if each.is_worse and each.after == "check"]
        figures = [each for each in self.trends if each.verdict == "regression"]
        return [
            *(Regression(each.model, each.label, each.facet, each.reason) for each in facets),
            *(Regression(each.model, each.label, each.figure, each.reason) for each in figures),
        ]


def judge_check(
    outcome: RunOutcome, history: pd.DataFrame, figures: Sequence[str], warnings: Sequence[str] = ()
) -> CheckResult:
    """The result of the check of a run that the ``history`` holds; ``figures`` are watched for trends.

    An interrupted run is not judged, because it lacks part of the samples.
    """
    report, at = outcome.report, f"(run {outcome.report.run})"
    found: dict[str, Any] = {"run": report.run, "folder": str(outcome.folder.path)}
    if outcome.signal_number is not None:
        code, headline = 128 + outcome.signal_number, f"check interrupted {at}"
        return CheckResult(status="interrupted", exit_code=code, headline=headline, **found)
    vendors = unfinished_vendors(outcome)
    unfinished = [sentence for _, sentence in vendors]
    unfinished += [] if outcome.limit is None else [outcome.limit]
    until = history.iloc[: int(history["run"].eq(report.run).to_numpy().nonzero()[0].max(initial=-1)) + 1]
    changes = facet_changes(until, report.run)
    watched = trends(until, figures) if report.complete else []
    names = vendor_names((model, label) for model, result in report.models.items() for label in result.vendors)
    bad = [change for change in changes if change.is_worse or change.after in ("down", "differs")]
    worse = [trend for trend in watched if trend.verdict == "regression"]
    missed = [gate for gate in report.gates if gate.outcome == "failed"]
    status: CheckStatus = "failed" if bad or worse or missed else "incomplete" if unfinished else "passed"
    troubles: dict[str, list[str]] = {}
    for change in bad:
        troubles.setdefault(names[change.model, change.label], []).append(_status(change))
    for trend in worse:
        troubles.setdefault(names[trend.model, trend.label], []).append(f"{trend.figure} got worse")
    words = [f"{name} ({listed(its)})" for name, its in troubles.items()]
    words += [f"{counted(len(missed), 'gate')} failed"] if missed else []
    words += [f"{counted(len(dict(vendors)), 'vendor')} incomplete"] if vendors else []
    words += _summary(report, changes, names) if status != "failed" else []
    # Where the check passed, the headline names who is still to be looked at; here they follow what failed.
    rest = [each for each in changes if each not in bad and (each.after == "matches" or status == "failed")]
    undecided = list(dict.fromkeys(gate.text for gate in report.gates if gate.outcome == "not_decided"))
    lines = [
        *(change_line(change, names) for change in bad),
        *(f"{names[each.model, each.label]}: {each.figure} got worse: {each.reason}." for each in worse),
        *(f"{names[gate.model, gate.vendor]}: gate {gate.text} failed: {gate.reason}" for gate in missed),
        *(f"incomplete: {sentence}" for sentence in unfinished),
        *(change_line(change, names) for change in rest),
        *([f"gates not decided by so few samples: {listed(undecided)}"] if undecided else []),
        *(f"warning: {sentence}" for sentence in warnings),
    ]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], f"{len(lines) - MOST_LINES + 1} more lines are in check.json"]
    return CheckResult(
        status=status,
        exit_code={"failed": 1, "incomplete": 3}.get(status, 0),
        headline=plain(f"check {status}: {', '.join(words)} {at}", MAX_SENTENCE),
        lines=tuple(plain(line, MAX_SENTENCE) for line in lines),
        **found,
        changes=tuple(changes),
        gates=report.gates,
        trends=tuple(trend for trend in watched if trend.verdict not in ("steady", "too_few_runs")),
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
    return f"{names[change.model, change.label]}: {_status(change)} ({since}): {change.reason}"


def _status(change: FacetChange) -> str:
    return f"{change.facet.replace('_', ' ')} {_WORDS[change.after]}"


def _summary(report: Report, changes: Sequence[FacetChange], names: Names) -> list[str]:
    """``3 vendors match``, ``1 to check (slow: speed since RUN)``, ``1 not tested (other: This machine was busy)``."""
    found: dict[str, list[str]] = {"matches": [], "check": [], "not_tested": []}
    for model, result in report.models.items():
        for label, vendor in result.vendors.items():
            status, why = vendor.verdict.status, plain(vendor.verdict.reason, 200).rstrip(".")
            if status == "check":
                own = [change for change in changes if (change.model, change.label) == (model, label)]
                since = {change.facet: "this run" if change.runs == 1 else change.since for change in own}
                why = listed([f"{facet.replace('_', ' ')} since {run}" for facet, run in since.items()])
            if status in found:
                found[status].append(f"{names[model, label]}: {why}")
    match = len(found.pop("matches"))
    words = [f"{match} vendor matches" if match == 1 else f"{match} vendors match"]
    for name, its in found.items():
        words += [f"{len(its)} {_WORDS[name]} ({'; '.join(its[:2])}{'; …' if len(its) > 2 else ''})"] if its else []
    return words


def only_check(runs: Path) -> AbstractContextManager[Any]:
    """The lock under ``runs``, held, that keeps a second check out while one is running.

    Raises:
        RunFolderError: another check is running.
        StorageError: the folder cannot be written.
    """
    try:
        runs.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        return filelock.FileLock(runs / ".check.lock", timeout=0, mode=FILE_MODE).acquire()
    except filelock.Timeout:
        raise RunFolderError(f"another check is running in {runs}/; this one sent nothing") from None
    except OSError as error:
        raise StorageError(f"cannot lock {runs}: {error.strerror or error}") from None


def clear_old_runs(history: pd.DataFrame, runs: Path, limit: datetime, *, keep: Path) -> list[str]:
    """Delete the folders of runs of the history that began before ``limit``; a sentence on each that could not be.

    Their figures stay in the history. Only folders directly under ``runs``, no imported ones, and not ``keep``.
    """
    troubles = []
    for run, folder in set(history.loc[history["at"] < limit, ["run", "folder"]].itertuples(index=False, name=None)):
        path = Path(folder)
        if path.parent == runs.resolve() and path != keep.resolve():
            try:
                manifest = RunFolder(path).read_manifest()
                if manifest.run == run and manifest.status in ("finished", "interrupted"):
                    shutil.rmtree(path)
            except RunFolderError:
                continue
            except OSError as error:
                troubles.append(f"the old run {path} cannot be deleted: {error.strerror or error}")
    return troubles


def check_webhook(address: str, name: str) -> None:
    """Refuse an address, found under ``name``, that is not https (or http on loopback), or holds a user name.

    Raises:
        UsageError: the message does not repeat the address, because many hold a token.
    """
    try:
        parts = httpx2.URL(address)
    except httpx2.InvalidURL:
        parts = httpx2.URL("")
    if not parts.host or parts.userinfo:
        raise UsageError(f"{name} is not a web address; expected https://… without a user name")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.host)):
        raise UsageError(f"{name} must begin with https:// (or http:// on loopback)")


def post(address: str, result: CheckResult) -> str | None:
    """Send the result to a webhook; None, or one sentence on the failure, without the address.

    Slack takes a text, in which a stranger's can neither mention anybody nor be a link; others the whole as JSON. No
    redirect is followed, nothing is sent twice, and only the status of the answer is read.
    """
    # They would log the address, which often holds a token.
    for name in ("httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    url, proxy = httpx2.URL(address), proxy_for(address)
    text = html.escape("\n".join([result.headline, *result.lines]), quote=False)
    is_slack = url.host == "hooks.slack.com"
    who = f"the webhook at {url.scheme}://{url.host}"
    try:
        with httpx2.stream(
            "POST",
            url,
            content=msgspec.json.encode({"text": text, "mrkdwn": False} if is_slack else result),
            headers={"content-type": "application/json"},
            proxy=None if proxy is None else proxy.url,
            trust_env=False,
            verify=httpx2.create_ssl_context(),
            timeout=10,
        ) as answer:
            return None if answer.is_success else f"{who} answered {answer.status_code}"
    except Exception as error:  # noqa: BLE001 - it must not change the exit code, and some messages quote the address
        return f"{who} cannot be reached ({type(error).__name__})"
