"""Files of samples: plain and packed, damaged and too long, and sequences of samples that stay in a file."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import DataError
from vendor_verifier.loaders import read_dataset_file
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import ChosenSamples, Sample, Source
from vendor_verifier.sample_store import Shelf, lines_of, open_lines

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8) | st.just("half a pair: \ud83d"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
OBJECTS = st.dictionaries(st.text(max_size=4), JSON, max_size=3)
TURNS = st.builds(
    Turn,
    messages=st.lists(OBJECTS, max_size=2).map(tuple),
    tools=st.lists(OBJECTS, max_size=2).map(tuple),
    parameters=OBJECTS,
    stream=st.booleans(),
    thinking=st.sampled_from(["on", "off", None]),
    fixed=st.lists(st.text(max_size=3), max_size=2).map(tuple),
)
SAMPLES = st.lists(
    st.builds(
        Sample,
        id=st.text("abc", min_size=1, max_size=3),
        turn=TURNS,
        expected=OBJECTS,
        tags=OBJECTS,
        source=st.none() | st.builds(Source, st.text("xyz"), st.integers(1, 99)),
    ),
    max_size=8,
)
TOOL = {"type": "function", "function": {"name": "f", "description": "words " * 20, "parameters": {"type": "object"}}}


def filled(samples: list[Sample]) -> Shelf:
    shelf = Shelf()
    for sample in samples:
        shelf.append(sample)
    return shelf


def row(number: int) -> bytes:
    question = {"role": "user", "content": f"What is the weather on day {number}?"}
    return json.dumps({"messages": [question], "tools": [TOOL]}).encode() + b"\n"


@given(samples=SAMPLES, data=st.data())
def test_a_shelf_is_the_list_that_was_put_on_it(samples: list[Sample], data: st.DataObject) -> None:
    """Length, order, places from either end, slices, ids and a look-up by id, in whatever order they are asked for."""
    shelf = filled(samples)
    assert (len(shelf), list(shelf), list(shelf.ids)) == (len(samples), samples, [sample.id for sample in samples])
    if samples:
        place = data.draw(st.integers(-len(samples), len(samples) - 1))
        assert shelf[place] == samples[place]
    cut = data.draw(st.slices(len(samples)))
    assert list(shelf[cut]) == samples[cut]
    last = {sample.id: sample for sample in samples}
    assert {name: shelf.named(name) for name in last} == last
    assert shelf.named("nobody") is None
    with pytest.raises(IndexError):
        shelf[len(samples)]


@given(samples=SAMPLES, data=st.data())
def test_lines_are_copied_as_they_are_written(samples: list[Sample], data: st.DataObject) -> None:
    """A shelf, a choice from it and a list of the same samples make the same file."""
    places = data.draw(st.lists(st.sampled_from(range(len(samples))), unique=True)) if samples else []
    shelf, chosen = filled(samples), [samples[place] for place in places]
    assert b"".join(lines_of(shelf)) == b"".join(lines_of(samples))
    assert b"".join(lines_of(ChosenSamples(shelf, places))) == b"".join(lines_of(chosen))


def test_samples_that_are_kept_elsewhere_are_not_in_the_result() -> None:
    """Whoever takes samples one by one gets each once, in order; the defects are told all the same."""
    taken: list[Sample] = []
    lines = [row(1), row(2), row(1)]
    loaded = read_dataset_file(lines, dataset="d", file=Path("d"), keep=taken.append)
    whole = read_dataset_file(lines, dataset="d", file=Path("d"))
    assert loaded.samples == ()
    assert tuple(taken) == whole.samples
    assert loaded.defects == whole.defects != ()


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


PACKINGS = {"gzip": gzip.compress, "zstd": zstd.compress}


@pytest.mark.parametrize("packing", PACKINGS)
def test_plain_and_packed_give_the_same_lines(tmp_path: Path, packing: str) -> None:
    """Compression is told by content, not by name, and changes nothing."""
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
    with pytest.raises(DataError, match=r"bytes unpack to more than 67108864, as no data set does"):
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
