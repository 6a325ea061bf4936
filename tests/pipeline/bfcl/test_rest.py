"""Rest rows: sent only with keys, only to the host of the row's document, judged by the shape of what came back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from call_evaluations import called
from data_server import DataServer, serving_data

from vendor_verifier.pipeline.bfcl import hooks as rest
from vendor_verifier.records.record import Record, Score, TurnRecord
from vendor_verifier.records.request import HttpRequest, Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.store import RunFolder, encode_record
from vendor_verifier.suites.bfcl.checker import read_reply
from vendor_verifier.suites.bfcl.suite import BfclSuite

KEY = "real-key-0123456789"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[DataServer]:
    monkeypatch.setattr(rest, "PAUSE_S", 0)
    with serving_data(DataServer(files={"/zone": b'{"zone": "x", "offset": 1}'})) as server:
        yield server


def keys_at(service: DataServer) -> list[str | None]:
    return [headers.get("x-rapidapi-key") for headers in service.sent_headers]


def row(base: str, shape: dict[str, Any] | None = None) -> Sample:
    document = {
        "name": "requests.get",
        "parameters": {"type": "dict", "properties": {"url": {"type": "string", "default": f"{base}/zone"}}},
    }
    answer = [shape or {"dict": ["offset", "zone"]}]
    expected = {"id": "rest_0", "category": "rest", "functions": [document], "answer": answer}
    turn = Turn(({"role": "user", "content": "Which zone? My key is 'YOUR-RAPID-API-KEY'."},))
    return Sample("s-1", turn, expected, {"category": "rest"})


def fetched(folder: RunFolder, sample: Sample, arguments: dict[str, Any]) -> Score:
    """The score of a stored run in which a vendor made this one call."""
    attempt = called(("requests_get", arguments))
    record = Record("r", "m", "l", "v", "bfcl", sample.id, 0, (TurnRecord((attempt,)),))
    folder.create()
    folder.records_file.write_bytes(encode_record(record))
    rest.ask_services(folder, [sample], {"RAPID_API_KEY": KEY})
    return BfclSuite(rest=rest.read_verdicts(folder)).judge(sample, attempt)


def good_call(base: str) -> dict[str, Any]:
    return {"url": f"{base}/zone", "params": {"lat": 1}, "headers": {"X-RapidAPI-Key": "YOUR-RAPID-API-KEY"}}


def test_the_key_goes_to_the_service_only(service: DataServer, tmp_path: Path) -> None:
    """The placeholder becomes the real key; the run folder never holds it, nor any value answered. Nothing twice."""
    base = service.url
    folder = RunFolder(tmp_path / "run")
    for _ in range(2):
        assert fetched(folder, row(base), good_call(base)).values["correct"] == 1.0
    assert (service.asked, keys_at(service)) == (["GET /zone?lat=1"], [KEY])
    stored = (folder.path / rest.REST_FILE).read_text(encoding="utf-8")
    assert KEY not in stored
    assert base not in stored


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/zone", "http://example.org/zone", "https://127.0.0.1/zone", "file:///etc/passwd",
        "http://user@{host}/zone", "http://{host}.example.org/zone", "http://{host}@example.org/zone", "http://[", 5,
    ],
)  # fmt: skip
def test_other_hosts_are_never_asked(url: Any, service: DataServer, tmp_path: Path) -> None:
    """A call that leaves the document's host is wrong, and nothing goes out, the key least of all."""
    base = service.url
    place = url.format(host=base.removeprefix("http://")) if isinstance(url, str) else url
    score = fetched(RunFolder(tmp_path / "run"), row(base), {**good_call(base), "url": place})
    assert score.values["correct"] == 0.0
    assert score.details["error_type"] == "executable_checker_rest:execution_error"
    assert service.asked == []


@pytest.mark.parametrize(
    ("path", "shape", "correct", "error"),
    [
        ("missing", None, 0.0, "executable_checker_rest:wrong_status_code"),
        ("zone", {"dict": ["zone"]}, 0.0, "executable_checker_rest:wrong_key"),
        ("zone", {"list": [["zone"]]}, 0.0, "executable_checker_rest:wrong_type"),
        # A service that is down is nobody's fault.
        (None, None, None, "not_run"),
    ],
)
def test_answers_of_another_shape_are_wrong(
    path: str | None, shape: Any, correct: float | None, error: str, service: DataServer, tmp_path: Path
) -> None:
    base = service.url if path else "http://127.0.0.1:1"
    score = fetched(RunFolder(tmp_path / "run"), row(base, shape), {"url": f"{base}/{path}"})
    assert (score.values["correct"], score.details["error_type"]) == (correct, error)


def test_keys_are_found_by_their_placeholders() -> None:
    """A row says which keys it needs; a bare API-KEY is the one its question names. Odd headers are left out."""
    assert rest.needed_keys(row("https://a.example")) == {"RAPID_API_KEY"}
    document = {"name": "requests.get", "parameters": {"properties": {"url": {"default": "https://b/YOUR-API-KEY/x"}}}}
    turn = Turn(({"role": "user", "content": "YOUR-EXCHANGERATE-API-KEY"},))
    sample = Sample("s-1", turn, {"functions": [document]})
    reply = read_reply(
        called(("requests_get", {"url": "https://b/YOUR-API-KEY/x", "headers": {"Host": "c", "A": "\n"}}))
    )
    request = rest.request_of(sample, reply, {"EXCHANGERATE_API_KEY": "k"})
    assert isinstance(request, HttpRequest)
    assert (request.url, dict(request.headers)) == ("https://b/k/x", {})


def test_rest_rows_run_with_their_keys(bench: Any, service: DataServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the key in the environment the row is sent, asked about and judged; without it, the message names it."""
    base = service.url
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
    assert page["run"]["bfcl"]["not_run"] == {}
    assert len(bench.records()) == 1
    assert all(KEY not in path.read_text(encoding="utf-8") for path in Path("run").rglob("*.json*"))
    assert set(keys_at(service)) <= {None, KEY}
