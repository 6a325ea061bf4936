"""Dask schedulers: processes of this machine are started, others are connected to and checked."""

from __future__ import annotations

import logging
import platform
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from multiprocessing import resource_tracker

import anyio
import dask
from distributed import Client, LocalCluster, Security

from vendor_verifier import __version__
from vendor_verifier.errors import UsageError

_CONNECT_S = 15.0
_LOCAL_SETTINGS = {
    # A stopped process is killed and its shard done by others after so long.
    "distributed.scheduler.worker-ttl": "10 seconds",
    # It would take the interpreter from the thread that sends, 100 times a second.
    "distributed.worker.profile.enabled": False,
}


def versions_here() -> dict[str, str]:
    """The versions that must be the same on every machine."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"agent-vendor-verifier": __version__, "python": python, "distributed": version("distributed")}


@contextmanager
def cluster_of(workers: int | str) -> Iterator[str]:
    """The address of a scheduler: of so many worker processes, started here until the block ends, or the given one."""
    for name in [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if isinstance(workers, str):
        yield workers
        return
    with dask.config.set(_LOCAL_SETTINGS):
        # Ctrl-C in a terminal reaches the workers, too, but is the coordinator's alone. They inherit what is blocked,
        # unless their tracker, which unblocks it, is started meanwhile.
        resource_tracker.ensure_running()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            cluster = LocalCluster(
                n_workers=0, threads_per_worker=1, host="127.0.0.1", dashboard_address=None,
                worker_dashboard_address=None, memory_limit=0, silence_logs=logging.CRITICAL,
            )  # fmt: skip
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        with cluster:
            # Not in the constructor, which fails when one of them is killed as it starts.
            cluster.scale(workers)
            yield cluster.scheduler_address


@asynccontextmanager
async def connected(address: str, security: Security | None) -> AsyncIterator[Client]:
    """A client of the scheduler at that address.

    Raises:
        UsageError: it cannot be used, or runs another version.
    """
    try:
        client = await Client(
            address, security=security, timeout=_CONNECT_S, set_as_default=False, asynchronous=True
        )  # fmt: skip
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise UsageError(
            f"the Dask scheduler at {address} cannot be used ({reason}); check the address, tls:// or tcp://, and the "
            "certificates"
        ) from None
    try:
        found = (await client.get_versions())["scheduler"]
        own, python, theirs = versions_here(), str(found["host"]["python"]), found["packages"]["distributed"]
        if not python.startswith(f"{own['python']}.") or theirs != own["distributed"]:
            raise UsageError(
                f"the scheduler runs Python {python} and distributed {theirs}, this machine {own['python']} and "
                f"{own['distributed']}; install the same on every machine"
            )
        yield client
    finally:
        with anyio.CancelScope(shield=True):
            await client.close()
