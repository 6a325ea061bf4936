"""The command ``simulate``: serves the simulated vendors for whoever points a client at them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts.validators import Number

from vendor_verifier.console.output import EXIT_OK, say
from vendor_verifier.errors import UsageError
from vendor_verifier.features.simulate.answer import Known
from vendor_verifier.features.simulate.rehearsal import known_of_files
from vendor_verifier.features.simulate.server import announce, serve
from vendor_verifier.pipeline.options import OUTPUT, WHAT, many, option
from vendor_verifier.reports.escape import plain


def simulate_command(
    *,
    port: Annotated[
        int, option("Serve on this port of 127.0.0.1; 0 takes a free one.", OUTPUT, check=Number(gte=0, lte=65535))
    ] = 8600,
    seed: Annotated[int, option("Answer differently by another seed.", OUTPUT)] = 0,
    speed: Annotated[float, option("Answer so many times as fast.", OUTPUT, check=Number(gt=0))] = 1.0,
    test_file_path: Annotated[tuple[Path, ...], many("Know the answers to these rows (repeatable).", WHAT)] = (),
) -> int:
    """Serve the simulated vendors: point any OpenAI client at the printed address. They know the right answers to the
    rows that ship and to those of --test-file-path that carry them.
    """
    known: dict[str, Known] = {}
    if test_file_path:
        found = known_of_files(test_file_path)
        known |= found.key
        for warning in found.warnings():
            say(f"warning: {plain(warning)}", "doubtful")
    try:
        asyncio.run(serve(seed=seed, port=port, speed=speed, known=known, ready=announce))
    except OSError as error:
        raise UsageError(f"cannot serve on port {port}: {error.strerror}; choose another with --port") from None
    except KeyboardInterrupt:
        say("stopped")
    return EXIT_OK
