"""Samples in a file: the same sequence as a list of them, in a fraction of its memory."""

from __future__ import annotations

import json
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.errors import RunFolderError, StorageError
from vendor_verifier.loaders import read_dataset_file
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import ChosenSamples, Sample, Source, listed
from vendor_verifier.sample_store import Shelf, is_shelved, lines_of

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


def bytes_a_sample(make: Callable[[int], object]) -> float:
    """What each further sample costs, beside what the first thousand cost: caches are full by then."""
    sizes = []
    for count in (1000, 5000):
        tracemalloc.start()
        held = make(count)
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        del held
    return (sizes[1] - sizes[0]) / 4000


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


@given(samples=SAMPLES)
def test_a_shelf_may_be_read_while_it_grows(samples: list[Sample]) -> None:
    """What was read before does not disturb what is put on later."""
    shelf = Shelf()
    for place, sample in enumerate(samples):
        shelf.append(sample)
        assert shelf[place] == sample
        assert shelf[0] == samples[0]
    assert list(shelf) == samples


@given(samples=SAMPLES, data=st.data())
def test_lines_are_copied_as_they_are_written(samples: list[Sample], data: st.DataObject) -> None:
    """A shelf, a choice from it and a list of the same samples make the same file."""
    places = data.draw(st.lists(st.sampled_from(range(len(samples))), unique=True)) if samples else []
    shelf, chosen = filled(samples), [samples[place] for place in places]
    assert b"".join(lines_of(shelf)) == b"".join(lines_of(samples))
    assert b"".join(lines_of(ChosenSamples(shelf, places))) == b"".join(lines_of(chosen))


@given(samples=SAMPLES, data=st.data())
def test_shelved_samples_are_those_of_their_file(samples: list[Sample], data: st.DataObject) -> None:
    """Read again they are the same; of samples that stand nowhere as lines this is not said."""
    places = data.draw(st.lists(st.sampled_from(range(len(samples))), unique=True)) if samples else []
    shelf = filled(samples)
    for shelved in (shelf, ChosenSamples(shelf, places)):
        assert is_shelved(shelved)
        with tempfile.NamedTemporaryFile() as file:
            file.writelines(lines_of(shelved))
            file.flush()
            assert list(Shelf(Path(file.name))) == list(shelved)
    assert not is_shelved(samples)
    assert not is_shelved(ChosenSamples(listed(samples), places))


def test_a_line_that_is_no_sample_is_an_error_of_its_file(tmp_path: Path) -> None:
    """What has an id is let in, and refused by name when it is asked for and turns out to be no sample."""
    path = tmp_path / "trigger.jsonl"
    path.write_bytes(b'{"id": "a-1", "turn": 5}\n')
    shelf = Shelf(path)
    with pytest.raises(RunFolderError, match=r"trigger\.jsonl cannot be read"):
        shelf[0]


def test_a_full_disk_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples that cannot be kept end the run in words, not in a traceback."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(StorageError, match="TMPDIR"):
        Shelf()


def test_a_sample_on_a_shelf_takes_less_than_150_bytes() -> None:
    """Its id and where its line begins, whatever is in it."""
    assert bytes_a_sample(lambda count: filled([Sample(f"{n:018}", Turn(())) for n in range(count)])) < 150


def test_loading_a_file_holds_no_sample() -> None:
    """What reading remembers of a row, to number equal ones, and the shelf's own, stay under 300 bytes."""

    def load(count: int) -> object:
        shelf = Shelf()
        lines = (row(number) for number in range(count))
        return shelf, read_dataset_file(lines, dataset="d", file=Path("d.jsonl"), keep=shelf.append)

    assert bytes_a_sample(load) < 300


def test_samples_that_are_kept_elsewhere_are_not_in_the_result() -> None:
    """Whoever takes samples one by one gets each once, in order; the defects are told all the same."""
    taken: list[Sample] = []
    lines = [row(1), row(2), row(1)]
    loaded = read_dataset_file(lines, dataset="d", file=Path("d"), keep=taken.append)
    whole = read_dataset_file(lines, dataset="d", file=Path("d"))
    assert loaded.samples == ()
    assert tuple(taken) == whole.samples
    assert loaded.defects == whole.defects != ()
