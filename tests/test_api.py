"""The Python API: the page's code runs, importing costs nothing, and mistakes are one kind of exception."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from workbench import Bench

import vendor_verifier
from vendor_verifier.features.history.database import read_history

ROOT = Path(__file__).parents[1]


@pytest.fixture
def folder(bench: Bench) -> Path:
    bench.configure("official: faithful", "poor: quantised")
    bench.samples(25)
    return bench.folder


PUBLIC = {
    "EvalTestCase", "Record", "Report", "RunComparison", "RunData", "RunOutcome", "ToolCorrectnessMetric",
    "VerifierError", "__version__", "averify", "compare_runs", "evaluate", "irf", "load_history",
    "load_run", "score_run", "verify",
}  # fmt: skip


def test_the_package_offers_these_names_and_no_other() -> None:
    assert set(vendor_verifier.__all__) == set(dir(vendor_verifier)) == PUBLIC
    assert all(getattr(vendor_verifier, name) is not None for name in PUBLIC)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        vendor_verifier.nothing  # noqa: B018


def test_importing_the_package_imports_no_library() -> None:
    code = (
        "import sys; before = set(sys.modules); import vendor_verifier;"
        "print([m for m in set(sys.modules) - before if '.' not in m and m not in sys.stdlib_module_names])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['vendor_verifier']"


def test_mistakes_raise_verifier_errors(folder: Path) -> None:
    """No SystemExit, no traceback from inside: one exception type with an exit code."""
    with pytest.raises(vendor_verifier.VerifierError) as missing:
        vendor_verifier.verify("nowhere.yaml")
    assert missing.value.exit_code == 2


def test_a_running_loop_and_another_thread_may_verify(folder: Path) -> None:
    """As a notebook does, and a program with threads. A history is written only when it is named."""

    async def notebook() -> vendor_verifier.RunOutcome:
        return vendor_verifier.verify(limit=2, output_dir="one", history="h.sqlite")

    with ThreadPoolExecutor(1) as pool:
        found = [asyncio.run(notebook()), pool.submit(vendor_verifier.verify, limit=2, output_dir="two").result()]
    assert all(outcome.report.complete for outcome in found)
    assert [outcome.report.models["simulated-model"].vendors["poor"].planned for outcome in found] == [2, 2]
    assert read_history(folder / "h.sqlite")["run"].nunique() == 1


def test_a_loop_goes_on_while_it_awaits_a_run(folder: Path) -> None:
    """The run waits at its first record for a task of the loop, which would never come if the loop stood still."""

    async def program() -> tuple[vendor_verifier.RunOutcome, bool]:
        loop = asyncio.get_running_loop()

        async def beside() -> bool:
            return running.done()

        def on_record(_: vendor_verifier.Record) -> None:
            if not seen:
                seen.append(asyncio.run_coroutine_threadsafe(beside(), loop).result(timeout=60))

        seen: list[bool] = []
        running = asyncio.ensure_future(vendor_verifier.averify(limit=5, on_record=on_record))
        return await running, seen[0]

    outcome, was_done = asyncio.run(program())
    assert outcome.report.complete
    assert not was_done


@pytest.mark.slow
def test_cancelling_leaves_a_run_that_can_be_gone_on_with(folder: Path) -> None:
    """No new requests, those in flight come in, the folder is written; then the cancellation is raised."""

    async def program() -> None:
        loop = asyncio.get_running_loop()

        async def cancel() -> None:
            running.cancel()
            for _ in range(5):  # turns in which the cancellation reaches the run
                await asyncio.sleep(0)

        def on_record(_: vendor_verifier.Record) -> None:
            if not running.cancelling():
                asyncio.run_coroutine_threadsafe(cancel(), loop).result(timeout=60)

        running = loop.create_task(
            vendor_verifier.averify(limit=8, request_concurrency=1, output_dir="cut", on_record=on_record)
        )
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(program())
    cut = vendor_verifier.score_run("cut")
    assert not cut.complete
    assert cut.models["simulated-model"].vendors["official"].succeeded > 0
    whole = vendor_verifier.verify(limit=8, output_dir="cut", incremental=True)
    assert whole.report.complete
