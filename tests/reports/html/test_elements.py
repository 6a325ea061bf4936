"""Whatever stands in an element is escaped once, and an element inside another is not escaped again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from page_reading import read_page

from vendor_verifier.reports.html.elements import element, lines, void


def test_attributes_are_named_as_html_names_them() -> None:
    """``class_`` and ``aria_label`` are the attributes of these names; None and False are none, True has no value."""
    drawn = element("p", "x", class_="a", aria_label="b", id=None, hidden=False, open=True, tabindex=0)
    assert drawn == '<p class="a" aria-label="b" open tabindex="0">x</p>'
    assert void("meta", name="viewport") == '<meta name="viewport">'


def test_an_empty_element_has_an_end() -> None:
    """``<div/>`` would swallow all that follows it."""
    assert element("div") == "<div></div>"
    assert element("div", None, "") == "<div></div>"


def test_elements_in_elements_and_on_lines_stay_elements() -> None:
    """Text is escaped beside them, and what is absent leaves no line."""
    inner = element("b", "<&>")
    assert element("p", "1 < 2 ", inner) == "<p>1 &lt; 2 <b>&lt;&amp;&gt;</b></p>"
    assert lines((inner, None, "<")) == "<b>&lt;&amp;&gt;</b>\n&lt;"


@given(st.text(), st.text())
def test_no_text_breaks_out(said: str, named: str) -> None:
    """Any text as content and as attribute comes back as it was, and opens no element."""
    page = read_page(element("p", said, title=named))
    assert page.faults == []
    assert page.elements == [("p", {"title": named})]
    assert "".join(page.texts.get("p", [])) == said
