"""The hooks of ``bfcl`` around a run: job files, simulated services, live services of ``rest`` rows, result pages.

A vendor sees the placeholders of keys, never a key. After a run its calls are sent, one at a time, to the host of the
row's document only, and the shape of an answer is compared with the recorded one. ``bfcl/rest.json`` keeps the
verdicts: no address, value or key. The pages, one a vendor, have the published layout and lie in ``bfcl/`` in the run's
folder. Records that are not charged to the vendor (never sent, or our own fault) are left out.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import anyio
import msgspec

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import SuiteOptions
from vendor_verifier.errors import BFCL_DATA, BFCL_SIMULATORS, RunFolderError
from vendor_verifier.pipeline.bfcl.data import (
    PLACEHOLDER,
    SHIPPED,
    SUITE,
    bfcl_dataset,
    by_task,
    find_services,
    needed_keys,
    read_job_file,
    shape_of,
)
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.pipeline.suites import SuiteHooks, ready_suite
from vendor_verifier.records.failures import NOT_CHARGED
from vendor_verifier.records.manifest import StoredTask
from vendor_verifier.records.plan import Limits
from vendor_verifier.records.record import Record, standing
from vendor_verifier.records.request import HttpRequest
from vendor_verifier.records.sample import Sample
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import replay
from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN, REST_KEYS
from vendor_verifier.suites.bfcl.check_value import VALID, Verdict, invalid
from vendor_verifier.suites.bfcl.checker import Reply, read_reply
from vendor_verifier.suites.bfcl.results import VendorResult, overall, result_pages
from vendor_verifier.suites.bfcl.suite import BfclSuite, rest_key
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.exchange import ProgressMeter, Sending
from vendor_verifier.wire.openai_chat import OpenAIChat

_UNSAFE = re.compile(r"[^\w.()+@ -]")
REST_FILE = "bfcl/rest.json"
PAUSE_S = 1.0  # free tiers allow about one request a second
_LIMITS = Limits(total_s=20.0, connect_s=10.0, first_token_s=20.0, idle_s=20.0)
_HEADER = re.compile(r"(?!(?:host|content-length|transfer-encoding|connection|cookie)$)[a-z0-9-]{1,60}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BfclHooks(SuiteHooks):
    """The hooks of a run with these ``keys`` of live services. A stored run has none: it asks no service."""

    keys: Mapping[str, str] | None = field(default=None, repr=False)
    secrets: Iterable[str] = field(default=(), repr=False)
    request_concurrency: int | None = None

    def prepare(
        self, own: SuiteOptions, options: RunOptions, variables: Mapping[str, str], question_seed: int
    ) -> tuple[SuiteHooks, Dataset]:
        job = read_job_file(Path(own.own["job"])) if own.own.get("job") is not None else None
        keys = {name: variables[name] for name in REST_KEYS if name in variables}
        data = bfcl_dataset(own, keys, job, skip_bad=options.skip_bad_samples)
        return BfclHooks(keys, tuple(keys.values()), job.params.parallelism if job else None), data

    def notes(self, suite: BfclSuite, samples: Sequence[Sample]) -> Iterator[str]:
        for task, rows in by_task(samples).items():
            who = SUITE if task == SUITE else f"{SUITE} {task}"
            yield from (f"{who}: {note}" for note in notes(rows))
            most = highest(rows)
            if most is not None and most < 100:
                yield (
                    f"{who}: Overall Acc is over the whole leaderboard, and categories that are not run "
                    f"count as 0: at most {most:.2f} can be reached with these rows"
                )
        if suite.services is None and (unread := _count(samples, MULTI_TURN)):
            yield f"{suite.name}: {unread} multi-turn rows cannot be judged on this machine; install {BFCL_SIMULATORS}"

    def ready(
        self, suite: BfclSuite, options: Mapping[str, Any], samples: Sequence[Sample], folder: RunFolder | None
    ) -> BfclSuite:
        """With the services its samples need, if they are found, and the stored verdicts on calls of live services.

        A stored run (``folder``) may be a stranger's: its manifest does not choose where code is imported from, only
        what is installed, or was imported to run it, is used.
        """
        where = str(options.get("data", "installed")) if folder is None else "installed"
        services = find_services(where) if _count(samples, MULTI_TURN) else None
        return replace(suite, services=services, rest={} if folder is None else read_verdicts(folder))

    def after_run(self, folder: RunFolder, task: StoredTask) -> None:
        if self.keys is not None:
            ask_services(folder, folder.read_samples(SUITE), self.keys)
        write_bfcl_pages(folder, task)


def _count(samples: Sequence[Sample], categories: Sequence[str]) -> int:
    return sum(sample.expected.get("category") in categories for sample in samples)


def highest(samples: Iterable[Sample]) -> float | None:
    """The highest ``Overall Acc`` (per cent) of a run with these rows; None for custom rows, which have none."""
    rows = Counter(str(sample.tags["category"]) for sample in samples if not sample.tags.get("bfcl_custom"))
    return round(overall({category: (1.0, count) for category, count in rows.items()}) * 100, 2) if rows else None


def notes(samples: Sequence[Sample]) -> list[str]:
    """What one must know of figures that are made of these rows."""
    found = []
    if any(sample.tags.get("bfcl_data") == SHIPPED for sample in samples):
        found.append(
            "these are rows of this project, not the leaderboard's; for the official rows give --bfcl-data installed "
            f"({BFCL_DATA}), hf://datasets/OWNER/NAME, or a folder with BFCL_v3_*.json or BFCL_v4_*.json"
        )
    if any(sample.tags.get("category") in EXECUTABLE for sample in samples):
        found.append(
            "exec_* rows are compared with the calls that they state; another call with an equal effect counts as wrong"
        )
    if inferred := sum(bool(sample.tags.get("bfcl_inferred")) for sample in samples):
        found.append(
            f"{inferred} of {len(samples)} rows have no tools; theirs are made from the expected calls, which "
            "tells the model more than hand-written tools would"
        )
    return found


def write_bfcl_pages(folder: RunFolder, task: StoredTask) -> None:
    """Write a page for every vendor with records of the evaluation, which the run stored as ``task``.

    With several models in the run, each has a folder of its own, because ranks are among the vendors of one model.
    """
    samples = folder.read_samples(SUITE)
    tasks = by_task(samples)
    about = {
        name: {
            "data": list(dict.fromkeys(str(row.tags.get("bfcl_data")) for row in rows)),
            "notes": notes(rows),
            "overall_acc_at_most": highest(rows),
        }
        for name, rows in tasks.items()
    }
    models = _results(folder, task, samples, tasks)
    homes: set[str] = set()
    for model, results in models.items():
        home = f"bfcl/{_file_name(model, homes)}" if len(models) > 1 else "bfcl"
        folder.create_inside(home)
        names: set[str] = set()
        for label, page in result_pages(results).items():
            # A task that could not run at all has reasons instead of metrics.
            page["run"] = {
                name: {**about.get(name, {}), **page["run"].get(name, {}), "not_run": task.not_run.get(name, {})}
                for name in dict.fromkeys([*page["run"], *task.not_run])
            }
            text = json.dumps(page, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
            folder.write(f"{home}/{_file_name(label, names)}.json", text)


def _results(
    folder: RunFolder, task: StoredTask, samples: Sequence[Sample], tasks: Mapping[str, Sequence[Sample]]
) -> dict[str, dict[str, list[VendorResult]]]:
    """Model → task → results of its vendors, categories in the order of the samples."""
    suite = ready_suite(SUITE, task.options, samples, folder)
    of_sample: dict[str, list[Record]] = {}
    records = folder.read_records(lambda _line, _reason: None)
    for record in standing(each for each in records if each.suite == SUITE):
        failure = next((final.failure for final in record.finals if final.failure is not None), None)
        if record.turns and (failure is None or failure.kind not in NOT_CHARGED):
            of_sample.setdefault(record.sample, []).append(record)
    results: dict[str, dict[str, list[VendorResult]]] = {}
    for name, rows in tasks.items():
        found: dict[tuple[str, str], VendorResult] = {}
        for sample in rows:
            for record in of_sample.get(sample.id, ()):
                result = found.setdefault((record.model, record.label), VendorResult(record.label))
                if score := record.score or replay(suite.play(sample), record.turns):
                    result.scores.append(score)
                result.add_times(record.finals)
        for (model, _), result in found.items():
            results.setdefault(model, {}).setdefault(name, []).append(result)
    return results


def _file_name(label: str, taken: set[str]) -> str:
    """The label as a file name that is safe and not among those ``taken``."""
    # File systems count bytes, not characters.
    plain = _UNSAFE.sub("_", label).encode()[:100].decode(errors="ignore").strip(". ") or "vendor"
    name, number = plain, 2
    while name.casefold() in taken:
        name, number = f"{plain} ({number})", number + 1
    taken.add(name.casefold())
    return name


def ask_services(folder: RunFolder, samples: Sequence[Sample], keys: Mapping[str, str]) -> None:
    """Ask the services for every call of the run's records without a stored verdict, and store the verdicts."""
    rest = {sample.id: sample for sample in samples if sample.expected.get("category") == "rest"}
    known = read_verdicts(folder)
    due: dict[str, tuple[Sample, Reply]] = {}
    for record in folder.read_records(lambda _line, _reason: None) if rest else ():
        if record.suite == "bfcl" and record.sample in rest and record.final is not None:
            reply = read_reply(record.final)
            key = rest_key(record.sample, reply)
            due |= {key: (rest[record.sample], reply)} if reply.calls and key not in known else {}
    if due:
        folder.create_inside("bfcl")
        folder.write(REST_FILE, msgspec.json.encode(known | anyio.run(_ask, due, keys)))


