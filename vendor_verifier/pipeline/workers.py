"""The processes that send a run: ``--workers`` as a number of processes here, or as the address of a Dask scheduler."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from vendor_verifier.errors import UsageError, install_line
from vendor_verifier.records.plan import Entry
from vendor_verifier.transport.proxies import is_loopback


def check_workers(stated: int | str, entries: Sequence[Entry]) -> int | str:
    """The number of processes, or the scheduler's address, read from its file if one was stated.

    Raises:
        UsageError: no number of processes or address, a scheduler without encryption, simulated vendors that its
            workers cannot reach, or Dask is not installed.
    """
    if stated == 1:
        return 1
    if find_spec("distributed") is None:
        raise UsageError(f"--workers needs Dask distributed, which is not installed: {install_line('dask')}")
    if isinstance(stated, int):
        if stated < 1:
            raise UsageError(f"--workers {stated}: expected at least 1")
        return stated
    address = _address(stated)
    parts = urlsplit(address)
    is_here = is_loopback(parts.hostname or "")
    if parts.scheme != "tls" and not is_here:
        raise UsageError(
            f"{address} is neither encrypted nor on this machine: whoever reaches it could read everything and run "
            "code on the workers; use tls:// (docs/load.md)"
        )
    if not is_here and any(entry.is_simulated for entry in entries):
        raise UsageError(
            "sim:// vendors are served on this machine and workers elsewhere cannot reach them; "
            "use --workers N, or serve them there and give their url"
        )
    return address


def _address(stated: str) -> str:
    """The address that was stated, or that the file of that name holds."""
    file, address = Path(stated), stated
    if file.suffix == ".json" or file.is_file():
        try:
            found = json.loads(file.read_bytes())
            address = found["address"]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f"--workers {stated}: the scheduler's file cannot be read ({type(error).__name__}: {error}); give the "
                "one that `dask scheduler --scheduler-file` writes, or an address"
            ) from None
    try:
        parts = urlsplit(str(address))
        is_whole = parts.scheme in ("tls", "tcp") and bool(parts.hostname and parts.port)
    except ValueError:
        is_whole = False
    if not is_whole:
        raise UsageError(
            f"--workers {stated}: expected a number, tls://HOST:PORT (tcp:// on this machine), or a scheduler's file"
        )
    return str(address)
