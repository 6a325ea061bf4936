"""Finds BFCL data on this machine and reads it, and asks the live services of ``rest`` rows.

Of the user's ``bfcl_eval`` only the simulated services are imported. A vendor sees the placeholders of keys, never a
key. After a run its calls are sent, one at a time, to the host of the row's document only, and the shape of an answer
is compared with the recorded one. ``bfcl/rest.json`` keeps the verdicts: no address, value or key.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import anyio
import msgspec
from msgspec import structs

from vendor_verifier.errors import BFCL_DATA, RunFolderError, UsageError
from vendor_verifier.loaders.base import MAX_ARRAY_BYTES, LoadedSamples
from vendor_verifier.records.plan import Limits
from vendor_verifier.records.request import HttpRequest
from vendor_verifier.records.sample import Sample
from vendor_verifier.resources import shipped
from vendor_verifier.sample_store import open_lines
from vendor_verifier.store import RunFolder
from vendor_verifier.suites.bfcl.categories import (
    EXECUTABLE,
    MULTI_TURN,
    RELEVANCE,
    REST,
    SINGLE_TURN,
    V4_TO_V3,
    not_run_reason,
)
from vendor_verifier.suites.bfcl.check_value import VALID, Verdict, invalid
from vendor_verifier.suites.bfcl.checker import Reply, read_reply
from vendor_verifier.suites.bfcl.multi_turn import Services
from vendor_verifier.suites.bfcl.rows import read_category
from vendor_verifier.suites.bfcl.suite import rest_key
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.exchange import ProgressMeter, Sending
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.payload import parse_json

SHIPPED = "shipped slice"
_PACKAGES = ("bfcl_eval", "bfcl")
_NATIVE = "BFCL_v[34]_*.json"
_REST_REPLIES = Path("eval_checker", "executable_eval", "data", "rest-eval-response_v5.jsonl")
_SERVICES = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_SERVICE_MODULES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}


class BfclData(msgspec.Struct, frozen=True):
    """A folder in the native layout. ``version`` is the files' (``v3``, ``v4``); ``name`` is kept with every sample."""

    folder: Path
    version: str
    name: str


Loaded = tuple[LoadedSamples, dict[str, str]]
"""The samples of all categories that can run, and the reasons for the others."""


def find_data(where: str, label: str | None = None) -> BfclData:
    """``shipped``, ``installed`` or a folder: the data, the package with it, or where that is installed.

    ``label`` is the name of downloaded data, whose folder's name says nothing.

    Raises:
        UsageError: nothing there; the message says what would be.
    """
    if where == "shipped":
        return BfclData(shipped("datasets") / "bfcl", "v3", SHIPPED)
    for folder in _folders(where):
        versions = sorted({path.name[5:7] for path in folder.glob(_NATIVE)})
        if versions:
            name = label or (folder.parent.name if folder.name == "data" else folder.name)
            return BfclData(folder, versions[-1], f"{name} {versions[-1]}")
    if where == "installed":
        raise UsageError(f"no installed bfcl_eval with data: {BFCL_DATA}, or give --bfcl-data DIR")
    raise UsageError(f"{where}: no BFCL_v3_*.json or BFCL_v4_*.json; expected those files and possible_answer/")


def _folders(where: str) -> list[Path]:
    """The folders that may hold the data."""
    if where == "installed":
        specs = [importlib.util.find_spec(package) for package in _PACKAGES]
        return [Path(place, "data") for spec in specs if spec for place in spec.submodule_search_locations or ()]
    return [Path(where, inside) for inside in ("", "data", *(f"{package}/data" for package in _PACKAGES))]


def custom_files(where: str) -> list[Path]:
    """The files of custom rows at ``where``: that file, or all in a folder that has none in the native layout."""
    path = Path(where)
    if where in ("shipped", "installed"):
        return []
    if not path.exists():
        raise UsageError(f"{where}: there is no such file or folder")
    if path.is_file():
        return [path]
    if any(next(folder.glob(_NATIVE), None) for folder in _folders(where)):
        return []
    return sorted(file for file in path.rglob("*.jsonl*") if file.is_file()) or sorted(path.glob("*.json*"))


