"""Keys from commands: fetched when needed, fetched anew when old, told to the scrubber, never shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
import pytest
from costs import PATIENCE_S

from vendor_verifier.errors import UsageError
from vendor_verifier.records.plan import Entry
from vendor_verifier.records.request import Endpoint
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.api_keys import KeyRing

COUNTING = """
import pathlib, sys
calls = pathlib.Path(sys.argv[1])
calls.open("a").write("x")
print(f"token-number-{calls.stat().st_size}")
"""


def entry(*command: str) -> Entry:
    return Entry("m", "l", "vertex", Endpoint("https://x.example/v1", "id"), "openai", "account", key_command=command)


def test_a_command_s_key_is_kept_while_fresh_and_fetched(tmp_path: Path) -> None:
    """One call serves many requests; after the time is up the next request gets the next token."""
    command = (sys.executable, "-c", COUNTING, str(tmp_path / "calls"))

    async def keys(refresh_after_s: float) -> list[str | None]:
        ring = KeyRing(Scrubber(), refresh_after_s)
        return [(await ring.endpoint(entry(*command))).key for _ in range(3)]

    assert anyio.run(keys, 60.0) == ["token-number-1"] * 3
    assert anyio.run(keys, 0.0) == ["token-number-2", "token-number-3", "token-number-4"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("no-such-program-here",), "there is no such program"),
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


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A child that nobody has waited for yet is dead all the same.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


async def _until_gone(file: Path) -> None:
    with anyio.fail_after(PATIENCE_S):
        while any(_alive(int(pid)) for pid in file.read_text().split()):
            await anyio.sleep(0.02)


SLEEPS = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes through /proc")
def test_a_command_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    """After the limit nothing of it is left, and whoever else waits hears the same without another try."""
    pids = tmp_path / "pids"

    async def ask() -> None:
        ring, waiting = KeyRing(Scrubber(), limit_s=1.0), entry(sys.executable, "-c", SLEEPS, str(pids))
        with pytest.raises(UsageError, match="did not end within 1 s"):
            await ring.endpoint(waiting)
        await _until_gone(pids)
        pids.unlink()
        with pytest.raises(UsageError, match="did not end within 1 s"):
            await ring.endpoint(waiting)
        assert not pids.exists()

    anyio.run(ask)
