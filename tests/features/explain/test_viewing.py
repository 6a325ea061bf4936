"""The viewing page: what it is told of runs, whom it answers, and how it looks and works in a browser."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from browsers import CHROMIUM, launched, window
from known_answers import HOSTILE, known_run

from vendor_verifier.features.explain.run_index import RunIndex, build_index
from vendor_verifier.features.explain.view_data import Filter, difference, overview, shown_question, table
from vendor_verifier.features.explain.view_server import Site, ViewServer
from vendor_verifier.store import RunFolder
from vendor_verifier.words import Texts

EN = Texts()
MODEL = "simulated-model"


@pytest.fixture
def index(bench: Any) -> RunIndex:
    return build_index([known_run(bench)])


@pytest.fixture
def address(index: RunIndex) -> Iterator[str]:
    """The page, served."""
    server = ViewServer(Site(index, EN))
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield server.address
    server.close()
    thread.join()


def standings(index: RunIndex, **wanted: str) -> dict[tuple[int, str], str]:
    """(place of the sample, vendor) to how the answer stands, of the questions that pass a filter."""
    ids = [question.sample for question in index.cells]
    return {
        (ids.index(row["sample"]), answer["label"]): answer["standing"]
        for row in table(index, Filter(**wanted), 0)["rows"]
        for answer in row["answers"]
    }


def test_every_answer_stands_as_explain_says(index: RunIndex) -> None:
    """A wrong type, a refused request, a call missed beside the baseline's, and what is right."""
    assert standings(index) == {
        (0, "official"): "fine", (1, "official"): "fine", (0, "other"): "call", (1, "other"): "failed",
        (0, "third"): "decision", (1, "third"): "fine",
    }  # fmt: skip


def test_filters_choose_questions_by_one_answer(index: RunIndex) -> None:
    """Vendor and standing are of the same answer; texts are searched in questions and answers, in any case."""
    assert {place for place, _ in standings(index, standing="failed")} == {1}
    assert {place for place, _ in standings(index, standing="fine", label="third")} == {1}
    assert standings(index, standing="failed", label="third") == {}
    assert {place for place, _ in standings(index, text="::ERROR::NO")} == {0}
    assert {place for place, _ in standings(index, text='"id": "one"')} == {0}
    assert {place for place, _ in standings(index, text="busy")} == {1}
    assert standings(index, text="nowhere at all") == {}
    assert standings(index, suite="bfcl") == {}


def test_runs_stand_beside_each_other(bench: Any) -> None:
    """The same samples of two runs share their rows; columns are of both."""
    folder = known_run(bench)
    both = build_index([folder, folder])
    assert len(both.cells) == 2
    assert both.answers == 12
    assert both.columns[:2] == [(0, "official"), (0, "other")]
    assert overview(both, EN)["runs"] == [folder.read_manifest().run] * 2


def test_a_question_is_shown_with_all_its_evidence(index: RunIndex) -> None:
    """Baseline first; violations with their place, moments in ms, failures, and the difference from the baseline."""
    first, second = index.cells
    shown = shown_question(index, first, EN)
    official, other, third = shown["answers"]
    assert official["is_baseline"]
    assert official["difference"] is None
    assert other["violations"][0]["pointer"] == "/id"
    assert other["verdicts"] == [{"tool": "look_up", "verdict": "schema_mismatch"}]
    assert ("out", "1})") in other["difference"]
    assert third["reasons"] == ["disagreement: not_called, the baseline called"]
    assert official["timing"]["chunk_ms"] == [250.0, 300.0, 700.0, 800.0]
    assert official["curl"].count("curl") >= 1
    assert shown_question(index, second, EN)["answers"][1]["failures"] == ["overloaded: busy"]


def test_what_a_vendor_wrote_hides_nothing(index: RunIndex) -> None:
    """Escapes of terminals and turned writing are made visible; nothing else is lost."""
    text = shown_question(index, next(iter(index.cells)), EN)["answers"][1]["text"]
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "::error::no" in text
    assert "\x1b" in HOSTILE


