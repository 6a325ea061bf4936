"""A webhook is told within bounded time over a safe way, and its address is never said."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import pytest
from costs import LONG_S, PATIENCE_S

from vendor_verifier.errors import UsageError
from vendor_verifier.features.history import nightly
from vendor_verifier.features.history.check import CheckResult
from vendor_verifier.features.history.nightly import check_webhook, post

SECRET = "T0000-CANARY"
RESULT = CheckResult(status="passed", exit_code=0, headline="check passed <@everyone>")


@contextmanager
def server(answer: bytes, *, wait_s: float = 0.0) -> Iterator[tuple[str, list[bytes]]]:
    """One loopback server for one request: its address and what it heard."""
    heard: list[bytes] = []
    stop = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listening.accept()[0] as connection:
            connection.settimeout(PATIENCE_S)
            while not heard or not heard[-1].endswith(b"}"):
                heard.append(connection.recv(100_000))
            stop.wait(wait_s)
            connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/{SECRET}?token={SECRET}", heard
    finally:
        stop.set()
        thread.join(timeout=PATIENCE_S)
        listening.close()


def test_a_document_arrives_as_json() -> None:
    """One POST with the right type; a 2xx is success."""
    with server(b"HTTP/1.1 204 No Content\r\n\r\n") as (address, heard):
        assert post(address, RESULT) is None
    text = b"".join(heard)
    assert text.startswith(b"POST /" + SECRET.encode())
    assert b"content-type: application/json" in text.lower()
    assert json.loads(text.partition(b"\r\n\r\n")[2])["headline"] == "check passed <@everyone>"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n", "answered 500"),
        (b"HTTP/1.1 302 Go\r\nlocation: http://127.0.0.1:1/x\r\ncontent-length: 0\r\n\r\n", "answered 302"),
        (b"what is this", "cannot be reached"),
        (b"HTTP/1.1 500 Endless\r\ncontent-length: 1000000000\r\n\r\nxxx", "answered 500"),
    ],
)
def test_whatever_is_answered_is_a_sentence_without_the_address(answer: bytes, words: str) -> None:
    """Errors, redirects (never followed) and nonsense are told, and the token is not."""
    with server(answer) as (address, _):
        trouble = post(address, RESULT)
    assert trouble is not None
    assert words in trouble
    assert SECRET not in trouble


def test_a_server_that_never_answers_costs_a_bounded_time() -> None:
    with server(b"HTTP/1.1 200 OK\r\n\r\n", wait_s=LONG_S) as (address, _):
        began = time.monotonic()
        trouble = post(address, RESULT, total_s=0.5)
        assert 0.5 <= time.monotonic() - began < PATIENCE_S
    assert "did not answer within 0.5 s" in (trouble or "")


def test_nobody_listening_is_a_sentence() -> None:
    assert "cannot be reached" in (post("http://127.0.0.1:1/x", RESULT) or "")


@pytest.mark.parametrize(
    "address",
    [
        f"http://example.com/{SECRET}",
        f"https://me:{SECRET}@example.com/",
        f"ftp://{SECRET}",
        SECRET,
        f"https://ex ample/{SECRET}",
        "https://",
        f"https://e:99999/{SECRET}",
    ],
)
def test_unsafe_addresses_are_refused_without_being_repeated(address: str) -> None:
    """Plain http beyond loopback, user names, other schemes and nonsense."""
    with pytest.raises(UsageError) as refused:
        check_webhook(address, "HOOK")
    assert SECRET not in str(refused.value)
    assert "HOOK" in str(refused.value)


def test_slack_gets_text_in_which_a_stranger_mentions_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []

    def send(address: str, document: bytes, total_s: float, done: Future[int]) -> None:
        sent.append(document)
        done.set_result(200)

    monkeypatch.setattr(nightly, "_send", send)
    assert post(f"https://hooks.slack.com/services/{SECRET}", RESULT) is None
    assert json.loads(sent[0]) == {"text": "check passed &lt;@everyone&gt;", "mrkdwn": False}
    assert post("https://hooks.slack.com.evil.example/", RESULT) is None
    assert json.loads(sent[1])["status"] == "passed"
