"""API keys that a program prints and that expire during a run; none is stored or shown."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from dataclasses import replace

import anyio

from vendor_verifier.errors import UsageError
from vendor_verifier.records.plan import Entry
from vendor_verifier.records.request import Endpoint
from vendor_verifier.redaction import Scrubber

# Vertex tokens live an hour; fetched early enough, no request meets an expired one.
REFRESH_AFTER_S = 45 * 60.0
COMMAND_LIMIT_S = 60.0
# Tokens are a few kB; a longer output is no key.
MOST_PRINTED = 64 * 1024
# A command that failed is not run again at once for every request that waits for its key.
_FAILED_FOR_S = 60.0
_PARTING_S = 1.0


class KeyRing:
    """Endpoints with a current key. Every key is given to the scrubber before it is used."""

    def __init__(
        self, scrubber: Scrubber, refresh_after_s: float = REFRESH_AFTER_S, limit_s: float = COMMAND_LIMIT_S
    ) -> None:
        self._scrubber = scrubber
        self._refresh_after_s = refresh_after_s
        self._limit_s = limit_s
        self._keys: dict[tuple[str, ...], tuple[str, float]] = {}
        self._failed: dict[tuple[str, ...], tuple[UsageError, float]] = {}
        self._lock = anyio.Lock()

    def ready(self, entry: Entry) -> Endpoint | None:
        """The entry's endpoint, if nothing has to be waited for."""
        if not entry.key_command:
            return entry.endpoint
        known = self._keys.get(entry.key_command)
        if known is None or anyio.current_time() >= known[1]:
            return None
        return replace(entry.endpoint, key=known[0])

    async def endpoint(self, entry: Entry) -> Endpoint:
        """The entry's endpoint, its key fetched if it comes from a command.

        Raises:
            UsageError: the command cannot be run, fails, does not end, prints nothing or too much.
        """
        async with self._lock:
            ready = self.ready(entry)
            return ready if ready is not None else replace(entry.endpoint, key=await self._fetched(entry.key_command))

    async def _fetched(self, command: tuple[str, ...]) -> str:
        failed = self._failed.get(command)
        if failed is not None and anyio.current_time() < failed[1]:
            raise failed[0]
        try:
            key = await _fetch(command, self._limit_s)
        except UsageError as error:
            self._failed[command] = (error, anyio.current_time() + _FAILED_FOR_S)
            raise
        self._scrubber.add(key)
        self._keys[command] = (key, anyio.current_time() + self._refresh_after_s)
        return key


async def _fetch(command: tuple[str, ...], limit_s: float) -> str:
    """The text the command prints, without blanks around it. However it ends, nothing of it is left running."""
    try:
        with anyio.fail_after(limit_s):
            printed, exit_code = await _run(command)
    except FileNotFoundError:
        raise UsageError(
            f"api_key_command: there is no program {command[0]!r}; install it or mend the config"
        ) from None
    except TimeoutError:
        raise UsageError(f"api_key_command {command[0]!r} did not end within {limit_s:g} s") from None
    except OSError as error:
        raise UsageError(f"api_key_command {command[0]!r} could not be run: {type(error).__name__}") from None
    if len(printed) > MOST_PRINTED:
        raise UsageError(
            f"api_key_command {command[0]!r} printed more than {MOST_PRINTED // 1024} KiB; a key is shorter"
        )
    key = printed.decode(errors="replace").strip()
    if exit_code != 0 or not key.isascii() or not key.isprintable() or not key or " " in key:
        # What it printed may be half a key: only its exit code is shown.
        raise UsageError(f"api_key_command {command[0]!r} printed no key (exit code {exit_code})")
    return key


async def _run(command: tuple[str, ...]) -> tuple[bytes, int | None]:
    """Standard output, of too much only the beginning, and the exit code; None where there was too much."""
    # A group of its own, so that what the command started ends with it; and the terminal's Ctrl-C is ours alone.
    process = await anyio.open_process(
        list(command), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    ended = False
    try:
        printed = b""
        assert process.stdout is not None
        async for piece in process.stdout:
            printed += piece
            if len(printed) > MOST_PRINTED:
                return printed, None
        exit_code = await process.wait()
        ended = True
        return printed, exit_code
    finally:
        if not ended:
            _kill_all(process.pid)
        # A child of its own session may hold the pipe for ever.
        with anyio.move_on_after(_PARTING_S, shield=True):
            await process.aclose()


def _kill_all(leader: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(leader, signal.SIGKILL)
        else:
            os.kill(leader, signal.SIGTERM)
