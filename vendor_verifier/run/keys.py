"""Keys that a program prints and that expire during a run; it never stores one and never shows one."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import anyio

from vendor_verifier.errors import UsageError
from vendor_verifier.scrub import Scrubber
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.request import Endpoint

# Vertex tokens live an hour; fetched early enough, no request meets an expired one.
REFRESH_AFTER_S = 45 * 60.0
_COMMAND_LIMIT_S = 60.0


class KeyRing:
    """Endpoints with a current key. Every key it hears is told to the scrubber first."""

    def __init__(self, scrubber: Scrubber, refresh_after_s: float = REFRESH_AFTER_S) -> None:
        self._scrubber = scrubber
        self._refresh_after_s = refresh_after_s
        self._keys: dict[tuple[str, ...], tuple[str, float]] = {}
        self._lock = anyio.Lock()

    async def endpoint(self, entry: Entry) -> Endpoint:
        """The entry's endpoint, its key fetched if it comes from a command.

        Raises:
            UsageError: the command cannot be run, fails, or prints nothing.
        """
        if not entry.key_command:
            return entry.endpoint
        async with self._lock:
            known = self._keys.get(entry.key_command)
            if known is None or anyio.current_time() >= known[1]:
                key = await _fetch(entry.key_command)
                self._scrubber.add(key)
                known = self._keys[entry.key_command] = (key, anyio.current_time() + self._refresh_after_s)
        return replace(entry.endpoint, key=known[0])


async def _fetch(command: tuple[str, ...]) -> str:
    try:
        with anyio.fail_after(_COMMAND_LIMIT_S):
            done = await anyio.run_process(list(command), check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise UsageError(
            f"api_key_command: there is no program {command[0]!r}; install it or mend the config"
        ) from None
    except (OSError, TimeoutError) as error:
        raise UsageError(f"api_key_command {command[0]!r} could not be run: {type(error).__name__}") from None
    key = done.stdout.decode(errors="replace").strip()
    if done.returncode != 0 or not key.isascii() or not key.isprintable() or not key or " " in key:
        # What it printed may be half a key: only its exit code is told.
        raise UsageError(f"api_key_command {command[0]!r} printed no key (exit code {done.returncode})")
    return key
