"""No bytes make any reader raise, over any wire and chunking."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from asking import ALL
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.config.load import load_config
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import ConfigError, DataError
from vendor_verifier.loaders import loaders, read_dataset_file
from vendor_verifier.records.record import Attempt, Exchange, Record, TurnRecord
from vendor_verifier.redaction import Scrubber
from vendor_verifier.registry import Registry
from vendor_verifier.store import UnreadableLine, decode_record, encode_record
from vendor_verifier.transport.exchange import ProgressMeter
from vendor_verifier.wire.errors import http_failure
from vendor_verifier.wire.parse_answer import read_answer

KEY = "sk-or-v1-0123456789abcdef"


def read_over_every_wire(choice: bytes, body: bytes) -> None:
    """The choice picks the wire, the size of chunks and the content type or status."""
    wire, size = list(ALL.values())[choice[0] % len(ALL)], choice[1] % 64 + 1
    headers = {"content-type": ("text/event-stream", "application/json", "text/html")[choice[2] % 3]}
    chunks = [(at, body[at : at + size]) for at in range(0, len(body), size)]
    status = 200 if choice[2] < 200 else 400 + choice[2] - 200
    meter = ProgressMeter(wire.reader())
    for _, chunk in chunks:
        meter.feed(chunk)
    exchange = Exchange("2026-01-01T00:00:00+00:00", len(body), status, headers, chunks)
    turn = TurnRecord((Attempt(1, *read_answer(exchange, wire.reader())),))
    record = Record("r", "m", "l", "v", "trigger", "s", 0, (turn,))
    assert decode_record(encode_record(record)) == record


def read_headers(_choice: bytes, data: bytes) -> None:
    """Header lines of a refusal, as a vendor may send them."""
    lines = data.decode("latin-1").split("\n")
    headers = dict(part for line in lines if len(part := tuple(line.split(":", 1))) == 2)
    http_failure(429, {name.lower(): value for name, value in headers.items()}, data, datetime(2026, 1, 1, tzinfo=UTC))


def read_config(_choice: bytes, data: bytes) -> None:
    """A config file: loaded, or refused with problems."""
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file, suppress(ConfigError):
        file.write(data)
        file.flush()
        load_config(RunOptions(config_file_path=Path(file.name)), {}, registry=Registry({}, {}))


def read_journal_line(_choice: bytes, data: bytes) -> None:
    """A stored line: a record, or said to be none."""
    with suppress(UnreadableLine):
        decode_record(data)


def read_dataset(choice: bytes, data: bytes) -> None:
    """A file of samples in no known format, or in each of those that there are."""
    names = [None, *(loader.name for loader in loaders())]
    with suppress(DataError):
        read_dataset_file(data, dataset="d", file=Path("d.jsonl"), format=names[choice[0] % len(names)])


def mask_a_text(_choice: bytes, data: bytes) -> None:
    """No key is left in any text."""
    assert KEY not in Scrubber([KEY]).text(data.decode("utf-8", errors="replace").replace("K", KEY))


TARGETS = (read_over_every_wire, read_headers, read_config, read_journal_line, read_dataset, mask_a_text)

# Bytes that look like what the readers expect, broken in places: plain noise is refused too early to find anything.
PIECES = st.sampled_from([
    b"data: ", b"event: error", b"\n\n", b"\r\n", b": ping\n", b"[DONE]", b'{"choices": [{"delta": ', b'"content": "a"',
    b'"tool_calls": [', b'{"index": 1, "function": {"name": "f", "arguments": "{"}}', b"]}", b"}]}", b"null", b"{}",
    b'"finish_reason": "stop"',
    b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 1}}',
    b'{"candidates": [{"content": {"parts": [{"text": []}]}}]}', b'{"error": {"message": 1}}', b'"\\ud800"', b"\xff",
    b",",
    b'{"type": "response.completed", "response": {"output": 1}}', b"retry-after: 1e9\n", b"x-ratelimit-reset-a: 6m0s\n",
    b"m:\n  vendors:\n    - ", b"&a [*a, *a]", b"name: ", b"? ", b"!!python/object ", b"1e999", b"NaN", b"[" * 40,
])  # fmt: skip


@settings(max_examples=60, deadline=None)
@pytest.mark.parametrize("target", TARGETS)
@given(pieces=st.lists(PIECES | st.binary(max_size=8), max_size=25), choice=st.binary(min_size=3, max_size=3))
def test_no_bytes_raise(target: Callable[[bytes, bytes], None], pieces: list[bytes], choice: bytes) -> None:
    """Whatever is read is either understood or refused in the way the reader promises."""
    target(choice, b"".join(pieces))
