"""The command ``simulate``: serves the simulated vendors on loopback until interrupted."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.console.options import OUTPUT, WHAT, many, option
from vendor_verifier.console.output import EXIT_OK, say
from vendor_verifier.errors import UsageError
from vendor_verifier.features.simulate.answer import AnswerKey, read_key
from vendor_verifier.pipeline.simulated_vendors import READY_PREFIX
from vendor_verifier.reports.escape import plain
from vendor_verifier.wire.payload import PayloadError


def simulate_command(
    *,
    port: Annotated[
        int, option("Port on 127.0.0.1; 0 takes a free one.", OUTPUT, check=Number(gte=0, lte=65535))
    ] = 8600,
    seed: Annotated[int, option("Another seed, other answers.", OUTPUT)] = 0,
    speed: Annotated[float, option("2 answers twice as fast.", OUTPUT, check=Number(gt=0))] = 1.0,
    test_file_path: Annotated[tuple[Path, ...], many("Rows whose answers they know (repeatable).", WHAT)] = (),
    # For runs, which know more answers than a file holds: how a question is worded, and what follows it.
    answers_from_stdin: Annotated[bool, Parameter(show=False, negative=())] = False,
) -> int:
    """Serve the simulated vendors: point any OpenAI client at the printed address. They know the right answers to the
    rows that ship and to those of --test-file-path that carry them.
    """
    import asyncio

    from vendor_verifier.features.simulate.server import serve

    known = dict(_key_from_stdin()) if answers_from_stdin else {}
    if answers_from_stdin:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    if test_file_path:
        from vendor_verifier.features.simulate.rehearse import known_of_files

        found = known_of_files(test_file_path)
        known |= found.key
        for warning in found.warnings():
            say(f"warning: {plain(warning)}")
    try:
        asyncio.run(serve(seed=seed, port=port, speed=speed, known=known, ready=_announce))
    except OSError as error:
        raise UsageError(f"cannot serve on port {port}: {error.strerror}; choose another with --port") from None
    except KeyboardInterrupt:
        # Whoever started us for a run knows why; only a person at a terminal is told.
        if answers_from_stdin:
            raise
        say("stopped")
    return EXIT_OK


def _key_from_stdin() -> AnswerKey:
    try:
        return read_key(sys.stdin.buffer.readline())
    except (PayloadError, TypeError, ValueError):
        raise UsageError("--answers-from-stdin: expected the one line that a run writes") from None


def _end_with_stdin() -> None:
    """A run keeps our input open as long as it lives, however it ends."""
    # Of the descriptor itself: a reader of the buffered stream would hold its lock when the program ends.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _announce(addresses: Mapping[str, str]) -> None:
    """Say where to find each persona; the first line is read by the demonstration."""
    some = next(iter(addresses.values()))
    sys.stdout.write(f"{READY_PREFIX}{some.rsplit('/', 2)[0]}\n")
    sys.stdout.writelines(f"  {persona:14} {url}\n" for persona, url in addresses.items())
    sys.stdout.flush()
