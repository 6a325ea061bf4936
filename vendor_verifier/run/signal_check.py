"""Makes sure, before anything is written or sent, that signals can be handled here; it handles none."""

from __future__ import annotations

import signal
import sys
import threading

import anyio

from vendor_verifier.errors import UsageError


def ensure_signals() -> None:
    """Try what a run does: without it Ctrl-C would lose what is under way.

    Raises:
        UsageError: this thread or this platform cannot; the message says which, and where it can be done.
    """
    try:
        anyio.run(_receive_none)
    except (NotImplementedError, ValueError, RuntimeError) as error:
        if threading.current_thread() is not threading.main_thread():
            raise UsageError(
                "signals can be handled in the main thread alone, and a run needs them to end without losing answers; "
                "start it there, or run the command agent-vendor-verifier as a process of its own"
            ) from None
        raise UsageError(
            f"this platform ({sys.platform}) cannot handle signals in an event loop ({type(error).__name__}), and a "
            "run needs them to end without losing answers; use Linux or macOS, on Windows WSL or a container"
        ) from None


async def _receive_none() -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM):
        pass
