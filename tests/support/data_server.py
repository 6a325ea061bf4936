"""A server on loopback with files, the Hugging Face hub's addresses of data sets and their files, and its refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import unquote, urlsplit

COMMIT = "1234567890abcdef1234567890abcdef12345678"


@dataclass
class DataServer:
    """``files`` by path, ``sets`` by name and file, ``refusals`` and stated ``sizes``; ``asked`` are the requests."""

    sets: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refusals: dict[str, tuple[int, str]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    sent_headers: list[Mapping[str, str]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a request."""
        self.asked.append(f"{method} {path}")
        path = unquote(urlsplit(path).path)
        if path in self.files:
            return 200, {}, self.files[path]
        for name, files in self.sets.items():
            if path.startswith((f"/api/datasets/{name}", f"/datasets/{name}/resolve/")):
                return self._hub(name, files, path)
        code = {"X-Error-Code": "RepoNotFound"} if "/datasets/" in path else {}
        return (401 if code else 404), code, b"{}"

    def _hub(self, name: str, files: Mapping[str, bytes], path: str) -> tuple[int, dict[str, str], bytes]:
        if name in self.refusals:
            status, code = self.refusals[name]
            return status, {"X-Error-Code": code} if code else {}, b'{"error": "refused"}'
        _, _, rest = path.partition("/resolve/")
        if "/tree/" in path:
            listed = [{"type": "file", "path": file, "size": len(body), "oid": "0"} for file, body in files.items()]
            return 200, {}, json.dumps(listed).encode()
        if not rest:
            revision = path.partition("/revision/")[2] or "main"
            siblings = [{"rfilename": file, "size": self.sizes.get(file, len(body))} for file, body in files.items()]
            info = {"id": name, "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
            return self._known(revision) or (200, {}, json.dumps(info).encode())
        revision, _, file = rest.partition("/")
        if (unknown := self._known(revision)) is not None:
            return unknown
        if file not in files:
            return 404, {"X-Error-Code": "EntryNotFound"}, b""
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{sha1(files[file], usedforsecurity=False).hexdigest()}"'}
        # As the hub sends what is large: the content lies elsewhere.
        self.files[f"/cdn/{name}/{file}"] = files[file]
        return 302, {**headers, "Location": f"http://localhost:{self.port}/cdn/{name}/{file}"}, b""

    def _known(self, revision: str) -> tuple[int, dict[str, str], bytes] | None:
        return None if revision in ("main", "v1", COMMIT) else (404, {"X-Error-Code": "RevisionNotFound"}, b"{}")


def digest_of(content: bytes) -> str:
    return sha256(content).hexdigest()


@contextmanager
def serving_data(server: DataServer) -> Iterator[DataServer]:
    """``server`` on a free port, in threads of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            server.sent_headers.append({name.lower(): value for name, value in self.headers.items()})
            status, headers, content = server.answer(self.command, self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, format: str, *arguments: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.port = http.server_port
        Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield server
        finally:
            http.shutdown()
