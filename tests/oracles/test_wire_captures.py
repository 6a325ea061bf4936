"""What is read from the bytes that real servers sent, over a socket and the whole command."""

from __future__ import annotations

from adapters import HERE, RUN, answers, command, rows
from fault_server import FaultServer, Script, Seen, say, serving
from workbench import Bench

CAPTURES = HERE.parent / "wire" / "captures"
PROTOCOLS = {"responses": "openai_responses", "anthropic": "anthropic", "gemini": "gemini"}
# They say how the bytes were sent, and are written anew.
OF_THE_CONNECTION = ("transfer-encoding", "content-length", "connection", "keep-alive")


def play(_: FaultServer, seen: Seen) -> Script:
    """The capture that the first part of the path names."""
    head, _, body = (CAPTURES / seen.vendor).read_bytes().partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    kept = [line for line in lines if line.partition(b":")[0].decode().lower() not in OF_THE_CONNECTION]
    ends = [b"Content-Length: %d" % len(body), b"Connection: close"]
    return say(b"\r\n".join([status, *kept, *ends]) + b"\r\n\r\n" + body, end="close")


def test_fields_of_every_capture(bench: Bench) -> None:
    """Text, calls, finish, usage, identity and failure of 16 recorded answers of three servers."""
    names = sorted(path.name for path in CAPTURES.iterdir())
    with serving(play) as server:
        entries = (
            {"label": name, "url": f"{server.url(name)}/v1",
             "validator": PROTOCOLS.get(name.split(".")[1 + ("429" in name)], "openai")}
            for name in names
        )  # fmt: skip
        bench.configure(*entries)
        bench.samples(1)
        code, _, err = command([*RUN, "--retries", "0", "-o", "run"], bench.folder)
    assert code == 3, err
    found = answers(bench.folder / "run")
    expected = {row["capture"]: row["fields"] for row in rows("wire_fields.jsonl")}
    assert names == sorted(expected)
    assert found == expected
