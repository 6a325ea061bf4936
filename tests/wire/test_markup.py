"""Markup that leaks into text is recognised by family, and ordinary text never is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.wire.assembler import markup_sought


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("<|tool_calls_section_begin|>", "kimi"),
        ("<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}<|tool_call_end|>", "kimi"),
        ('<tool_call>\n{"name": "f"}\n</tool_call>', "hermes"),
        ("</tool_call>", "hermes"),
        ("<｜tool▁calls▁begin｜>", "deepseek"),
        ("<|tool_call_begin|>", "kimi"),
        ("<｜DSML｜function_calls>", "deepseek"),
        ("<arg_key>city</arg_key>", "glm"),
        ("<minimax:tool_call>", "minimax"),
        ('<invoke name="f">', "minimax"),
        ("<|python_tag|>", "llama"),
        ("<function=f-1.x>", "llama"),
        ('[TOOL_CALLS][{"name": "f"}]', "mistral"),
        ("<|channel|>commentary", "harmony"),
        ("<seed:tool_call>", "seed"),
        ("<think>hm</think>", "thinking"),
        ("hm</think>", "thinking"),
    ],
)
def test_families(text: str, family: str) -> None:
    """Each family's own marks are found anywhere in the text."""
    assert family in markup_sought(f"Sure! {text} done")


@pytest.mark.parametrize(
    "text", ["", "a < b and c > d", "[1, 2]", "<b>bold</b>", "use the tool_call now", "think>", "[tool_calls]", "<|end"]
)
def test_ordinary_text(text: str) -> None:
    """Comparisons, lists, HTML and plain words are no leak."""
    assert not any(markup_sought(text))


@given(st.text(alphabet=st.characters(exclude_characters="<[")))
def test_text_without_brackets_is_never_markup(text: str) -> None:
    """Without an opening bracket there is nothing to find."""
    assert not any(markup_sought(text))
