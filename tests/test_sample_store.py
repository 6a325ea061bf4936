"""Files of samples: plain and packed, damaged and too long."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from vendor_verifier.errors import DataError
from vendor_verifier.sample_store import open_lines, zstd_module

PACKINGS = {"gzip": gzip.compress, "zstd": zstd_module().compress}


@pytest.mark.parametrize("packing", PACKINGS)
def test_plain_and_packed_give_the_same_lines(tmp_path: Path, packing: str) -> None:
    """Compression is known by content, not by name, and changes nothing."""
    content = b"one\n\ntwo\r\nlast"
    plain, packed = tmp_path / "a.gz", tmp_path / "b.jsonl"
    plain.write_bytes(content)
    packed.write_bytes(PACKINGS[packing](content))
    assert list(open_lines(plain)) == list(open_lines(packed)) == [b"one\n", b"\n", b"two\r\n", b"last"]


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_bomb_is_stopped_long_before_it_fills_the_disk(tmp_path: Path, packing: str) -> None:
    """More than 500 times the file's size and 64 MB comes out of no data set; rows that repeat themselves are read."""
    bomb, repeating = tmp_path / "bomb", tmp_path / "rows"
    bomb.write_bytes(PACKINGS[packing]((b"x" * 2**20 + b"\n") * 66))
    with pytest.raises(DataError, match=r"bytes hold more than 67108864, as no data set does"):
        for _ in open_lines(bomb):
            pass
    row = b'{"messages": ["%d"], "tools": [' + b'{"name": "get_weather"}, ' * 40 + b"{}]}\n"
    repeating.write_bytes(PACKINGS[packing](b"".join(row % number for number in range(5000))))
    assert sum(1 for _ in open_lines(repeating)) == 5000


@pytest.mark.parametrize("packing", PACKINGS)
def test_damaged_packing_is_a_data_error(tmp_path: Path, packing: str) -> None:
    """A cut or overwritten archive says so instead of giving fewer lines silently."""
    packed = PACKINGS[packing](b"".join(b"line %d\n" % (number * number) for number in range(1000)))
    for name, content in (("cut", packed[:-9]), ("flipped", packed[:20] + b"\xff\xff" + packed[22:])):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"the {packing} data is damaged"):
            list(open_lines(path))


def test_oversize_line_is_cut_and_the_next_line_intact(tmp_path: Path) -> None:
    """One byte above the limit is kept, so that the reader refuses the line by its number."""
    path = tmp_path / "long"
    path.write_bytes(b"x" * 100 + b"\nnext\n")
    assert list(open_lines(path, max_line=10)) == [b"x" * 11, b"next\n"]
