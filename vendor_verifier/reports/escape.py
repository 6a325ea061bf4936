"""Makes text of vendors and data sets harmless where it is shown; one function per output."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import msgspec

MAX_TEXT = 300
# A sentence of ours may name every vendor, and its end often says what to do; no warning of ours is longer.
MAX_SENTENCE = 2_000

# Cc control, Cf format (bidi, zero width), Cs lone surrogate, Co private use, Cn unassigned, Zl and Zp line ends.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters, marks and symbols that draw nothing (fillers, grapheme joiner, blank Braille).
_BLANK_CHARACTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_MARKDOWN_SPECIAL = re.compile(r"([\\`*|\[\]~$])|(?<![A-Za-z0-9])(_)|(_)(?![A-Za-z0-9])")
_NO_COMMAND = re.compile(r":(?=:)|##(?=\[)")
# Spreadsheets read the full-width forms of these as the same operators.
_FORMULA_STARTS = "=+-@\uff1d\uff0b\uff0d\uff20"
_FORMULA = re.compile(rf"((?:^|[\n\t;])[\s'\"]*)(?=[{re.escape(_FORMULA_STARTS)}])")


def visible(text: str, limit: int = MAX_TEXT) -> str:
    """The text in one line of at most ``limit`` characters, which encodes to UTF-8: white space runs become one space,
    control, bidi and zero-width characters their escapes, and a cut is shown by ``…``."""
    # Far more than can be shown need not be looked at; an escape is never shorter than its character.
    shown = " ".join(text[: limit * 4].split())
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join(map(_visible_character, shown))
    return shown if len(shown) <= limit and len(text) <= limit * 4 else shown[: limit - 1] + "…"


def _visible_character(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN_CATEGORIES and character not in _BLANK_CHARACTERS:
        return character
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain(text: str, limit: int = MAX_TEXT) -> str:
    """Safe in a terminal and in a CI log: :func:`visible`, and nowhere ``::`` or ``##[`` (workflow commands)."""
    return _NO_COMMAND.sub(r"\g<0>\\", visible(text, limit))


def json_text(value: Any) -> str:
    """A value as indented ASCII JSON, whose escapes no terminal obeys; a number that is not finite is null."""
    text = json.dumps(msgspec.to_builtins(value))
    return json.dumps(json.loads(text, parse_constant=lambda _: None), indent=2)


def markdown(text: str, limit: int = MAX_TEXT) -> str:
    """Safe as a Markdown table cell or list item: no markup, HTML, link, cell border or block start survives."""
    shown = visible(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = _MARKDOWN_SPECIAL.sub(lambda match: "\\" + match.group(0), shown)
    shown = _NO_COMMAND.sub(r"\g<0>\\", shown)
    # GitHub makes links of bare addresses; a backslash does not stop it, an entity does.
    shown = shown.replace("://", "&#58;//").replace("www.", "www&#46;")
    shown = re.sub(r"^(\d{1,9})([.)])(?=\s|$)", r"\1\\\2", shown)
    return "\\" + shown if shown[:1] and shown[0] in "-+#=:" else shown


def markdown_code(text: str, limit: int = 1_000) -> str:
    """Safe as a code span of Markdown, whose fence is longer than any inside, so that nothing ends it early."""
    shown = plain(text, limit)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown[:1] == "`" or shown[-1:] == "`" else ""
    return f"{fence}{space}{shown}{space}{fence}"


def csv_text(text: str) -> str:
    """Safe as a text cell of a spreadsheet, in one line."""
    return spreadsheet_text(visible(text))


def spreadsheet_text(text: str) -> str:
    """The whole text as a cell of a spreadsheet; an operator gets an apostrophe at the start and after a line end, tab
    or semicolon, where some programs split."""
    shown = text.replace("\r\n", "\n")
    if not shown.isprintable():
        shown = "".join(each if each in "\t\n" else _visible_character(each) for each in shown)
    return _FORMULA.sub(r"\1'", shown)
