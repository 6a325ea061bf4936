"""One scheduled check: a run, gates and trends over it, a post to a webhook, then old runs cleared.

The post to the webhook follows no redirect, retries nothing and reads only the status of the answer; its messages never
show the address, because many addresses hold a token.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import filelock
import httpx2
import msgspec
from msgspec import structs

from vendor_verifier import __version__
from vendor_verifier.errors import Problem, ProblemsError, RunFolderError, StorageError, UsageError, VerifierError
from vendor_verifier.features.history.database import read_runs, remember
from vendor_verifier.features.history.figures import metric_names
from vendor_verifier.features.history.regression import comparable, history_trends, identity_changes, runs_until
from vendor_verifier.gates.judge import decide, shows_no_outage
from vendor_verifier.pipeline.run import RunOutcome, unfinished_vendors
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.history import CheckResult, CheckStatus, HistoryRun, Trend
from vendor_verifier.records.judgement import Finding, Gate, GateVerdict, Threshold
from vendor_verifier.records.score import Report
from vendor_verifier.records.verdict import FAILING, VendorVerdict
from vendor_verifier.store import FILE_MODE, FOLDER_MODE, RunFolder
from vendor_verifier.transport.policy import HTTP_LOGGERS, silence
from vendor_verifier.transport.proxies import is_loopback, proxy_for
from vendor_verifier.words import english

_AGE = re.compile(r"(\d{1,5})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_EXIT_FAILED, _EXIT_INCOMPLETE, _SIGNAL_BASE = 1, 3, 128


@contextmanager
def only_check(runs: Path) -> Iterator[None]:
    """Hold the lock under ``runs`` that keeps a second check out while one goes on.

    Raises:
        RunFolderError: another check is going on.
        StorageError: the folder cannot be written.
    """
    try:
        runs.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        lock = filelock.FileLock(runs / ".check.lock", timeout=0, mode=FILE_MODE)
        lock.acquire()
    except filelock.Timeout:
        raise RunFolderError(f"another check is going on in {runs}/; this one asked nobody") from None
    except OSError as error:
        raise StorageError(f"cannot lock {runs}: {error.strerror or error}") from None
    try:
        yield
    finally:
        lock.release()


def read_age(text: str) -> timedelta:
    """The duration of a text such as ``90d``, ``12w`` or ``36h``.

    Raises:
        ProblemsError: anything else, and no time at all.
    """
    found = _AGE.fullmatch(text.strip())
    if found is None or not int(found.group(1)):
        raise ProblemsError([Problem(f"read {text!r}; expected days, weeks or hours, such as 90d", key="--keep")])
    return timedelta(**{_UNITS[found.group(2)]: int(found.group(1))})


def judge_check(
    outcome: RunOutcome, thresholds: Sequence[Gate], history: Path | None, fail_on: Sequence[str]
) -> CheckResult:
    """The result of a check of a run that has just been scored, which is added to the history first.

    A vendor that is not as sold or unusable fails it, with or without a history. An interrupted run is not judged,
    because it lacks part of the samples that thresholds are about. A history that cannot be read is never a reason to
    fail. ``fail_on`` are the figures to watch.
    """
    folder, report = outcome.folder, outcome.report
    notices = [] if (unkept := remember(folder, report, history)) is None else [unkept]
    gates = (
        tuple(
            (model, gate)
            for model, verdict in report.verdicts.items()
            for gate in verdict.gates
            if gate.threshold in thresholds
        )
        if outcome.signal_number is None
        else ()
    )
    trends: tuple[Trend, ...] = ()
    identity: tuple[tuple[str, Finding], ...] = ()
    if history is not None and outcome.signal_number is None:
        try:
            trends = history_trends(history, metrics=metric_names(fail_on), until=report.run)
            identity = identity_changes(history, report.run)
            gates = with_earlier_nights(gates, runs_until(history, report.run))
        except VerifierError as error:
            notices += [] if notices else [str(error)]
    unfinished = [words for _, words in unfinished_vendors(outcome)]
    unfinished += [outcome.limit] if outcome.limit is not None else []
    verdicts = _verdicts(report) if outcome.signal_number is None else ()
    failed = (
        any(verdict.status in FAILING for _, verdict in verdicts)
        or any(verdict.outcome == "FAIL" for _, verdict in gates)
        or any(trend.verdict == "regression" for trend in trends)
    )
    status, exit_code = _status(outcome, failed=failed, unfinished=bool(unfinished))
    return CheckResult(
        status=status,
        exit_code=exit_code,
        run=report.run,
        folder=str(folder.path),
        gates=gates,
        trends=trends,
        identity=identity,
        unfinished=tuple(unfinished),
        notices=tuple(notices),
        leaders={
            model: advice.choice.labels[0]
            for model, advice in report.advice.items()
            if advice.choice.kind in ("take", "only")
        },
        verdicts=verdicts,
    )


def with_earlier_nights(
    gates: Iterable[tuple[str, GateVerdict]], runs: Sequence[HistoryRun]
) -> tuple[tuple[str, GateVerdict], ...]:
    """The gates, by model; one that passes without an outage gets what the nights before it show as its reason.

    ``runs`` end with the one that the gates are about. No outcome is changed: the gate is about this run.
    """
    nights = comparable(runs)[:-1] if runs else []
    return tuple((model, _with_outages(model, verdict, nights)) for model, verdict in gates)


def _with_outages(model: str, verdict: GateVerdict, nights: Sequence[HistoryRun]) -> GateVerdict:
    gate = verdict.threshold
    if not isinstance(gate, Threshold) or not shows_no_outage(gate, verdict.estimate, verdict.outcome):
        return verdict
    rates = [
        entry.figures[gate.metric][0]
        for night in nights
        for entry in night.entries
        if (entry.model, entry.label) == (model, verdict.label) and gate.metric in entry.figures
    ]
    if not rates:
        return verdict
    # Of one night only the rate is kept, so this counts nights, and says nothing about how sure each of them was.
    below = sum(decide(gate, Estimate(rate, rate, rate)) == "FAIL" for rate in rates)
    told = english("gate_earlier_runs", said=verdict.reason, below=below, nights=len(rates), least=f"{min(rates):.6g}")
    return structs.replace(verdict, reason=told)


def _verdicts(report: Report) -> tuple[tuple[str, VendorVerdict], ...]:
    """(model, verdict) for every vendor."""
    return tuple((model, verdict) for model, advice in report.advice.items() for verdict in advice.vendors.values())


def _status(outcome: RunOutcome, *, failed: bool, unfinished: bool) -> tuple[CheckStatus, int]:
    """The status of a check; a proven failure takes precedence over an incomplete run."""
    if outcome.signal_number is not None:
        return "interrupted", _SIGNAL_BASE + outcome.signal_number
    if failed:
        return "failed", _EXIT_FAILED
    return ("incomplete", _EXIT_INCOMPLETE) if unfinished else ("passed", 0)


def clear_old_runs(runs: Path, older_than: timedelta, *, keep: Path, now: datetime, history: Path | None) -> list[str]:
    """Delete run folders directly under ``runs`` that began before ``now`` − ``older_than``; what failed, in words.

    Only folders that our own manifest shows to be a finished or interrupted run of this tool: not links, not imported
    evidence, not ``keep``. With a ``history`` only runs that it holds, whose figures therefore stay.
    """
    try:
        known = None if history is None else {run.run for run in read_runs(history)}
    except VerifierError as error:
        return [english("warn_none_deleted", error=str(error))]
    troubles: list[str] = []
    for manifest in sorted(runs.glob("*/manifest.json")):
        folder = manifest.parent
        if folder.is_symlink() or folder.resolve() == keep.resolve() or not _is_old(folder, now - older_than, known):
            continue
        try:
            shutil.rmtree(folder)
        except OSError as error:
            troubles.append(english("warn_undeletable", folder=folder, error=error.strerror or str(error)))
    return troubles


def _is_old(folder: Path, limit: datetime, known: Collection[str] | None) -> bool:
    try:
        manifest = RunFolder(folder).read_manifest()
        ours = manifest.tool is not None and manifest.tool.name == "agent-vendor-verifier"
        ended = manifest.status in ("finished", "interrupted")
        began = datetime.fromisoformat(str(manifest.created_at))
    except (VerifierError, ValueError):
        return False
    dispensable = known is None or manifest.run in known
    return ours and ended and dispensable and (began if began.tzinfo else began.replace(tzinfo=UTC)) < limit


TOTAL_S = 10.0
_HEADERS = {"content-type": "application/json", "user-agent": f"agent-vendor-verifier/{__version__}"}


class Webhook(msgspec.Struct, frozen=True):
    """The webhook to post to. Only its ``origin`` may be shown; ``is_slack`` selects the document it takes."""

    address: str
    origin: str
    is_slack: bool

    def __repr__(self) -> str:
        return f"Webhook({self.origin}/…)"


def read_webhook(address: str, name: str) -> Webhook:
    """The webhook at ``address``, which was found under ``name``.

    Raises:
        UsageError: it is not https (or http on loopback), or holds a user name; the message does not repeat it.
    """
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise UsageError(f"{name} is no web address; expected https://…") from None
    host = parts.hostname or ""
    if not address.isascii() or not address.isprintable() or " " in address or not host:
        raise UsageError(f"{name} is no web address; expected https://…")
    if "@" in parts.netloc:
        raise UsageError(f"{name} holds a user name or password before the host; a webhook has none")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        raise UsageError(f"{name} must begin with https:// (or http:// on loopback)")
    return Webhook(address, f"{parts.scheme}://{host}{port}", host == "hooks.slack.com")


def post(webhook: Webhook, document: bytes, *, total_s: float = TOTAL_S) -> str | None:
    """Send ``document`` within ``total_s``; ``None``, or one sentence on the failure."""
    silence(*HTTP_LOGGERS)
    sent: Future[int] = Future()
    # A name lookup can neither be timed nor cancelled, so it runs in a thread that may hang without being waited for.
    Thread(target=_send, args=(webhook, document, total_s, sent), daemon=True).start()
    try:
        status = sent.result(total_s)
    except (TimeoutError, httpx2.TimeoutException):
        return english("warn_webhook_late", origin=webhook.origin, seconds=f"{total_s:g}")
    except Exception as error:  # noqa: BLE001 - see below
        # Whatever it is, it must not change what a check says; and the messages of some quote the address.
        return english("warn_webhook_unreachable", origin=webhook.origin, error=type(error).__name__)
    return None if 200 <= status < 300 else english("warn_webhook_answered", origin=webhook.origin, status=status)


def _send(webhook: Webhook, document: bytes, total_s: float, sent: Future[int]) -> None:
    proxy = proxy_for(webhook.address)
    try:
        with (
            httpx2.Client(
                verify=httpx2.create_ssl_context(),
                follow_redirects=False,
                timeout=total_s,
                trust_env=False,
                proxy=None if proxy is None else proxy.url,
            ) as client,
            client.stream("POST", webhook.address, content=document, headers=_HEADERS) as answer,
        ):
            sent.set_result(answer.status_code)
    except Exception as error:  # noqa: BLE001 - handed over to who asked
        if not sent.done():
            sent.set_exception(error)
