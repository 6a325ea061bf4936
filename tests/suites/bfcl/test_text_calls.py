"""Calls written in text: read as upstream's own decoder read them, and no text of a vendor makes reading explode."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from bfcl_replies import said
from costs import assert_linear
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.suites.bfcl import text_calls
from vendor_verifier.suites.bfcl.literals import Undecodable
from vendor_verifier.suites.bfcl.reference_calls import written_calls
from vendor_verifier.suites.bfcl.replies import read_answer
from vendor_verifier.suites.bfcl.text_calls import MAX_TEXT, Reading, read_text

# What bfcl_eval 2026.3.23 decoded of texts of our own; null where it raised.
CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "decoded.jsonl").read_text(encoding="utf-8").splitlines()
]  # fmt: skip
FORMS = ("python", "java", "javascript", "json", "verbose_xml", "concise_xml")


@pytest.mark.parametrize("form", FORMS)
def test_texts_are_decoded_as_upstream_decodes_them(form: str) -> None:
    """Every recorded text of this form gives what upstream's decoder gave, or is refused as it refused."""
    cases = [case for case in CASES if case["form"] == form]
    assert len(cases) >= 15
    for case in cases:
        try:
            found = repr(read_text(case["text"], Reading(case["form"], case["tagged"])))
        except Undecodable:
            found = None
        assert found == case["decoded"], case


@given(st.text(), st.sampled_from(FORMS), st.booleans())
def test_any_text_is_decoded_or_refused(text: str, form: str, tagged: bool) -> None:
    """No text makes a reader raise anything else."""
    with suppress(Undecodable):
        read_text(text, Reading(form, tagged))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("python", "[f(a=9**9**9)]"),
        ("python", "[f(a='x'*10**9)]"),
        ("python", "[f(a=1<<10**9)]"),
        ("python", "[f(a=[0]*10**8)]"),
        ("python", "[f(a=" + "9**999*" * 14_000 + "1)]"),
        ("python", "[f(a=" + "[0]*9999+" * 10_000 + "[0])]"),
        ("python", "[f(a=" + "not " * 20_000 + "1)]"),
        ("python", "[f(a=" + "x[" * 150 + "1" + "]" * 150 + "." * 90_000 + ")]"),
        ("javascript", "f(a=" + "+-]" * 6_000),
        ("python", "[f(a=__import__('os').system('true')+1)]"),
        ("python", "[f(a=open('/etc/passwd')+1)]"),
        ("python", "[f(a=" + "[" * 5_000 + "]" * 5_000 + ")]"),
        ("python", "[f(a=" + "-" * 50_000 + "1)]"),
        ("java", "f(a=" + "(" * 4_000 + "1" + ")" * 4_000 + ")"),
        ("json", '[{"function":"f","parameters":' + "[" * 40_000 + "]" * 40_000 + "}]"),
        ("concise_xml", '<!DOCTYPE x [<!ENTITY a "aaaa">]><functions>&a;</functions>'),
    ],
)
def test_hostile_texts_are_refused(form: str, text: str) -> None:
    """Arithmetic without end, code, and depth without end stop at a bound and run nothing."""
    with pytest.raises(Undecodable):
        read_text(text, Reading(form))  # type: ignore[arg-type]


def test_a_source_that_was_given_up_leaves_nothing_behind() -> None:
    """The next source is read as if there had been none before."""
    with pytest.raises(Undecodable, match="steps"):
        read_text("f(a=" + "+-]" * 6_000, Reading("javascript"))
    assert read_text("[f(a=1)]", Reading("javascript")) == [{"f": {"a": "1"}}]


def test_a_text_beyond_the_bound_is_not_read() -> None:
    """The bound is said with what was read."""
    with pytest.raises(Undecodable, match=f"{MAX_TEXT + 1} characters"):
        read_text("x" * (MAX_TEXT + 1), Reading())


def test_objects_without_an_end_are_found_out_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstream's pattern splits such a text in exponentially many ways before it gives up."""
    monkeypatch.setattr(text_calls, "MAX_TEXT", 10**9)

    def read(text: str) -> None:
        assert read_text(text, Reading("json")) == []

    assert_linear(lambda size: partial(read, "[" + "{}," * size + "{}x]"), 1_000)


WORDS = st.text(alphabet="abc xyz'\"<&>é", max_size=8)
VALUES = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | WORDS
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["f", "a.b"]),
        st.dictionaries(st.sampled_from(["p", "q"]), VALUES | st.lists(VALUES, max_size=3), max_size=2),
    ),
    max_size=3,
)


@given(CALLS, st.sampled_from(["python", "json", "verbose_xml"]), st.booleans())
def test_what_is_written_is_read_again(calls: list[tuple[str, dict[str, object]]], form: str, tagged: bool) -> None:
    """Written in a form and read in the same form, calls are the same calls."""
    reading = Reading(form, tagged)  # type: ignore[arg-type]
    read = read_text(written_calls(calls, reading), reading)
    if form == "verbose_xml":
        # Attributes of XML keep no None: it is written as its name.
        assert [list(call) for call in read] == [[name] for name, _ in calls]
    else:
        # A sign before a number is the number's.
        assert read == [{name: arguments} for name, arguments in calls]


@pytest.mark.parametrize(
    ("text", "outcome"),
    [("[f(a=1)]", "calls"), ("no function fits", "text"), ("", "no_call"), ("[]", "no_call"), ("[f(a=1", "unparsable")],
)
def test_the_outcome_of_a_written_answer(text: str, outcome: str) -> None:
    """Words, an empty list, a call and one that was begun and cannot be read are told apart."""
    expected = {"category": "simple_python", "functions": [{"name": "f"}], "reading": {"form": "python"}}
    assert read_answer(expected, said(text)).outcome == outcome
