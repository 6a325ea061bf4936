"""What Dask starts on a worker: one session of one run, on an event loop of its own, away from Dask's."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import anyio
from distributed import Worker, get_worker

from vendor_verifier.run.cluster.dask_channel import open_channel
from vendor_verifier.run.cluster.job import Bench, Hello, Job, OpenBench
from vendor_verifier.run.cluster.outbox import ChannelClosed
from vendor_verifier.run.cluster.session import serve

# A new key means a task was started a second time; the gate then refuses it and it ends with this word.
ABANDONED = "abandoned"
DONE = "done"


def work(job: Job, open_bench: OpenBench, session: str) -> str:
    """Run one session to its end.

    Raises:
        UsageError: this machine cannot do what the run asks for.
        OSError: the scheduler cannot be reached.
    """
    worker = get_worker()
    bench = open_bench(job)
    return anyio.run(_work, worker, job, bench, session)


async def _work(worker: Worker, job: Job, bench: Bench, session: str) -> str:
    connection = worker.security.get_connection_args("worker")
    who = {"session": session, "worker": worker.address}
    channel = await open_channel(worker.scheduler.address, job.sitting, connection, **who)
    try:
        first = await channel.read()
        if not all(first.get("claim", (False,))):
            return ABANDONED
        await serve(channel, bench, job.run, str(worker.name))
    except ChannelClosed:
        return ABANDONED
    finally:
        channel.abort()
    return DONE


def greet(hello: Callable[[Job, str, str], Hello], job: Job, is_ours: bool, dask_worker: Worker) -> Hello:
    """What this worker says of itself; Dask puts in ``dask_worker``.

    ``is_ours``: the coordinator started it, so Ctrl-C in their terminal reaches both, and is the coordinator's alone.
    """
    if is_ours and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return hello(job, str(dask_worker.id), str(dask_worker.name))
