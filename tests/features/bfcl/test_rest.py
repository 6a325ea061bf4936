"""Rest rows: sent only with keys, only to the host of the row's document, and judged by the shape of what came back."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from bfcl_replies import called

from vendor_verifier.features.bfcl.executables import REST_FILE, fetch_rest_answers, read_rest_answers
from vendor_verifier.redaction import Scrubber
from vendor_verifier.store import RunFolder, encode_record
from vendor_verifier.suites.bfcl.executable import RefusedCall, call_digest, needed_keys, request_of, with_keys
from vendor_verifier.suites.bfcl.suite import BfclSuite
from vendor_verifier.values.record import Record, TurnRecord
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Score

KEY = "real-key-0123456789"


class Service(BaseHTTPRequestHandler):
    """A service that answers by path and remembers what it was asked."""

    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("X-RapidAPI-Key")))
        status, body = (404, b"no") if "missing" in self.path else (200, b'{"zone": "x", "offset": 1}')
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet."""


@pytest.fixture
def service() -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    asked: list[tuple[str, str | None]] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Service,), {"asked": asked}))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def row(base: str, shape: dict[str, Any] | None = None) -> Sample:
    """One rest row about the service at ``base``."""
    document = {
        "name": "requests.get",
        "parameters": {"type": "dict", "properties": {"url": {"type": "string", "default": f"{base}/zone"}}},
    }
    expected = {
        "id": "rest_0",
        "category": "rest",
        "functions": [document],
        "answer": [shape or {"dict": ["offset", "zone"]}],
    }
    turn = Turn(({"role": "user", "content": "Which zone? My key is 'YOUR-RAPID-API-KEY'."},))
    return Sample("s-1", turn, expected, {"category": "rest"})


def fetched(folder: RunFolder, sample: Sample, arguments: dict[str, Any]) -> Score:
    """The score of a stored run in which a vendor made this one call."""
    attempt = called(("requests_get", arguments))
    record = Record("r", "m", "l", "v", "bfcl", sample.id, 0, (TurnRecord((attempt,)),))
    folder.create()
    folder.records_file.write_bytes(encode_record(record))
    fetch_rest_answers(folder, [sample], {"RAPID_API_KEY": KEY}, Scrubber([KEY]), pause_s=0)
    return BfclSuite(fetched=read_rest_answers(folder)).judge(sample, attempt)


def good_call(base: str) -> dict[str, Any]:
    return {"url": f"{base}/zone", "params": {"lat": 1}, "headers": {"X-RapidAPI-Key": "YOUR-RAPID-API-KEY"}}


def test_the_key_goes_to_the_service_and_nowhere_else(service: Any, tmp_path: Path) -> None:
    """The placeholder becomes the real key on the way out; the run folder never holds it, nor any value answered."""
    base, asked = service
    folder = RunFolder(tmp_path / "run")
    assert fetched(folder, row(base), good_call(base)).values["correct"] == 1.0
    assert asked == [("/zone?lat=1", KEY)]
    stored = (folder.path / REST_FILE).read_text(encoding="utf-8")
    assert KEY not in stored
    assert base not in stored
    assert json.loads(stored)["shape"] == {"dict": ["offset", "zone"]}


def test_nothing_is_asked_twice(service: Any, tmp_path: Path) -> None:
    """Resuming or scoring again uses what is stored."""
    base, asked = service
    folder = RunFolder(tmp_path / "run")
    for _ in range(2):
        fetched(folder, row(base), good_call(base))
    assert len(asked) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/zone", "http://example.org/zone", "https://127.0.0.1/zone", "file:///etc/passwd",
        "http://user@{host}/zone", "http://{host}.example.org/zone", "http://{host}@example.org/zone", "http://[",
    ],
)  # fmt: skip
def test_other_hosts_are_never_asked(url: str, service: Any, tmp_path: Path) -> None:
    """A call that leaves the document's host is wrong, and nothing goes out, the key least of all."""
    base, asked = service
    call = {**good_call(base), "url": url.format(host=base.removeprefix("http://"))}
    score = fetched(RunFolder(tmp_path / "run"), row(base), call)
    assert score.values["correct"] == 0.0
    assert score.details["error_type"] == "executable_checker_rest:execution_error"
    assert asked == []


