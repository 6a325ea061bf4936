"""A server of pages for one person: loopback only, read only, and only for who knows the token in the address.

A page of another site that a browser has open could reach a port of loopback, so a request must name this server as its
host, and its address the token. Runs are looked up in the list of runs: no path of a request reaches the disk.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from vendor_verifier.errors import RunFolderError, UsageError
from vendor_verifier.features.explain.view import STATES, first_line, grid, index_of, runs_in, shown_sample
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.reports.html import drawn, part, render
from vendor_verifier.store import RunFolder

HOST = "127.0.0.1"


def page(places: Sequence[Path], path: str, query: Mapping[str, str]) -> str:
    """The page of a path behind the token: "" (the runs), ``run``, ``sample`` or ``report``.

    Raises:
        LookupError: no such page, run or sample.
        ValueError: a number is none.
        RunFolderError: the run cannot be read.
    """
    style, runs = part("page.css") + part("view.css"), runs_in(places)
    if path == "":
        lines = [(name, folder.name, first_line(folder)) for name, folder in runs.items()]
        return drawn("view.html.j2", style, has_forms=True, kind=path, title="Runs", runs=lines)
    folder = runs[query["run"]]
    if path == "report":
        return render(score_folder(RunFolder(folder)))
    index = index_of(folder)
    content = {"run": grid, "sample": shown_sample}[path](index, query)
    content |= {"kind": path, "title": folder.name, "index": index, "states": STATES, "query": query}
    return drawn("view.html.j2", style, has_forms=True, **content)


class ViewServer(ThreadingHTTPServer):
    """Serves the runs in these folders on loopback, at ``address``.

    Raises:
        UsageError: the port is taken.
    """

    daemon_threads = True

    def __init__(self, places: Sequence[Path], port: int = 0) -> None:
        self.places, self.token = places, secrets.token_urlsafe(24)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise UsageError(f"--port {port} cannot be used: {error.strerror}. Leave it out for a free port.") from None
        self.address = f"http://{HOST}:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: ViewServer
    server_version, sys_version, timeout = "view", "", 30

    def do_GET(self) -> None:
        address, port = urlsplit(self.path), self.server.server_port
        token, _, path = address.path.removeprefix("/").partition("/")
        is_meant = self.headers.get("Host") in (f"{HOST}:{port}", f"localhost:{port}")
        status, body = 403, ""
        if is_meant and hmac.compare_digest(token.encode(), self.server.token.encode()):
            try:
                status, body = 200, page(self.server.places, path, dict(parse_qsl(address.query, max_num_fields=20)))
            except (LookupError, ValueError, RunFolderError):
                status = 404
        content = body.encode("utf-8", "backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing: the address holds the token, and stderr may be kept."""
