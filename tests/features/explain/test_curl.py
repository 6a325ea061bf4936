"""The curl of an explanation: a shell gives the request back as it was, with the key from a variable alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.features.explain.curl import KEY_PLACE, curl_command
from vendor_verifier.records.request import HttpRequest


def _run(command: str, folder: Path, **variables: str) -> tuple[list[str], str]:
    """What a shell hands to ``curl``: its arguments and its standard input."""
    fake = folder / "curl"
    if not fake.exists():
        fake.write_text('#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done\nprintf "\\0"\ncat\n')
        fake.chmod(0o700)
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": f"{folder}:/usr/bin:/bin", **variables}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    words, _, body = done.stdout.partition("\0\0")
    return words.split("\0"), body


def _request(text: str, headers: dict[str, str] | None = None) -> HttpRequest:
    body = json.dumps({"messages": [{"role": "user", "content": text}]}).encode()
    own = {"authorization": f"Bearer {KEY_PLACE}"} if headers is None else headers
    return HttpRequest("https://vendor.invalid/v1/chat/completions", own, body)


@pytest.mark.parametrize("text", ["plain", "JSON\n", "'; touch pwned; '", "$(touch pwned) `touch pwned`", "::error::x"])
def test_a_shell_reads_the_request_back(text: str, tmp_path: Path) -> None:
    """Body, address and header arrive as they were, the key from its variable, and nothing in the prompt is run."""
    words, body = _run(curl_command(_request(text), "VENDOR_KEY"), tmp_path, VENDOR_KEY="sk-1 2")
    assert json.loads(body)["messages"][0]["content"] == text
    assert "authorization: Bearer sk-1 2" in words
    assert "https://vendor.invalid/v1/chat/completions" in words
    assert not Path("pwned").exists()


@given(text=st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_the_command_is_printable_ascii_whatever_is_asked(text: str) -> None:
    """No control, bidi or workflow command reaches a terminal or CI log, and the body stays the same JSON."""
    command = curl_command(_request(text), "VENDOR_KEY")
    assert command.isascii()
    assert all(line.isprintable() for line in command.split("\n"))
    assert "::" not in command
    assert "##[" not in command
    assert json.loads(command.split("\n")[-2])["messages"][0]["content"] == text


def test_headers_of_strangers_are_not_expanded(tmp_path: Path) -> None:
    """A header with the key and shell signs expands the key alone."""
    request = _request("x", {"x-odd": f'$(touch pwned)"`{KEY_PLACE}', "x-other": "$HOME 'quoted'"})
    words, _ = _run(curl_command(request, "VENDOR_KEY"), tmp_path, VENDOR_KEY="k")
    assert 'x-odd: $(touch pwned)"`k' in words
    assert "x-other: $HOME 'quoted'" in words


@pytest.mark.parametrize("name", [None, "", "NOT A NAME", "A;touch pwned"])
def test_a_name_that_is_no_shell_variable_becomes_api_key(name: str | None) -> None:
    """Nothing but an identifier is put behind a dollar sign."""
    command = curl_command(_request("x"), name)
    assert "${API_KEY}" in command
    assert "touch" not in command
