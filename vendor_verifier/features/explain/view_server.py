"""A server of one page for one person: loopback only, read only, and only for who knows the token in the address.

A page of another site that a browser has open could reach a port of loopback, so a request must name this server as its
host, and its address the token. Every text of a vendor is data in JSON; the page's policy allows no script but ours.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from vendor_verifier.errors import UsageError
from vendor_verifier.features.explain.run_index import Question, RunIndex
from vendor_verifier.features.explain.view_data import Filter, overview, shown_question, table
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.reports.html.page import drawn, part, render
from vendor_verifier.words import Texts

_HOST = "127.0.0.1"
_PAGE_WORDS = (
    "view_found", "view_more", "view_back", "view_sample", "view_report", "view_asked", "view_tools", "view_expected",
    "view_baseline", "view_repetition", "view_difference", "view_thinking", "view_no_text", "view_timing",
    "view_first_token", "view_tried", "view_again", "view_loading", "view_lost", "view_all",
)  # fmt: skip
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Site(msgspec.Struct):
    """The pages over an index, by their paths behind the token."""

    index: RunIndex
    t: Texts
    reports: dict[int, str] = msgspec.field(default_factory=dict)

    def page(self) -> str:
        """The one page; everything else it asks for itself."""
        words = {name: self.t(name, **_KEPT.get(name, {})) for name in _PAGE_WORDS}
        return drawn(
            "view.html.j2",
            self.t,
            part("view.js"),
            style=part("page.css") + part("view.css"),
            asks_its_server=True,
            words=json.dumps(words),
            overview=json.dumps(overview(self.index, self.t)),
        )

    def report(self, number: int) -> str:
        """The report of a run, whose examples lead to their samples here; made when it is first asked for."""
        if number not in self.reports:
            run = self.index.runs[number]
            self.reports[number] = render(score_folder(run.folder), evidence_at="../")
        return self.reports[number]

    def data(self, name: str, query: Mapping[str, str]) -> dict[str, Any]:
        """A table of questions, or one question.

        Raises:
            LookupError: no such data.
            ValueError: a number is none.
        """
        if name == "table":
            wanted = {key: query.get(key, "")[:1_000] for key in Filter.__struct_fields__}
            return table(self.index, Filter(**wanted), max(0, int(query.get("first", "0"))))
        if name == "question":
            return shown_question(self.index, Question(query["model"], query["suite"], query["sample"]), self.t)
        raise LookupError(name)


# Filled in by the page's script.
_KEPT: Mapping[str, Mapping[str, str]] = {
    "view_found": {"found": "{found}", "questions": "{questions}"},
    "view_repetition": {"number": "{number}"},
    "view_first_token": {"ms": "{ms}", "end": "{end}", "n": "{n}"},
    "view_tried": {"n": "{n}"},
}


class ViewServer:
    """Serves a site on loopback, from its making until it is closed.

    Raises:
        UsageError: the port is taken.
    """

    def __init__(self, site: Site, port: int = 0) -> None:
        self._token = secrets.token_urlsafe(24)
        try:
            self._server = ThreadingHTTPServer((_HOST, port), _handler(site, self._token))
        except OSError as error:
            raise UsageError(
                f"--port {port}: cannot serve there ({error.strerror}); leave it out for a free one"
            ) from None
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        """The page's address, with the token."""
        return f"http://{_HOST}:{self._server.server_address[1]}/{self._token}/"

    def serve(self) -> None:
        """Until ``close`` is called from elsewhere, or Ctrl-C."""
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """End ``serve`` in its thread, and give the port back."""
        self._server.shutdown()
        self._server.server_close()


def _handler(site: Site, token: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "view", ""
        timeout = 30

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            _, given, *rest = [*parts.path.split("/"), ""]
            port = self.server.server_address[1]  # type: ignore[index]  # a pair for IPv4
            is_meant = self.headers.get("Host") in (f"{_HOST}:{port}", f"localhost:{port}")
            if not is_meant or not hmac.compare_digest(given.encode(), token.encode()):
                self._answer(HTTPStatus.FORBIDDEN, "text/plain", b"")
                return
            query = {name: values[-1] for name, values in parse_qs(parts.query, max_num_fields=20).items()}
            try:
                kind, body = self._made([part for part in rest if part], query)
            except (LookupError, ValueError):
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"")
                return
            self._answer(HTTPStatus.OK, kind, body)

        def _made(self, path: list[str], query: Mapping[str, str]) -> tuple[str, bytes]:
            if not path:
                return "text/html", site.page().encode()
            if path[0] == "report" and len(path) == 2:
                return "text/html", site.report(int(path[1])).encode()
            if path[0] == "data" and len(path) == 2:
                return "application/json", json.dumps(site.data(path[1], query)).encode()
            raise LookupError("/".join(path))

        def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
            self.send_response(status)
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: the address holds the token, and stderr may be kept."""

    return Handler
