"""A run from the command line checks its clock first and keeps what came of it; whoever does not, says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from changing import replace
from manifests import some_manifest

from vendor_verifier import api
from vendor_verifier.errors import RunFolderError
from vendor_verifier.pipeline import run
from vendor_verifier.pipeline.options import RunOptions
from vendor_verifier.pipeline.plan import Prepared
from vendor_verifier.pipeline.run import calibrated
from vendor_verifier.pipeline.simulated_vendors import with_simulated_vendors
from vendor_verifier.resources import shipped
from vendor_verifier.run.calibration import Calibration, calibrate
from vendor_verifier.values.plan import Entry, ExecutorChoice, Plan
from vendor_verifier.values.request import Endpoint

Asked = list[tuple[str, str, int]]


def plan(*urls: str, request_concurrency: int = 5) -> Plan:
    """Entries at ``urls``, an account each."""
    entries = (Entry("m", url, "v", Endpoint(url, "m"), "openai", url) for url in urls)
    return Plan(tuple(entries), (), request_concurrency=request_concurrency, calibrates=True)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Which calibrations were made; none takes time."""
    calls: Asked = []

    def note(client: str, transport: str, in_flight: int, **_: object) -> Calibration:
        calls.append((client, transport, in_flight))
        return Calibration(in_flight, reason="noted")

    monkeypatch.setattr(run, "calibrate", note)
    return calls


def test_it_is_made_with_the_runs_client_transport_and_streams(asked: Asked) -> None:
    """Two accounts of five requests each are ten streams; fewer records than that are fewer streams."""
    calibrated(plan("http://a/v1", "http://b/v1"), 100)
    calibrated(replace(plan("http://a/v1"), transport="httpx2", client="sdk"), 3)
    assert asked == [("direct", "fast", 10), ("sdk", "httpx2", 3)]


def test_of_several_processes_each_has_its_share(asked: Asked) -> None:
    """What is calibrated is one process: of 40 streams over 4 workers it has ten."""
    shared = replace(plan("http://a/v1", request_concurrency=40), executor=ExecutorChoice(workers=4))
    calibrated(shared, 1000)
    assert asked == [("direct", "fast", 10)]


@pytest.mark.parametrize(
    ("change", "urls", "reason"),
    [
        (lambda whole: replace(whole, calibrates=False), ["http://a/v1"], "not asked for"),
        (lambda whole: whole, ["sim://faithful", "sim://slow"], "every vendor is simulated"),
        (
            lambda whole: replace(whole, executor=ExecutorChoice("dask", local_workers=2)),
            ["http://a/v1"],
            "cluster",
        ),
    ],
)
def test_whoever_leaves_it_out_says_why(
    asked: Asked, change: Callable[[Plan], Plan], urls: list[str], reason: str
) -> None:
    """Without numbers the manifest holds a reason, and nothing was measured."""
    found = calibrated(change(plan(*urls)), 10)["calibration"]
    assert reason in found["reason"]
    assert found["ttft_error_ms"] is None
    assert asked == []


def test_what_was_found_decides_how_many_processes_send(asked: Asked) -> None:
    """Calibrated are all streams, since nobody knows yet how many processes there are; the plan is told the figure."""
    auto = replace(plan("http://a/v1", request_concurrency=900), executor=ExecutorChoice(workers="auto"))
    calibrated(auto, 1000)
    assert asked == [("direct", "fast", 900)]
    found = some_manifest(calibration={"timed_streams": 450})
    assert run._timed(auto, found).executor.timed_streams == 450
    assert run._timed(auto, some_manifest(calibration={"reason": "not asked for"})) == auto


def test_a_sitting_with_nothing_to_send_keeps_what_is_known(asked: Asked) -> None:
    """Going on with a finished run does not replace the floor under which its records were made."""
    assert calibrated(plan("http://a/v1"), 0) == {}
    assert asked == []


@pytest.mark.parametrize(("said", "done"), [({}, False), ({"no_calibration": False}, True)])
def test_a_program_has_to_ask_for_it(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, said: dict[str, bool], done: bool
) -> None:
    """The command measures unless told otherwise; ``verify`` only where its settings say so."""
    plans: list[Plan] = []

    def stop(prepared: Prepared, **_: object) -> None:
        plans.append(prepared.plan)
        raise RunFolderError("far enough")

    monkeypatch.setattr(api, "run", stop)
    with pytest.raises(RunFolderError):
        api.verify(shipped("config_simulated.yaml"), models=["simulated-model"], limit=1, **said)
    assert plans[0].calibrates is done
    assert not RunOptions().no_calibration


def test_a_run_keeps_the_floor_and_its_report_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Against a vendor at an address: numbers in the manifest, a sentence in report.md and on the screen."""
    from vendor_verifier.cli.main import run_app

    monkeypatch.setattr(run, "calibrate", partial(calibrate, seconds=0.1))
    simulated = Entry("m", "v", "v", Endpoint("sim://faithful", "m"), "openai", "a")
    with with_simulated_vendors([simulated], 0) as (served,):
        vendor = {"name": "mine", "model_id": "m", "url": served.endpoint.base_url, "validator": "openai"}
        (tmp_path / "config.yaml").write_text(json.dumps({"m": {"vendors": [vendor]}}))
        run_app(["--config-file-path", str(tmp_path / "config.yaml"), "--limit", "3", "-o", str(tmp_path / "run")])
    floor = json.loads((tmp_path / "run" / "manifest.json").read_text())["calibration"]
    assert floor["reason"] is None
    assert floor["in_flight"] == 3
    assert 0 < floor["ttft_error_ms"]["p50"] <= floor["ttft_error_ms"]["p99"]
    assert floor["gap_error_ms"]["n"] == 11 * floor["ttft_error_ms"]["n"]
    assert "Harness floor, measured here" in (tmp_path / "run" / "report.md").read_text()
    assert "Harness floor, measured here" in capsys.readouterr().out
