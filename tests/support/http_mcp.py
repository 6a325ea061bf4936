"""An MCP server over HTTP without the SDK, in a thread, that misbehaves at calls in the way it is told to."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

INFO = {"name": "web", "version": "1"}
RESULTS: dict[str, Any] = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": INFO},
    "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "z"}]},
}


class WebServer(ThreadingHTTPServer):
    """``way`` is how it misbehaves; ``seen`` are the headers of every request."""

    way = "good"
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: WebServer

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._send(b"", 405)

    do_DELETE = do_GET

    def do_POST(self) -> None:
        self.server.seen.append({name.lower(): value for name, value in self.headers.items()})
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, number = asked.get("method"), asked.get("id")
        if number is None:
            self._send(b"", 202)
            return
        if method == "tools/call" and self.server.way != "good":
            self._misbehave(number)
            return
        found = {"result": RESULTS[method]} if method in RESULTS else {"error": {"code": -32601, "message": "no"}}
        self._send(json.dumps({"jsonrpc": "2.0", "id": number, **found}).encode())

    def _misbehave(self, number: int) -> None:
        way = self.server.way
        if way == "die":
            self.close_connection = True
        elif way.isdigit():
            self._send(b"", int(way))
        elif way == "page":
            self._send(b"<html>", kind="text/html")
        else:
            text = "z" * 20_000_000 if way == "huge" else "z"
            body = {"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}]}}
            data = json.dumps(body).encode()
            packed = way == "packed"
            self._send(gzip.compress(data) if packed else data, encoding="gzip" if packed else "")

    def _send(
        self, data: bytes, status: int = 200, kind: str = "application/json", encoding: str | None = None
    ) -> None:
        self.send_response(status)
        if data:
            self.send_header("content-type", kind)
        if encoding:
            self.send_header("content-encoding", encoding)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:
            self.close_connection = True


@contextmanager
def web_server(way: str = "good") -> Iterator[WebServer]:
    """A server that misbehaves in one way, for the block."""
    with WebServer() as server:
        server.way = way
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
