"""What is read from the bytes that real servers sent, over a socket and the whole command."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from adapters import HERE, answers, command, rows

CAPTURES = HERE.parent / "wire" / "captures"
PROTOCOLS = {"responses": "openai_responses", "anthropic": "anthropic", "gemini": "gemini"}
# They say how the bytes were sent, and are written anew.
OF_THE_CONNECTION = ("transfer-encoding", "content-length", "connection", "keep-alive")
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"location": {"type": "string"}, "unit": {"type": "string"}},
            "required": ["location"],
        },
    },
}
SAMPLE = {"messages": [{"role": "user", "content": "What is the weather in Paris?"}], "tools": [TOOL]}


class Player(BaseHTTPRequestHandler):
    """Answers with the capture that the first part of the path names."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        head, _, body = (CAPTURES / self.path.split("/")[1]).read_bytes().partition(b"\r\n\r\n")
        status, *lines = head.split(b"\r\n")
        kept = [line for line in lines if line.partition(b":")[0].decode().lower() not in OF_THE_CONNECTION]
        ends = [b"Content-Length: %d" % len(body), b"Connection: close"]
        self.wfile.write(b"\r\n".join([status, *kept, *ends]) + b"\r\n\r\n" + body)
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Player)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_fields_of_every_capture(address: str, tmp_path: Path) -> None:
    """Text, calls, finish, usage, identity and failure of 16 recorded answers of three servers."""
    names = sorted(path.name for path in CAPTURES.iterdir())
    vendors = "".join(
        f'    - {{name: capture{number}, label: "{name}", model_id: m, url: "{address}/{name}/v1", '
        f"validator: {PROTOCOLS.get(name.split('.')[1 + ('429' in name)], 'openai')}}}\n"
        for number, name in enumerate(names)
    )
    (tmp_path / "config.yaml").write_text(f"m:\n  vendors:\n{vendors}", encoding="utf-8")
    keys = "".join(f"capture{number}=sk-{number}\n" for number in range(len(names)))
    (tmp_path / ".env").write_text(keys, encoding="utf-8")
    (tmp_path / ".env").chmod(0o600)
    (tmp_path / "samples.jsonl").write_text(json.dumps(SAMPLE) + "\n", encoding="utf-8")
    code, _, err = command(["run", "--test-file-path", "samples.jsonl", "--retries", "0", "-q", "-o", "run"], tmp_path)
    assert code == 3, err
    found = answers(tmp_path / "run")
    expected = {row["capture"]: row["fields"] for row in rows("wire_fields.jsonl")}
    assert names == sorted(expected)
    assert found == expected
