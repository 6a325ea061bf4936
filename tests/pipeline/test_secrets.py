"""No key in any artefact, even when the vendor sends it back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

KEY = "CANARY/KEY+0123456789=abcdefgh"


class _Echo(BaseHTTPRequestHandler):
    """Says the caller's key back: in a 401 for odd requests, inside an answer for even ones."""

    protocol_version = "HTTP/1.1"
    seen: list[str] = []  # noqa: RUF012 emptied by the fixture

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        key = self.headers["authorization"]
        self.seen.append(key)
        if self.path.startswith("/refuses"):
            self._send(401, {"error": {"message": f"Incorrect API key provided: {key}, tail {KEY[-8:]}"}})
        else:
            message = {"role": "assistant", "content": f"you are {key}"}
            self._send(200, {"model": key, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    def _send(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def echo() -> Iterator[str]:
    _Echo.seen.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_key_that_a_vendor_echoes_reaches_no_file_and_no_screen(bench: Any, echo: str) -> None:
    """The key is really sent and really echoed, and stands in no record, manifest, report, stdout or stderr."""
    (bench.folder / ".env").write_text(f"echoing='{KEY}'\n")
    (bench.folder / ".env").chmod(0o600)
    (bench.folder / "config.yaml").write_text(
        "defaults: {validator: openai}\nkimi-k2:\n  vendors:\n"
        + "".join(
            f"    - {{name: echoing, label: {label}, model_id: m, url: '{echo}/{label}', api_key_env: echoing}}\n"
            for label in ("answers", "refuses")
        )
    )
    bench.samples(4)
    code, out, err = bench("--test-file-path", bench.folder / "samples.jsonl", "-o", bench.folder / "run", "--verbose")
    assert code == 3, err
    assert f"Bearer {KEY}" in _Echo.seen
    produced = [path.read_bytes() for path in (bench.folder / "run").rglob("*") if path.is_file()] + [
        out.encode(),
        err.encode(),
    ]
    for secret in (KEY, KEY[-8:]):
        assert not [data for data in produced if secret.encode() in data]
    assert any(b"[secret]" in data for data in produced)
