"""The address of a Dask scheduler, as it was given or from the file that a scheduler writes (``--scheduler-file``)."""

from __future__ import annotations

import json
from pathlib import Path

from vendor_verifier.errors import UsageError


def scheduler_of(said: str) -> str:
    """The address that ``said`` is, or that the file of that name holds.

    Raises:
        UsageError: the file cannot be read, or holds none.
    """
    file = Path(said)
    if file.suffix != ".json" and not file.is_file():
        return said
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(
            f"--dask-scheduler {said}: the scheduler's file cannot be read ({error}); give the one that "
            "`dask scheduler --scheduler-file` writes, or an address"
        ) from None
    address = found.get("address") if isinstance(found, dict) else None
    if not isinstance(address, str):
        raise UsageError(
            f"--dask-scheduler {said}: expected the key address, as `dask scheduler --scheduler-file` writes it"
        )
    return address
