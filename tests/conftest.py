"""For every test: away from the user's own history and from the clock, no page that nobody reads, a faulty server."""

from __future__ import annotations

import functools
import gc
import math
import os
import signal
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fault_server import FaultServer
from hypothesis import settings
from workbench import Bench

from vendor_verifier.features.simulate.server import known_answers, served
from vendor_verifier.pipeline import execute, given_answers, score
from vendor_verifier.records.plan import Plan
from vendor_verifier.run import event_loop
from vendor_verifier.scoring import answer
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.store import RunFolder
from vendor_verifier.transport import client
from vendor_verifier.transport.client import _tls_context

# Without a deadline, for a busy machine is no finding; in CI with the same examples each time, elsewhere with others.
settings.register_profile("here", deadline=None, max_examples=25)
settings.register_profile("ci", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# As pandas does after a plain install: small tables, of which tests make thousands, are quicker without Arrow.
pd.set_option("mode.string_storage", "python")

WRITE_REPORTS = score.write_reports


def pytest_collection_finish() -> None:
    """What was imported and collected stays, and looking through it for garbage takes a sixth of all tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True, scope="session")
def _no_user_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The default history lies in a folder of the test session, for commands and fixtures of modules, too."""
    base: Path = tmp_path_factory.getbasetemp() / "user-data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(base))
        yield


@pytest.fixture(autouse=True)
def _never_late(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How busy this machine is decides no test but those that are marked with ``lateness``."""
    if "lateness" not in request.keywords:
        monkeypatch.setattr(answer, "MOST_LATE", math.inf)
        monkeypatch.setattr(event_loop, "MIN_WATCH_S", math.inf)


@pytest.fixture(autouse=True, scope="session")
def _hears_signals() -> None:
    """Tests that a shell started in the background, or with ``nohup``, would ignore Ctrl-C or a closed terminal."""
    for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


@pytest.fixture(autouse=True, scope="session")
def _shared_vendors() -> Iterator[None]:
    """Quick simulated vendors that runs of this process share by their seed: starting some takes most of the time."""
    bases = dict[int, str]()

    @contextmanager
    def shared(plan: Plan) -> Iterator[str]:
        # Those that know answers of a run's own rows, or remember what they refused, are that run's own.
        if known_answers(plan.tasks) or any("bursty" in each.endpoint.base_url for each in plan.entries):
            with served(plan, 10) as base:
                yield base
            return
        if plan.seed not in bases:
            bases[plan.seed] = stack.enter_context(served(plan, 10))
        yield bases[plan.seed]

    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "resolve_name", lambda _name: shared)
        yield


@pytest.fixture(autouse=True, scope="session")
def _figures_only() -> Iterator[None]:
    """A run in this process writes its figures and no pages, which take longer than its requests."""

    def written(folder: RunFolder, scored: ScoredRun, names: Sequence[str] = ("scores.json", "ranking.csv")) -> Any:
        return WRITE_REPORTS(folder, scored, names)

    with pytest.MonkeyPatch.context() as patch:
        for module in (score, given_answers):
            patch.setattr(module, "write_reports", written)
        yield


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "write_reports", WRITE_REPORTS)


@pytest.fixture(autouse=True, scope="session")
def _certificates_read_once() -> Iterator[None]:
    """Reading the authorities of this machine takes longer than a test that opens a transport over loopback."""
    read = functools.cache(lambda *_environment: _tls_context())

    def remembered() -> ssl.SSLContext:
        return read(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "_tls_context", remembered)
        yield


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A folder of its own, which is the working directory, and the command line in it."""
    monkeypatch.chdir(tmp_path)
    return Bench(tmp_path)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    """A loopback server that answers what its ``answer`` says, byte by byte."""
    async with FaultServer() as running:
        yield running
