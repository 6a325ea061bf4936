"""Asks live services what they say to the calls of ``rest`` rows, after a run and once a call; it judges nothing.

Only hosts that a row's document names are asked, one at a time, through the same transport as vendors. What is stored
in ``bfcl/rest.jsonl`` is the shape of each answer: no address, no value, no key.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

import anyio
import msgspec

from vendor_verifier.errors import RunFolderError
from vendor_verifier.run.resending import sent_to_the_end
from vendor_verifier.run.transport import Transport
from vendor_verifier.scrub import Scrubber
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import BFCL as SUITE
from vendor_verifier.suites.bfcl.categories import REST
from vendor_verifier.suites.bfcl.decode import read_reply
from vendor_verifier.suites.bfcl.rest import (
    Fetched,
    RefusedCall,
    RestRequest,
    call_digest,
    request_of,
    shape_of,
    with_keys,
)
from vendor_verifier.values.plan import Limits
from vendor_verifier.values.request import HttpRequest
from vendor_verifier.values.sample import Sample
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.payload import PayloadError, parse_json
from vendor_verifier.wire.progress import ProgressMeter

REST_FILE = "bfcl/rest.jsonl"
_LIMITS = Limits(total_s=20.0, connect_s=10.0, first_token_s=20.0, idle_s=20.0)
# Free tiers allow about one request a second.
PAUSE_S = 1.0


class _Stored(msgspec.Struct):
    call: str
    status: int | None
    shape: Any
    error: str | None


def read_rest_answers(folder: RunFolder) -> dict[str, Fetched]:
    """What is stored of them, by call.

    Raises:
        RunFolderError: the file is damaged.
    """
    try:
        lines = (folder.path / REST_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise RunFolderError(f"{folder.path / REST_FILE} cannot be read: {error}") from None
    found: dict[str, Fetched] = {}
    for number, line in enumerate(lines, 1):
        try:
            row = msgspec.convert(parse_json(line), _Stored)
        except (PayloadError, msgspec.ValidationError) as error:
            raise RunFolderError(f"{folder.path / REST_FILE}:{number}: no answer of a service: {error}") from None
        found[row.call] = Fetched(row.status, row.shape, row.error)
    return found


def fetch_rest_answers(
    folder: RunFolder,
    samples: Sequence[Sample],
    keys: Mapping[str, str],
    scrubber: Scrubber,
    *,
    pause_s: float = PAUSE_S,
) -> None:
    """Ask for every call of the run's records that nobody has asked about yet, and store what came.

    Raises:
        StorageError: the disk refused.
    """
    rest = {sample.id: sample for sample in samples if sample.expected.get("category") in REST}
    if not rest:
        return
    known = read_rest_answers(folder)
    due = {digest: request for digest, request in _requests(folder, rest, keys) if digest not in known}
    if due:
        found = anyio.run(_fetched, due, scrubber, pause_s)
        _store(folder, {**known, **found})


def _requests(
    folder: RunFolder, samples: Mapping[str, Sample], keys: Mapping[str, str]
) -> Iterator[tuple[str, RestRequest]]:
    for record in folder.read_records(lambda _number, _reason: None):
        sample, final = samples.get(record.sample), record.final
        if record.suite != SUITE or sample is None or final is None:
            continue
        calls = read_reply(final).calls
        for arguments in calls[0].values() if len(calls) == 1 else ():
            try:
                request = request_of(sample.expected, arguments)
            except RefusedCall:
                continue
            filled = with_keys(request, sample.expected, list(sample.turn.messages), keys)
            yield call_digest(sample.id, arguments), filled


async def _fetched(due: Mapping[str, RestRequest], scrubber: Scrubber, pause_s: float) -> dict[str, Fetched]:
    found: dict[str, Fetched] = {}
    asked: set[str | None] = set()
    async with Transport(_LIMITS) as transport:
        for digest, request in due.items():
            host = urlsplit(request.url).hostname
            if host in asked:
                await anyio.sleep(pause_s)
            asked.add(host)
            found[digest] = await _fetch(transport, request, scrubber)
    return found


async def _fetch(transport: Transport, request: RestRequest, scrubber: Scrubber) -> Fetched:
    sent = HttpRequest(request.url, request.headers, b"", method="GET")
    meter = ProgressMeter(OpenAIChat().reader())
    exchange = await sent_to_the_end(lambda fresh: transport.exchange(sent, meter, time.perf_counter_ns(), fresh=fresh))
    if exchange.failure is not None:
        return Fetched(exchange.status, error=scrubber.text(f"{exchange.failure.kind}: {exchange.failure.message}"))
    try:
        return Fetched(exchange.status, shape_of(parse_json(exchange.body)))
    except ValueError:
        # What is no JSON has no shape; the status says more.
        return Fetched(exchange.status)


def _store(folder: RunFolder, answers: Mapping[str, Fetched]) -> None:
    folder.create_inside(REST_FILE.rpartition("/")[0])
    lines = (json.dumps({"call": digest, **asdict(answer)}) + "\n" for digest, answer in answers.items())
    folder.write(REST_FILE, "".join(lines))
