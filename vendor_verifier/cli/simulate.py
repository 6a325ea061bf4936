"""The command ``simulate``: serves the simulated vendors on loopback until interrupted."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

from cyclopts.validators import Number

from vendor_verifier.cli.console import say
from vendor_verifier.cli.exit_codes import EXIT_OK
from vendor_verifier.cli.options import OUTPUT, option
from vendor_verifier.errors import UsageError
from vendor_verifier.pipeline.simulation import READY_PREFIX


def simulate_command(
    *,
    port: Annotated[
        int, option("Port on 127.0.0.1; 0 takes a free one.", OUTPUT, check=Number(gte=0, lte=65535))
    ] = 8600,
    seed: Annotated[int, option("Another seed, other answers.", OUTPUT)] = 0,
    speed: Annotated[float, option("2 answers twice as fast.", OUTPUT, check=Number(gt=0))] = 1.0,
) -> int:
    """Serve the simulated vendors: point any OpenAI client at the printed address."""
    import asyncio

    from vendor_verifier.simulate.server import serve

    try:
        asyncio.run(serve(seed=seed, port=port, speed=speed, ready=_announce))
    except OSError as error:
        raise UsageError(f"cannot serve on port {port}: {error.strerror}; choose another with --port") from None
    except KeyboardInterrupt:
        say("stopped")
    return EXIT_OK


def _announce(addresses: Mapping[str, str]) -> None:
    """Say where to find each persona; the first line is read by the demonstration."""
    some = next(iter(addresses.values()))
    sys.stdout.write(f"{READY_PREFIX}{some.rsplit('/', 2)[0]}\n")
    sys.stdout.writelines(f"  {persona:14} {url}\n" for persona, url in addresses.items())
    sys.stdout.flush()
