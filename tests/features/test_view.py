"""The pages of ``view``: what they show of runs, how they are filtered, whom the server answers, and how they look."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec import structs
from page_reading import read_page
from scored import MODEL, write_demo

from vendor_verifier.features.explain.view import Index, ViewServer, grid, index_of, shown_sample
from vendor_verifier.records.record import Response
from vendor_verifier.store import decode_record, encode_record

HOSTILE = "</p><script>alert(1)</script>\u202e\x1b[2J"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stored demo run; the first answer of ``slow`` is hostile text."""
    path = write_demo(tmp_path_factory.mktemp("runs"))
    lines = (path / "records.jsonl").read_bytes().splitlines(keepends=True)
    place = next(place for place, line in enumerate(lines) if decode_record(line).label == "slow")
    record = decode_record(lines[place])
    final = record.turns[-1].attempts[-1]
    final = structs.replace(final, response=Response(text=HOSTILE))
    turn = structs.replace(record.turns[-1], attempts=(*record.turns[-1].attempts[:-1], final))
    lines[place] = encode_record(structs.replace(record, turns=(*record.turns[:-1], turn)))
    (path / "records.jsonl").write_bytes(b"".join([b"{torn\n", *lines]))
    return path


@pytest.fixture(scope="module")
def index(run: Path) -> Index:
    return index_of(run)


@pytest.fixture
def address(index: Index) -> Iterator[str]:
    server = ViewServer(index)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield server.address
    server.shutdown()
    server.server_close()
    thread.join()


def asked(address: str, path: str = "", method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    parts = urlsplit(address)
    assert parts.hostname is not None
    line = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    line.request(method, parts.path + path, headers=headers)
    answer = line.getresponse()
    body = answer.read().decode()
    line.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


def found(index: Index, **wanted: str) -> set[str]:
    return {row["question"][2] for row in grid(index, wanted)["rows"]}


def test_answers_are_judged_against_the_baseline(index: Index) -> None:
    """The state of every vendor's answers; the baseline's own are fine."""
    states = {label: dict(counts) for label, counts in grid(index, {})["counts"].items()}
    assert index.labels[0] == "official"
    assert {state: count for state, count in states["official"].items() if count} == {"fine": 40}
    assert {state: count for state, count in states["padded"].items() if count} == {"fine": 20}
    assert states["text-leaker"]["decision"] == 7
    assert states["quantised"]["call"] == 1
    assert states["substitute"]["other"] > 0


def test_filters_choose_samples_by_one_answer(index: Index) -> None:
    """Vendor and verdict are of the same answer; text is searched in questions, answers and ids, in any case."""
    every, leaked = found(index), found(index, label="text-leaker", state="decision")
    assert len(every) == 20
    assert len(leaked) == 7
    assert found(index, label="padded", state="decision") == set()
    [hostile] = found(index, text="</P><SCRIPT>ALERT(1)")
    assert found(index, text=hostile) == {hostile}
    assert found(index, text="nowhere at all") == set()
    assert found(index, text="(") <= every
    assert found(index, suite="bfcl") == set()


def test_sample_shows_answers_with_differences(index: Index) -> None:
    """The baseline first, then what is wrong; every answer has what the baseline's says and it does not."""
    [name] = found(index, text="</p><script>")
    shown = shown_sample(index, {"model": MODEL, "suite": "trigger", "sample": name})
    answers = {answer.record.label: (answer, parts) for answer, parts in shown["answers"]}
    assert len(shown["answers"]) == 11
    assert shown["answers"][0][0].is_baseline
    assert {kind for kind, _ in answers["official"][1]} == {"same"}
    kinds = {kind for kind, _ in answers["slow"][1]}
    assert {"in", "out"} <= kinds
    with pytest.raises(KeyError):
        shown_sample(index, {"model": MODEL, "suite": "trigger", "sample": "none"})


def test_only_who_has_the_address_is_answered(address: str) -> None:
    """Another token, another host (a page that rebinds its name to loopback) and another method get nothing."""
    status, headers, body = asked(address)
    assert status == 200
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src &#39;none&#39;" in body
    assert asked(address[:-1] + "x/")[0] == 403
    assert asked(address, Host="evil.example")[0] == 403
    assert asked(address, method="POST")[0] == 501


@pytest.mark.parametrize(
    "path", ["nothing", "../../etc/passwd", "?first=x", "sample", "sample?model=a&suite=../../x&sample=b"]
)
def test_hostile_path_is_not_found(address: str, path: str) -> None:
    status, _, body = asked(address, path)
    assert (status, body) == (404, "")


def test_served_pages_are_well_formed_and_escaped(address: str) -> None:
    """The grid and a sample: hostile text is text, every link leads to one of the pages."""
    _, _, grid_page = asked(address, "?text=alert(1)")
    link = next(place for place in read_page(grid_page).attribute("href") if place.startswith("sample?"))
    for body in (grid_page, asked(address, link)[2]):
        page = read_page(body)
        assert page.faults == []
        assert not {tag for tag, _ in page.elements} & {"script", "img", "iframe"}
        assert not {"\u202e", "\x1b"} & set(body)
        assert all(place.split("?")[0] in ("./", "sample", "data:,") for place in page.attribute("href"))
    assert "&lt;script&gt;alert(1)" in grid_page
    assert "<ins>" in asked(address, link)[2]
