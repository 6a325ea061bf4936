"""The executors of a run, chosen by name: this process, some processes here, or a Dask cluster.

An executor has four methods and no opinion on what is asked: :meth:`~Executor.open` makes sure that it can work,
:meth:`~Executor.run` sends everything, :meth:`~Executor.describe` says for the manifest where it was sent from, and
:meth:`~Executor.close` lets go of what was opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from vendor_verifier.errors import UsageError, install_line
from vendor_verifier.records.plan import ExecutorChoice
from vendor_verifier.run.cluster.job import ClusterSide
from vendor_verifier.run.cluster.workers import refuse_insecure, scheduler_address
from vendor_verifier.run.local_run import RunEnd, Work, run_local

# More of them take turns on a core; each has an interpreter of its own in memory.
MOST_PER_CORE = 16


class Executor(Protocol):
    """Sends a run's requests from one place."""

    async def open(self, work: Work) -> None:
        """Get ready.

        Raises:
            UsageError: what was chosen cannot be used for this work.
            ClusterError: there is nobody to do it.
        """

    async def run(self, work: Work) -> RunEnd:
        """Send everything; the first SIGINT, SIGTERM or SIGHUP stops new requests, the second ends at once.

        Raises:
            StorageError: a record could not be kept.
            ClusterError: the cluster went away.
        """

    def describe(self) -> Mapping[str, Any]:
        """The place, versions and losses, for the manifest."""

    async def close(self) -> None:
        """Let go of everything, whatever happened before."""


class LocalExecutor:
    """The executor that sends from this process."""

    async def open(self, work: Work) -> None:
        """Nothing to get ready."""

    async def run(self, work: Work) -> RunEnd:
        return await run_local(
            work.plan,
            work.queue,
            work.job.run,
            work.emit,
            work.scrubber,
            work.costs,
            in_flight=work.in_flight,
            tools=work.tools,
        )

    def describe(self) -> Mapping[str, Any]:
        return {"name": "local"}

    async def close(self) -> None:
        """Nothing to let go of."""


def check_choice(choice: ExecutorChoice) -> None:
    """Refuse contradicting options before anything is read or written.

    Raises:
        UsageError: flags that contradict each other, an address that is none, or a cluster without encryption.
    """
    most = MOST_PER_CORE * (os.cpu_count() or 1)
    if not 1 <= choice.workers <= most:
        raise UsageError(
            f"--workers {choice.workers}: expected 1 to {most} processes here ({MOST_PER_CORE} a core); ask for fewer"
        )
    if choice.workers != 1 and choice.name == "dask":
        raise UsageError(
            "--workers are processes of this machine without a cluster; with --executor dask start more Dask workers, "
            "or give --dask-local N"
        )
    if choice.name == "local":
        if choice.scheduler is not None or choice.local_workers is not None:
            raise UsageError("--dask-scheduler and --dask-local belong to --executor dask; add it, or leave them out")
        return
    if (choice.scheduler is None) == (choice.local_workers is None):
        raise UsageError("--executor dask needs one of --dask-scheduler ADDRESS and --dask-local N")
    if choice.scheduler is not None:
        refuse_insecure([scheduler_address(choice.scheduler)], insecure_cluster=choice.insecure_cluster)


def choose_executor(choice: ExecutorChoice, cluster_side: ClusterSide) -> Executor:
    """The executor of that name. ``cluster_side`` is what workers have to be given.

    Raises:
        UsageError: as :func:`check_choice`, or Dask is not installed.
    """
    check_choice(choice)
    if choice.name == "local":
        if choice.workers == 1:
            return LocalExecutor()
        from vendor_verifier.run.cluster.process_executor import WorkersExecutor

        return WorkersExecutor(choice, cluster_side)
    with _dask():
        from vendor_verifier.run.cluster.dask_executor import DaskExecutor
    return DaskExecutor(choice, cluster_side)


@contextmanager
def kept_ready(choice: ExecutorChoice) -> Iterator[None]:
    """Keep what several runs in a row are sent from, so that it is not started anew for each, until the block ends.

    Raises:
        UsageError: Dask is not installed.
    """
    if choice.local_workers is None:
        yield
        return
    with _dask():
        from vendor_verifier.run.cluster.dask_cluster import kept_local_cluster
    with kept_local_cluster(choice.local_workers):
        yield


@contextmanager
def _dask() -> Iterator[None]:
    """Say how Dask is installed where it is not."""
    try:
        yield
    except ImportError:
        raise UsageError(
            f"--executor dask needs Dask distributed, which is not installed: {install_line('dask')}"
        ) from None