async def _ask(due: Mapping[str, tuple[Sample, Reply]], keys: Mapping[str, str]) -> dict[str, Verdict]:
    found = {}
    async with FastTransport(_LIMITS) as transport:
        for call, (sample, reply) in due.items():
            request = request_of(sample, reply, keys)
            if request is None:
                words = "not sent: it is not one call of requests.get at the host of the document"
                found[call] = invalid("executable_checker_rest:execution_error", words)
                continue
            meter = ProgressMeter(OpenAIChat().reader())
            exchange = await transport.exchange(Sending(request, meter, time.perf_counter_ns(), fresh=True))
            if exchange.status is not None:  # a service that is down is nobody's wrong call: not run
                found[call] = _compared(exchange.status, exchange.body, sample.expected["answer"][0])
            await anyio.sleep(PAUSE_S)
    return found


def request_of(sample: Sample, reply: Reply, keys: Mapping[str, str]) -> HttpRequest | None:
    """The GET that a reply asks for, with real keys in it; None for a reply that is not sent."""
    name, arguments = reply.named_calls[0]
    url, params, headers = arguments.get("url"), arguments.get("params") or {}, arguments.get("headers") or {}
    own = sample.expected["functions"][0]["parameters"]["properties"]["url"].get("default")
    if len(reply.calls) != 1 or name not in ("requests.get", "requests_get") or not isinstance(url, str):
        return None
    # Scheme and host as they are spelled in the document: no credentials, no other port, no similar name.
    origin = re.match(r"https?://[^/?#]*", str(own))
    is_own = origin is not None and re.match(re.escape(origin[0]) + r"(?=[/?#]|$)", url) is not None
    if not is_own or not isinstance(params, dict) or not isinstance(headers, dict):
        return None
    names = needed_keys(sample)
    real = {f"YOUR-{name.replace('_', '-')}": keys[name] for name in names if name in keys}
    if len(real) == len(names) == 1:
        real["YOUR-API-KEY"] = next(iter(real.values()))

    def with_keys(text: str) -> str:
        return PLACEHOLDER.sub(lambda found: real.get(found[0], found[0]), text)

    query = urlencode({name: value for name, value in params.items() if value is not None}, doseq=True)
    bare = str(url).partition("#")[0]
    address = bare + (("&" if "?" in bare else "?") + query if query else "")
    texts = {name: value for name, value in headers.items() if isinstance(value, str) and value.isprintable()}
    sent = {name: with_keys(value) for name, value in texts.items() if _HEADER.fullmatch(name)}
    return HttpRequest(with_keys(address), sent, b"", method="GET")


def _compared(status: int, body: bytes, right: Mapping[str, Any]) -> Verdict:
    """The verdict on an answer: status 200 and the recorded answer's shape."""
    if status != 200:
        return invalid("executable_checker_rest:wrong_status_code", f"the service answered {status}")
    try:
        shape = shape_of(json.loads(body))
    except (ValueError, RecursionError):
        shape = {"no JSON": None}
    if shape.keys() != right.keys():
        return invalid("executable_checker_rest:wrong_type", f"expected {min(right)}, got {min(shape)}")
    return VALID if shape == right else invalid("executable_checker_rest:wrong_key", "the answer has other keys")


def read_verdicts(folder: RunFolder) -> dict[str, Verdict]:
    """The stored verdicts on calls of services, by the keys of the calls."""
    file = folder.path / REST_FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Verdict]) if file.exists() else {}
    except (OSError, msgspec.DecodeError) as error:
        raise RunFolderError(f"{file} cannot be read: {error}") from None
