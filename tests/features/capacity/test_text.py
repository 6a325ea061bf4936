"""A search for capacity as it is printed, stored and told while it goes on."""

from __future__ import annotations

import os
from pathlib import Path

import capacity_reports
import msgspec
import pytest
from load_levels import Conduct, curve, visit

from vendor_verifier.features.capacity import store
from vendor_verifier.features.capacity.text import capacity_lines, level_line, verdict
from vendor_verifier.features.capacity.values import VendorCapacity
from vendor_verifier.words import Texts

GOLDEN = Path(__file__).parent / "golden" / "capacity.txt"


def test_the_printed_tables_are_the_golden_ones() -> None:
    """What a user reads changes only when somebody means it to (UPDATE_GOLDEN=1 replaces it)."""
    text = "\n".join(capacity_lines(capacity_reports.report())) + "\n"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_no_stranger_s_words_reach_the_terminal_as_they_are() -> None:
    """Neither a direction override nor a workflow command in a label survives."""
    text = "\n".join(capacity_lines(capacity_reports.report()))
    assert "\u202e" not in text
    assert "::error" not in text


def test_what_is_stored_is_read_back_as_it_was() -> None:
    """capacity.json holds the whole report: nothing is lost on the way there and back."""
    report = capacity_reports.report()
    assert store.read(store.render(report).encode()) == report


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"schema": 1}', b'{"schema": 99, "capacity": {}}'])
def test_other_documents_are_refused(text: bytes) -> None:
    """What is no such document is an error the caller can tell, not half a report."""
    with pytest.raises(msgspec.MsgspecError):
        store.read(text)


def test_a_later_schema_is_refused_by_its_number() -> None:
    """A document of a version that does not exist yet is not guessed at."""
    text = store.render(capacity_reports.report()).replace('"schema": 1,', '"schema": 2,', 1)
    with pytest.raises(msgspec.ValidationError, match="schema 2"):
        store.read(text.encode())


def test_a_level_is_told_in_one_line_when_it_is_judged() -> None:
    """Progress names vendor, level, the figures that matter, and what was missed."""
    known = curve()
    visit(known, Conduct(), "unloaded", 1, repetitions=2)
    point = visit(known, Conduct(misses=0.5), "level", 8)
    assert level_line("reseller", point, "concurrency", Texts("narrow")) == (
        "reseller: 8 in flight, 40 requests: success 1, TTFT p95 300 ms, F1 0.595 ✗ misses f1 >= ceiling - 0.05"
    )


def test_a_vendor_that_only_we_could_not_measure_is_not_said_to_bear_nothing() -> None:
    """Our own late clock at the first level is told as ours; of the vendor nothing is known, so nothing is said."""
    t = Texts("narrow")
    said = verdict(VendorCapacity("m", "l", "v", None, "client", broke_at=2), "concurrency", t)
    assert said.startswith("not measurable: at 2 in flight the client is the limit")
    known = verdict(VendorCapacity("m", "l", "v", 4, "client", broke_at=8), "concurrency", t)
    assert known.startswith("bears 4 in flight; not measurable beyond: at 8 in flight")
