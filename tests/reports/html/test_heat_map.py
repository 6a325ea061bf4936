"""The picture of samples × vendors: a point an answer, in a PNG that any reader can open."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Sequence

from vendor_verifier.records.details import Agreement, ComparedAnswer
from vendor_verifier.reports.html.charts import Seen
from vendor_verifier.reports.html.heat_map import AGREEMENTS, HeatRow, heat_map

NAMES = {each: each for each in AGREEMENTS}


def row(index: int, found: Sequence[Agreement]) -> HeatRow:
    answers = tuple(ComparedAnswer("trigger", f"s{place}", each) for place, each in enumerate(found))
    return HeatRow(Seen(index, f"vendor {index}"), answers, "told")


def points(rows: Sequence[HeatRow]) -> list[list[Agreement]]:
    """What the drawn PNG shows, row by row, read back from its chunks."""
    drawn = str(heat_map(rows, NAMES, label="heat"))
    found = re.search(r'href="data:image/png;base64,([^"]+)"', drawn)
    assert found is not None
    data = base64.b64decode(found[1], validate=True)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(name + body)
        chunks[name] = body
        at += 12 + length
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (height, depth, kind) == (len(rows), 8, 3)
    assert len(chunks[b"PLTE"]) == 3 * len(AGREEMENTS)
    lines = zlib.decompress(chunks[b"IDAT"])
    return [
        [AGREEMENTS[code] for code in lines[line * (width + 1) + 1 : (line + 1) * (width + 1)]]
        for line in range(height)
    ]


def test_every_answer_is_a_point_and_what_most_answer_otherwise_stands_left() -> None:
    """Samples stand in the order of how many vendors do not agree, the same for every vendor."""
    good, bad = row(0, ["agrees", "agrees", "differs"]), row(1, ["agrees", "cut", "failed"])
    assert points([good, bad]) == [["differs", "agrees", "agrees"], ["failed", "cut", "agrees"]]


def test_a_sample_that_a_vendor_was_not_asked_is_unknown() -> None:
    """A gap is no agreement."""
    assert points([row(0, ["differs", "agrees"]), row(1, ["agrees"])]) == [["differs", "agrees"], ["agrees", "unknown"]]


def test_it_stays_small() -> None:
    """Forty vendors × 400 samples take less than 25 kB."""
    pattern: list[Agreement] = ["agrees", "agrees", "differs", "agrees", "failed", "cut", "agrees"]
    rows = [row(index, [pattern[(7 * place + index * place) % 7] for place in range(400)]) for index in range(40)]
    assert len(str(heat_map(rows, NAMES, label="heat"))) < 25_000
