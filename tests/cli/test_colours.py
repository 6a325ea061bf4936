"""Colours of the terminal go by what they mean, and nothing is said by colour alone."""

from __future__ import annotations

import ast
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from vendor_verifier.reports.formats import COLOURS

PACKAGE = Path(__file__).parents[2] / "vendor_verifier"
SGR = re.compile(r"\x1b\[[\d;]*m")
# What rich calls them; a style is one or more of these words.
STYLE_WORDS = set("red green yellow blue magenta cyan white black bold dim italic underline reverse not on".split())
THEME = PACKAGE / "reports" / "formats.py"


def shown_on_a_terminal(*words: str, **variables: str) -> str:
    """Everything that a command prints on a terminal of its own."""
    master, slave = pty.openpty()
    environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **variables}
    command = [sys.executable, "-m", "vendor_verifier", *words]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environ, close_fds=True):
        os.close(slave)
        said = b""
        while piece := _read(master):
            said += piece
    os.close(master)
    return said.decode()


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # Linux's word for the end of a terminal whose other side is closed
        return b""


def styles(path: Path) -> list[str]:
    """What a module gives as ``style=`` or ``header_style=`` in words, instead of by meaning."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    given = [word.value for call in calls for word in call.keywords if (word.arg or "").endswith("style")]
    texts = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return [text for text in texts if text and set(text.split()) <= STYLE_WORDS]


def test_one_module_names_colours() -> None:
    """Everything else asks for a meaning; two meanings that a reader must tell apart have two colours."""
    assert {path.name: styles(path) for path in PACKAGE.rglob("*.py") if path != THEME and styles(path)} == {}
    assert len({COLOURS[name] for name in ("good", "doubtful", "bad", "unusable", "unknown", "hint")}) == 6


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of this kind is not to be had there")
def test_a_mistake_is_red_on_a_terminal_and_plain_with_no_color() -> None:
    """The words are the same."""
    coloured = shown_on_a_terminal("report", "nowhere")
    plain = shown_on_a_terminal("report", "nowhere", NO_COLOR="1")
    assert "\x1b[31merror: nowhere" in coloured
    assert "\x1b[3" not in plain
    assert SGR.sub("", coloured) == SGR.sub("", plain)