@pytest.mark.parametrize(
    ("path", "shape", "error"),
    [
        ("missing", None, "executable_checker_rest:wrong_status_code"),
        ("zone", {"dict": ["zone"]}, "executable_checker_rest:wrong_key"),
        ("zone", {"list": [["zone"]]}, "executable_checker_rest:wrong_type"),
    ],
)
def test_answers_of_another_shape_are_wrong(path: str, shape: Any, error: str, service: Any, tmp_path: Path) -> None:
    """Status, type and keys are compared, values are not."""
    base, _ = service
    score = fetched(RunFolder(tmp_path / "run"), row(base, shape), {"url": f"{base}/{path}"})
    assert (score.values["correct"], score.details["error_type"]) == (0.0, error)


def test_a_call_nobody_asked_about_is_not_run() -> None:
    """Without the stored answer the row is nobody's fault."""
    sample = row("http://127.0.0.1:1")
    score = BfclSuite().judge(sample, called(("requests_get", good_call("http://127.0.0.1:1"))))
    assert score.values["correct"] is None
    assert score.details["error_type"] == "not_run"


def test_keys_are_found_by_their_placeholders() -> None:
    """A row says which keys it needs; a bare API-KEY is the one its question names."""
    sample = row("https://a.example")
    assert needed_keys(sample.expected, list(sample.turn.messages)) == {"RAPID_API_KEY"}
    question = "YOUR-EXCHANGERATE-API-KEY"
    document = {"name": "requests.get", "parameters": {"properties": {"url": {"default": "https://b/YOUR-API-KEY/x"}}}}
    expected = {"functions": [document]}
    assert needed_keys(expected, question) == {"EXCHANGERATE_API_KEY"}
    request = request_of(expected, {"url": "https://b/YOUR-API-KEY/x", "headers": {"Host": "c", "A": "\n"}})
    assert request.headers == {}
    assert with_keys(request, expected, question, {"EXCHANGERATE_API_KEY": "k"}).url == "https://b/k/x"


def test_a_call_without_an_address_is_refused() -> None:
    """No url, or params that are no object, cannot be sent."""
    sample = row("https://a.example")
    for arguments in ({}, {"url": 5}, {"url": "https://a.example/zone", "params": "lat=1"}):
        with pytest.raises(RefusedCall):
            request_of(sample.expected, arguments)
    assert call_digest("a", {"x": 1}) != call_digest("b", {"x": 1})


def test_from_the_command_line_rest_runs_with_its_keys(
    bench: Any, service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the key in the environment the row is sent, asked about and judged; without it, not run."""
    base, asked = service
    data = bench.folder / "package" / "data"
    replies = bench.folder / "package" / "eval_checker" / "executable_eval" / "data"
    data.mkdir(parents=True)
    replies.mkdir(parents=True)
    sample = row(base)
    line = {"id": "rest_0", "question": [[*sample.turn.messages]], "function": sample.expected["functions"]}
    (data / "BFCL_v3_rest.json").write_text(json.dumps(line) + "\n", encoding="utf-8")
    (replies / "rest-eval-response_v5.jsonl").write_text('{"zone": "y", "offset": 2}\n', encoding="utf-8")
    bench.configure("official: faithful")
    command = ("--config-file-path", "config.yaml", "--quiet", "--bfcl-data", str(data), "--bfcl-category", "rest")
    code, _, err = bench(*command, "-o", "without")
    assert code == 2
    assert "RAPID_API_KEY" in err
    monkeypatch.setenv("RAPID_API_KEY", KEY)
    assert bench(*command, "-o", "run")[0] == 0
    page = json.loads(Path("run/bfcl/official.json").read_text(encoding="utf-8"))
    assert page["run"]["bfcl"]["categories"]["rest"]["rows"] == 1
    assert all(KEY not in path.read_text(encoding="utf-8") for path in Path("run").rglob("*.json*"))
    assert [key for _, key in asked if key not in (None, KEY)] == []
