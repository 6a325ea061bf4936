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


class KeyRing:
    """Endpoints with a current key. Every key is given to the scrubber before it is used."""

    def __init__(
        self, scrubber: Scrubber, refresh_after_s: float = REFRESH_AFTER_S, limit_s: float = COMMAND_LIMIT_S
    ) -> None:
        self._scrubber = scrubber
        self._refresh_after_s = refresh_after_s
        self._limit_s = limit_s
        self._keys: dict[tuple[str, ...], tuple[str, float]] = {}
        self._failed: dict[tuple[str, ...], UsageError] = {}
        self._locks: dict[tuple[str, ...], anyio.Lock] = {}

    async def endpoint(self, entry: Entry) -> Endpoint:
        """The entry's endpoint, its key fetched if it comes from a command.

        A command that failed is not run again: its vendors are out of the run.

        Raises:
            UsageError: the command cannot be run, fails, does not end, or prints no key.
        """
        command = entry.key_command
        if not command:
            return entry.endpoint
        async with self._locks.setdefault(command, anyio.Lock()):
            if command in self._failed:
                raise self._failed[command]
            key, old_at = self._keys.get(command, ("", 0.0))
            if anyio.current_time() >= old_at:
                try:
                    key = await _printed_by(command, self._limit_s)
                except UsageError as error:
                    self._failed[command] = error
                    raise
                self._scrubber.add(key)
                self._keys[command] = key, anyio.current_time() + self._refresh_after_s
        return replace(entry.endpoint, key=key)


async def _printed_by(command: tuple[str, ...], limit_s: float) -> str:
    """The key that the command prints. However that ends, nothing of it is left running."""
    name = f"api_key_command {command[0]!r}"
    try:
        # A group of its own, so that what the command started ends with it; and the terminal's Ctrl-C is ours alone.
        process = await anyio.open_process(
            list(command), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as error:
        reason = "there is no such program" if isinstance(error, FileNotFoundError) else type(error).__name__
        raise UsageError(f"{name} could not be run ({reason}); install it or mend the config") from None
    try:
        assert process.stdout is not None
        with anyio.fail_after(limit_s):
            printed = b"".join([piece async for piece in process.stdout])
            await process.wait()
    except TimeoutError:
        raise UsageError(f"{name} did not end within {limit_s:g} s") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await process.aclose()
    key = printed.decode(errors="replace").strip()
    if process.returncode != 0 or not key.isascii() or not key.isprintable() or not key or " " in key:
        # What it printed may be half a key: only its exit code is shown.
        raise UsageError(f"{name} printed no key (exit code {process.returncode})")
    return key
