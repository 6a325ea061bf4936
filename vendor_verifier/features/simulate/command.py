"""The command ``simulate``."""

from __future__ import annotations

import asyncio
from itertools import chain
from pathlib import Path
from typing import Annotated

from cyclopts.validators import Number

from vendor_verifier.cli.output import EXIT_OK, say
from vendor_verifier.config.run_config import INPUT, OUTPUT, option
from vendor_verifier.errors import UsageError
from vendor_verifier.features.simulate.server import Vendors, known_answers, serve
from vendor_verifier.pipeline.bfcl.data import answered_rows
from vendor_verifier.pipeline.datasets import load_dataset
from vendor_verifier.records.plan import Task
from vendor_verifier.resources import shipped

_SHIPPED = [shipped(f"datasets/{name}.jsonl") for name in ("toolbench", "mcp_toolbench", "tool_correctness", "samples")]


def simulate_command(
    *,
    port: Annotated[int, option("Port of 127.0.0.1 (0: any).", OUTPUT, check=Number(gte=0, lte=65535))] = 8600,
    seed: Annotated[int, option("Seed of the answers.", OUTPUT)] = 0,
    speed: Annotated[float, option("Factor on the speed of the answers.", OUTPUT, check=Number(gt=0))] = 1.0,
    test_file_path: Annotated[tuple[Path, ...], option("Samples to answer correctly (repeatable).", INPUT)] = (),
) -> int:
    """Serve the simulated vendors on loopback. They know the right answers to the shipped and your own rows."""
    files = (*test_file_path, *_SHIPPED)
    rows = [answered_rows(str(file)) if file.is_dir() else load_dataset(file).samples for file in files]
    key = known_answers([Task("trigger", [*chain(*rows), *answered_rows("shipped")])])  # asked as they are
    try:
        asyncio.run(serve(Vendors(key, seed=seed, speed=speed), port))
    except OSError as error:
        raise UsageError(f"cannot serve on port {port}: {error.strerror}; choose another with --port") from None
    except KeyboardInterrupt:
        say("stopped")
    return EXIT_OK