def load_categories(
    data: BfclData,
    categories: Iterable[str],
    *,
    services: bool = False,
    keys: frozenset[str] = frozenset(),
    limit: int | None = None,
    skip_bad: bool = False,
) -> Loaded:
    """Read the rows of these categories (v4 names) that can run.

    ``services``: the simulated services are installed. ``keys``: the names of the keys set for rest rows; rows that
    need others are left out and reported. ``limit``: the first rows of all categories together.
    """
    parts: list[LoadedSamples] = []
    not_run: dict[str, str] = {}
    for category in categories:
        names = [
            f"BFCL_{version}_{name}.json" for name in (category, V4_TO_V3.get(category)) for version in ("v4", "v3")
        ]
        file = next((data.folder / name for name in names if (data.folder / name).is_file()), None)
        reason = not_run_reason(category, simulators=services, keys=bool(keys))
        if reason is None and file is None:
            reason = f"not run: needs BFCL_{data.version}_{category}.json, which {data.name} does not have"
        if reason is not None or file is None:
            not_run[category] = reason or ""
            continue
        part = _load(data, category, file, skip_bad)
        if category in REST:
            missing = {row.id: needed_keys(row) - keys for row in part.samples}
            part = structs.replace(part, samples=tuple(row for row in part.samples if not missing[row.id]))
            if lacking := sorted(frozenset().union(*missing.values())):
                left = f"{len(missing) - len(part.samples)} of {len(missing)} rows"
                not_run[category] = f"not run: {left} need {', '.join(lacking)}"
        parts.append(part)
    samples = [sample for part in parts for sample in part.samples][:limit]
    skipped = [problem for part in parts for problem in part.skipped]
    defects = [defect for part in parts for defect in part.defects]
    return LoadedSamples(tuple(samples), tuple(skipped), tuple(defects)), not_run


def _load(data: BfclData, category: str, file: Path, skip_bad: bool) -> LoadedSamples:
    answers: list[bytes] = []
    answer_file = data.folder / "possible_answer" / file.name
    if category in REST:
        # Upstream pairs rows and recorded replies by position; only the shape of a reply is compared.
        answer_file = data.folder.parent / _REST_REPLIES
        for number, line in enumerate(_lines(answer_file)):
            truth = {"id": f"rest_{number}", "ground_truth": [shape_of(parse_json(line))]}
            answers.append(json.dumps(truth).encode())
    elif category not in (*RELEVANCE, *EXECUTABLE):
        answers = _lines(answer_file)
    files = {name: data.folder / "multi_turn_func_doc" / f"{module}.json" for name, module in _SERVICE_MODULES.items()}
    docs = {
        name: [parse_json(line) for line in _lines(path) if line.strip()]
        for name, path in (files.items() if category in MULTI_TURN else ())
    }
    return read_category(
        _lines(file),
        answers,
        category=category,
        file=file,
        answer_file=answer_file,
        version=data.name,
        service_docs=docs,
        skip_bad=skip_bad,
    )


def _lines(file: Path) -> list[bytes]:
    return list(open_lines(file, max_line=MAX_ARRAY_BYTES))


def find_services(where: str) -> Services | None:
    """The simulated services in, at or above the folder ``where``, else the installed ones, else None."""
    if where not in ("shipped", "installed") and Path(where).exists():
        homes = [path for path in (Path(where), *Path(where).resolve().parents) if (path / "bfcl_eval").is_dir()]
        sys.path += [str(home) for home in homes[:1] if str(home) not in sys.path]
    try:
        modules = {name: importlib.import_module(f"{_SERVICES}.{module}") for name, module in _SERVICE_MODULES.items()}
    except ImportError:
        return None
    classes = {name: getattr(module, name) for name, module in modules.items()}

    def start(names: Sequence[str], initial: Mapping[str, Any], long_context: bool) -> Mapping[str, object]:
        started = {name: classes[name]() for name in names}
        for name, instance in started.items():
            if name != "MathAPI":  # which has no state
                instance._load_scenario(deepcopy(dict(initial.get(name, {}))), long_context=long_context)
        return started

    return start


def answered_rows(where: str) -> tuple[Sample, ...]:
    """The rows in a folder of the leaderboard's layout that state the right calls; ``shipped`` for those that ship."""
    return load_categories(find_data(where), (*SINGLE_TURN, *EXECUTABLE))[0].samples


REST_FILE = "bfcl/rest.json"
PAUSE_S = 1.0  # free tiers allow about one request a second
_LIMITS = Limits(total_s=20.0, connect_s=10.0, first_token_s=20.0, idle_s=20.0)
_PLACEHOLDER = re.compile(r"YOUR-((?:[A-Z]+-)?API-KEY)")
_HEADER = re.compile(r"(?!(?:host|content-length|transfer-encoding|connection|cookie)$)[a-z0-9-]{1,60}", re.IGNORECASE)


def needed_keys(sample: Sample) -> frozenset[str]:
    """The names of the variables whose keys a row's placeholders stand for."""
    words = _PLACEHOLDER.findall(json.dumps([sample.expected["functions"], list(sample.turn.messages)]))
    names = {word.replace("-", "_") for word in words}
    # One document says YOUR-API-KEY where its question names the service.
    return frozenset(names - {"API_KEY"} if len(names) > 1 else names)


def shape_of(value: object) -> dict[str, Any]:
    """The keys of an object, those of each member of a list, or the type of anything else."""
    if isinstance(value, dict):
        return {"dict": sorted(value)}
    if isinstance(value, list):
        return {"list": [sorted(item) if isinstance(item, dict) else None for item in value]}
    return {"other": type(value).__name__}


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
        return _PLACEHOLDER.sub(lambda found: real.get(found[0], found[0]), text)

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
