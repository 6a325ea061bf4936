"""Vendors for these tests: a loopback server that answers bytes, and simulated ones in a folder of their own."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

# Path, headers in lower case, body → the whole answer from its status line on.
Answer = Callable[[str, Mapping[str, str], bytes], bytes]


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The address of a server that answers each POST so."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.wfile.write(answer(self.path, headers, body))
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def answered(body: bytes, status: str = "200 OK", kind: str = "application/json", **headers: str) -> bytes:
    """An HTTP answer that ends with its connection."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def streamed(*events: Any) -> bytes:
    """A stream of chat-completion events."""
    lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return answered(lines.encode(), kind="text/event-stream")


def prepare(folder: Path, entries: Sequence[str], keys: Mapping[str, str] | None = None, samples: int = 1) -> None:
    """Write config.yaml with these vendor entries of model m, .env and samples.jsonl."""
    lines = "".join(f"    - {{{entry}}}\n" for entry in entries)
    (folder / "config.yaml").write_text(f"m:\n  vendors:\n{lines}", encoding="utf-8")
    (folder / ".env").write_text("".join(f"{name}={key}\n" for name, key in (keys or {}).items()), encoding="utf-8")
    (folder / ".env").chmod(0o600)
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    tool = {"type": "function", "function": {"name": "look_up", "parameters": schema}}
    rows = (
        {"messages": [{"role": "user", "content": f"Please look up record {number}."}], "tools": [tool]}
        for number in range(samples)
    )
    (folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def simulated(*labels: str) -> list[str]:
    """Entries ``label`` or ``label=persona``; the first is the baseline."""
    entries = []
    for number, label in enumerate(labels):
        name, _, persona = label.partition("=")
        entry = f'name: simulated, label: {name}, model_id: m, url: "sim://{persona or name}"'
        entries.append(entry if number else f"{entry}, is_baseline: true")
    return entries
