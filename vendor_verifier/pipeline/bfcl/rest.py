"""Asks the live services of ``rest`` rows and compares the shape of their answers with the recorded ones.

A vendor sees the placeholders in the rows, never a key. After a run its calls are sent, one at a time, and only to the
host of the row's document. ``bfcl/rest.jsonl`` keeps verdict and shape of each answer: no address, value or key.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import anyio
import msgspec

from vendor_verifier.errors import RunFolderError
from vendor_verifier.records.plan import Limits
from vendor_verifier.records.request import HttpRequest
from vendor_verifier.records.sample import Sample
from vendor_verifier.store import RunFolder
from vendor_verifier.suites.bfcl.check_value import VALID, Verdict, invalid
from vendor_verifier.suites.bfcl.replies import Reply, read_reply
from vendor_verifier.suites.bfcl.suite import rest_key
from vendor_verifier.transport.client import FastTransport
from vendor_verifier.transport.policy import ProgressMeter, Sending
from vendor_verifier.wire.openai_chat import OpenAIChat

REST_FILE = "bfcl/rest.jsonl"
PAUSE_S = 1.0  # free tiers allow about one request a second
_LIMITS = Limits(total_s=20.0, connect_s=10.0, first_token_s=20.0, idle_s=20.0)
_PLACEHOLDER = re.compile(r"YOUR-((?:[A-Z]+-)?API-KEY)")
_HEADER = re.compile(r"(?!(?:host|content-length|transfer-encoding|connection|cookie)$)[a-z0-9-]{1,60}", re.IGNORECASE)


class RestAnswer(msgspec.Struct):
    """The verdict on the ``call`` of that key, and the shape of the service's answer if it was JSON."""

    call: str
    verdict: Verdict
    shape: dict[str, Any] | None = None


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
    """Ask the services for every call of the run's records without a stored verdict, and store the verdicts.

    Raises:
        StorageError: the disk refused.
    """
    rest = {sample.id: sample for sample in samples if sample.expected.get("category") == "rest"}
    known = read_answers(folder)
    due: dict[str, tuple[Sample, Reply]] = {}
    for record in folder.read_records(lambda _line, _reason: None) if rest else ():
        if record.suite == "bfcl" and record.sample in rest and record.final is not None:
            reply = read_reply(record.final)
            due |= {rest_key(record.sample, reply): (rest[record.sample], reply)} if reply.calls else {}
    for answer in known:
        due.pop(answer.call, None)
    if due:
        folder.create_inside("bfcl")
        answers = [*known, *anyio.run(_ask, due, keys)]
        folder.write(REST_FILE, b"".join(msgspec.json.encode(answer) + b"\n" for answer in answers))


async def _ask(due: Mapping[str, tuple[Sample, Reply]], keys: Mapping[str, str]) -> list[RestAnswer]:
    found = []
    async with FastTransport(_LIMITS) as transport:
        for call, (sample, reply) in due.items():
            request = request_of(sample, reply, keys)
            if request is None:
                words = "not sent: it is not one call of requests.get at the host of the document"
                found.append(RestAnswer(call, invalid("executable_checker_rest:execution_error", words)))
                continue
            meter = ProgressMeter(OpenAIChat().reader())
            exchange = await transport.exchange(Sending(request, meter, time.perf_counter_ns(), fresh=True))
            if exchange.status is not None:  # a service that is down is nobody's wrong call: not run
                found.append(_compared(call, exchange.status, exchange.body, sample.expected["answer"][0]))
            await anyio.sleep(PAUSE_S)
    return found


def request_of(sample: Sample, reply: Reply, keys: Mapping[str, str]) -> HttpRequest | None:
    """The GET that a reply asks for, with real keys in it; None for a reply that is not sent."""
    name, arguments = reply.named_calls[0]
    url, params, headers = arguments.get("url"), arguments.get("params") or {}, arguments.get("headers") or {}
    own = sample.expected["functions"][0]["parameters"]["properties"]["url"].get("default")
    if len(reply.calls) != 1 or name not in ("requests.get", "requests_get") or not isinstance(url, str):
        return None
    # Scheme and host as they are spelled in the document: no credentials, no other port, no look-alike.
    origin = re.match(r"https?://[^/?#]*", str(own))
    is_own = origin is not None and re.match(re.escape(origin[0]) + r"(?=[/?#]|$)", url) is not None
    if not is_own or not isinstance(params, dict) or not isinstance(headers, dict):
        return None
    names = needed_keys(sample)

    def key(found: re.Match[str]) -> str:
        wanted = found[1].replace("-", "_")
        wanted = min(names) if wanted == "API_KEY" and len(names) == 1 else wanted
        return keys.get(wanted, found[0]) if wanted in names else found[0]

    query = urlencode({name: value for name, value in params.items() if value is not None}, doseq=True)
    bare = str(url).partition("#")[0]
    address = bare + (("&" if "?" in bare else "?") + query if query else "")
    texts = {name: value for name, value in headers.items() if isinstance(value, str) and value.isprintable()}
    sent = {name: _PLACEHOLDER.sub(key, value) for name, value in texts.items() if _HEADER.fullmatch(name)}
    return HttpRequest(_PLACEHOLDER.sub(key, address), sent, b"", method="GET")


def _compared(call: str, status: int, body: bytes, right: Mapping[str, Any]) -> RestAnswer:
    """The verdict on an answer: status 200 and the recorded answer's shape."""
    try:
        shape = shape_of(json.loads(body))
    except (ValueError, RecursionError):
        shape = {"no JSON": None}
    verdict = VALID if shape == right else invalid("executable_checker_rest:wrong_key", "the answer has other keys")
    if status != 200:
        verdict = invalid("executable_checker_rest:wrong_status_code", f"the service answered {status}")
    elif shape.keys() != right.keys():
        verdict = invalid("executable_checker_rest:wrong_type", f"expected {min(right)}, got {min(shape)}")
    return RestAnswer(call, verdict, shape)


def read_answers(folder: RunFolder) -> list[RestAnswer]:
    """The stored answers of services.

    Raises:
        RunFolderError: the file is damaged.
    """
    file = folder.path / REST_FILE
    try:
        lines = file.read_bytes().splitlines() if file.exists() else []
        return [msgspec.json.decode(line, type=RestAnswer) for line in lines]
    except (OSError, msgspec.DecodeError) as error:
        raise RunFolderError(f"{file} cannot be read: {error}") from None
