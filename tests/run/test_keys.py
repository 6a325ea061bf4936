"""Keys from commands: fetched when needed, fetched anew when old, told to the scrubber, never shown."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio
import pytest

from vendor_verifier.errors import UsageError
from vendor_verifier.run.keys import KeyRing
from vendor_verifier.scrub import MASK, Scrubber
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.request import Endpoint

COUNTING = """
import pathlib, sys
calls = pathlib.Path(sys.argv[1])
calls.open("a").write("x")
print(f"token-number-{calls.stat().st_size}")
"""


def entry(*command: str) -> Entry:
    return Entry("m", "l", "vertex", Endpoint("https://x.example/v1", "id"), "openai", "account", key_command=command)


def test_a_command_s_key_is_kept_while_fresh_and_fetched_anew_when_old(tmp_path: Path) -> None:
    """One call serves many requests; after the time is up the next request gets the next token."""
    command = (sys.executable, "-c", COUNTING, str(tmp_path / "calls"))

    async def keys(refresh_after_s: float) -> list[str | None]:
        ring = KeyRing(Scrubber(), refresh_after_s)
        return [(await ring.endpoint(entry(*command))).key for _ in range(3)]

    assert anyio.run(keys, 60.0) == ["token-number-1"] * 3
    assert anyio.run(keys, 0.0) == ["token-number-2", "token-number-3", "token-number-4"]


def test_the_scrubber_learns_a_fetched_key_before_anyone_uses_it(tmp_path: Path) -> None:
    """What the vendor echoes of it is masked like any other key."""
    scrubber = Scrubber()
    command = (sys.executable, "-c", COUNTING, str(tmp_path / "calls"))
    anyio.run(KeyRing(scrubber).endpoint, entry(*command))
    assert scrubber.text("you sent token-number-1") == f"you sent {MASK}"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("no-such-program-here",), "there is no program"),
        ((sys.executable, "-c", "import sys; print('half-a-key'); sys.exit(3)"), "exit code 3"),
        ((sys.executable, "-c", "pass"), "printed no key"),
        ((sys.executable, "-c", "print('two words')"), "printed no key"),
    ],
)
def test_a_command_that_gives_no_key_says_so_without_its_output(command: tuple[str, ...], words: str) -> None:
    """The message names program and exit code, never what was printed."""
    with pytest.raises(UsageError) as caught:
        anyio.run(KeyRing(Scrubber()).endpoint, entry(*command))
    assert words in str(caught.value)
    assert "half-a-key" not in str(caught.value)


def test_an_entry_without_a_command_keeps_its_endpoint() -> None:
    """The usual case costs nothing."""
    plain = entry()
    assert anyio.run(KeyRing(Scrubber()).endpoint, plain) is plain.endpoint
