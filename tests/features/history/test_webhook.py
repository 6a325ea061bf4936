"""A webhook is told within bounded time over a safe way, and its address is never said."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import httpx2
import pytest
from costs import LONG_S, PATIENCE_S

from vendor_verifier.errors import UsageError
from vendor_verifier.features.history import nightly
from vendor_verifier.features.history.check import CheckResult
from vendor_verifier.features.history.nightly import check_webhook, post

SECRET = "T0000-CANARY"
RESULT = CheckResult(status="passed", exit_code=0, headline="check passed <@everyone>")


@contextmanager
def server(answer: bytes, *, wait_s: float = 0.0, drip: bool = False) -> Iterator[tuple[str, list[bytes]]]:
    """One loopback server for one request: its address and what it heard."""
    heard: list[bytes] = []
    stop = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            connection.settimeout(PATIENCE_S)
            heard.append(connection.recv(100_000))
            if not heard[0].endswith(b"}"):
                heard.append(connection.recv(100_000))
            stop.wait(wait_s)
            try:
                for byte in answer if drip else [answer]:
                    connection.sendall(bytes([byte]) if drip else answer)
                    if drip and stop.wait(0.2):
                        return
            except OSError:
                return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/{SECRET}?token={SECRET}", heard
    finally:
        stop.set()
        listening.close()
        thread.join(timeout=PATIENCE_S)


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
    ],
)
def test_whatever_is_answered_is_a_sentence_without_the_address(answer: bytes, words: str) -> None:
    """Errors, redirects (never followed) and nonsense are told, and the token is not."""
    with server(answer) as (address, _):
        trouble = post(address, RESULT)
    assert trouble is not None
    assert words in trouble
    assert SECRET not in trouble


@pytest.mark.parametrize("drip", [False, True])
def test_a_server_that_never_finishes_costs_a_bounded_time(drip: bool) -> None:
    """Silence, and one byte now and then, both end at the total limit."""
    endless = b"HTTP/1.1 200 OK\r\n" + b"x-pad: y\r\n" * 1000
    with server(endless, wait_s=0 if drip else LONG_S, drip=drip) as (address, _):
        began = time.monotonic()
        trouble = post(address, RESULT, total_s=0.5)
        assert 0.5 <= time.monotonic() - began < PATIENCE_S
    assert "did not answer within 0.5 s" in (trouble or "")


def test_a_name_server_that_is_silent_costs_a_bounded_time_too() -> None:
    """Looking up a name cannot be interrupted: neither the caller nor the end of the process waits for it."""
    code = (
        "import socket, time\n"
        "socket.getaddrinfo = lambda *a, **k: time.sleep(3600)\n"
        "from vendor_verifier.features.history.check import CheckResult\n"
        "from vendor_verifier.features.history.nightly import post\n"
        "print(post('https://slow.invalid/x', CheckResult(status='passed', exit_code=0, headline='h'), total_s=0.2))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert "did not answer within 0.2 s" in done.stdout


def test_a_library_s_own_mistake_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A webhook never changes the exit code, so not even what nobody foresaw gets out, nor its message."""

    def broken(*arguments: object, **options: object) -> None:
        raise AssertionError(SECRET)

    monkeypatch.setattr(httpx2, "Client", broken)
    trouble = post("https://example.com/x", RESULT)
    assert trouble == "the webhook at https://example.com cannot be reached (AssertionError)"


def test_an_endless_answer_is_not_read() -> None:
    """The status is all that counts; a huge body is left where it is."""
    with server(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n" + b"x" * 1000) as (address, _):
        assert post(address, RESULT, total_s=PATIENCE_S) is None


def test_nobody_listening_is_a_sentence() -> None:
    """A refused connection does not raise."""
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