def test_a_difference_gives_back_both_texts() -> None:
    """What is the same and what is out make the one, the same and in the other."""
    parts = difference("a b c d".split(), "a x c d e".split())
    assert " ".join(text for kind, text in parts if kind != "in") == "a b c d"
    assert " ".join(text for kind, text in parts if kind != "out") == "a x c d e"


def asked(address: str, path: str = "", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a GET below the page's address."""
    parts = urlsplit(address)
    assert parts.hostname is not None
    line = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    line.request("GET", parts.path + path, headers=headers)
    answer = line.getresponse()
    body = answer.read()
    line.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


def test_only_who_has_the_address_is_answered(address: str) -> None:
    """Another token, another host (a page that rebinds its name to loopback) and another method get nothing."""
    assert asked(address)[0] == 200
    assert asked(address[:-1] + "x/")[0] == 403
    assert asked(address, "", Host="evil.example")[0] == 403
    parts = urlsplit(address)
    line = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=60)
    line.request("POST", parts.path + "data/table", body=b"{}")
    assert line.getresponse().status == 501
    line.close()


@pytest.mark.parametrize(
    "path", ["nothing", "data/nothing", "data/table?first=x", "report/9", "report/x", "data/question?model=a", "../../"]
)
def test_what_is_not_there_is_404(address: str, path: str) -> None:
    """No traceback, no file of the disk."""
    status, _, body = asked(address, path)
    assert (status, body) in ((404, b""), (403, b""))


def test_the_page_may_ask_its_server_and_nobody_else(address: str) -> None:
    """Its policy names its own two texts; answers are never kept or sniffed."""
    _, headers, body = asked(address)
    assert b"connect-src &#39;self&#39;" in body
    assert b"default-src &#39;none&#39;" in body
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


def test_the_served_report_leads_into_the_page(address: str, index: RunIndex) -> None:
    """An example's sample is a link in the served copy, and only there: the mailed one has no such address."""
    served = asked(address, "report/0")[2].decode()
    question = next(iter(index.cells))
    assert (
        f'href="../#{urlencode({"model": MODEL, "suite": "trigger", "sample": question.sample})}"'.replace("&", "&amp;")
        in served
    )
    mailed = (index.runs[0].folder.path / "report.html").read_text(encoding="utf-8")
    assert 'href="../#' not in mailed


def test_a_port_that_is_taken_is_a_sentence(bench: Any, address: str) -> None:
    """Not a traceback."""
    folder = RunFolder(bench.folder / "run")
    port = urlsplit(address).port
    code, _, err = bench("view", folder.path, "--print", "--port", str(port))
    assert code == 2
    assert f"--port {port}: cannot serve there" in err


def test_an_unreadable_line_hides_no_other(bench: Any) -> None:
    """As scoring leaves it out."""
    folder = known_run(bench)
    folder.records_file.write_bytes(b"{torn\n" + folder.records_file.read_bytes())
    found = build_index([folder])
    assert found.answers == 6
    assert [record.label for _, record in found.records(next(iter(found.cells)))] == ["official", "other", "third"]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: the page was not tried in a browser")
def test_a_person_filters_opens_and_compares(address: str, tmp_path: Path) -> None:
    """In a browser: the table, a filter, a question, the difference, back; nothing on the console."""
    with launched() as browser:
        page = window(browser)
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(address)
        page.wait_for_selector("#table tbody tr")
        assert page.locator("#table tbody tr").count() == 2
        page.select_option("select[name=standing]", "failed")
        page.wait_for_selector("#table tbody tr:only-child .stands-failed")
        page.select_option("select[name=standing]", "call")
        page.wait_for_selector(".stands-call")
        page.click("#table tbody tr a")
        page.wait_for_selector(".answers article")
        assert page.locator(".answers article").count() == 3
        assert "/id" in page.inner_text(".answers")
        page.click("#differ")
        assert page.locator(".difference del").count() > 0
        page.go_back()
        page.wait_for_selector("#table:not([hidden]) tbody tr")
        assert said == []
