"""Colours of the terminal go by what they mean, and nothing is said by colour alone."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

SGR = re.compile(r"\x1b\[[\d;]*m")


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


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of this kind is not to be had there")
def test_a_mistake_is_red_on_a_terminal_and_plain_with_no_color() -> None:
    """The words are the same."""
    coloured = shown_on_a_terminal("report", "nowhere")
    plain = shown_on_a_terminal("report", "nowhere", NO_COLOR="1")
    assert "\x1b[31merror: nowhere" in coloured
    assert "\x1b[3" not in plain
    assert SGR.sub("", coloured) == SGR.sub("", plain)
