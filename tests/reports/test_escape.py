"""Hostile text in every output: nothing hidden, nothing executed, nothing reordered."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.reports.escape import csv_text, markdown, plain, visible

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=80)


@given(ANYTHING)
def test_visible_text_holds_nothing_invisible(text: str) -> None:
    """Whatever comes in, one encodable line of drawable characters goes out; doing it twice changes nothing."""
    shown = visible(text)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert shown.encode().decode() == shown == shown.strip() == visible(shown)


@given(ANYTHING, st.integers(1, 40))
def test_text_is_cut_to_the_limit(text: str, limit: int) -> None:
    assert len(visible(text, limit)) <= limit


def test_ordinary_names_stay_as_they_are() -> None:
    for name in ("google-vertex (openrouter)", "z.ai", "429.icu", "siliconflow_OR", "智谱 AI", "minimax/minimax-m2.5"):
        assert name == visible(name) == plain(name) == markdown(name) == csv_text(name)


def test_escapes_name_the_character() -> None:
    assert visible("a\x1b[2Jb\u202ec\u200bd\U000e0041") == "a\\x1b[2Jb\\u202ec\\u200bd\\U000e0041"
    assert visible("a\r\n\tb\u2028c") == "a b c"
    assert visible("\ud800") == "\\ud800"


@pytest.mark.parametrize("text", ["::error::x", " \n ::error::x", "\u2029::x"])
def test_no_workflow_command_starts_a_line(text: str) -> None:
    """A CI log cannot be given orders by a label, wherever its line is wrapped."""
    assert plain(text).startswith(":\\:error" if "error" in text else ":\\:x")
    assert markdown(text).startswith("\\:\\:")
    for hostile in (text, "a ::b", ":::::", "x ##[error]y"):
        for escape in (plain, markdown):
            assert "::" not in escape(hostile)
            assert "##[" not in escape(hostile)


@given(ANYTHING)
def test_markdown_has_no_live_character(text: str) -> None:
    """Every character that could open markup, HTML, a cell or a link is escaped."""
    shown = markdown(text)
    assert not re.search(r"[<>\n]", shown)
    bare = re.sub(r"\\[\\`*|\[\]~$_\-+#=:.)]", "", shown)
    assert not re.search(r"[`*|\[\]~$]", bare)
    assert "://" not in shown
    assert not re.match(r"([-+#=:]|\d{1,9}[.)](\s|$))", shown)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", "\u00a0@", "＝"])
def test_csv_formula_is_defused(start: str) -> None:
    """A text that a spreadsheet would run gets an apostrophe, however its operator is hidden."""
    assert csv_text(start + "1+1")[0] == "'"


@pytest.mark.parametrize("hidden", ["\u200b", "\ufeff", "\u2060", "\x00"])
def test_csv_zero_width_cannot_hide_an_operator(hidden: str) -> None:
    assert csv_text(hidden + "=1")[0] == "\\"
