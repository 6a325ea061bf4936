"""No secret in anything that is produced, whatever a vendor does with it and however loudly we speak."""

from __future__ import annotations

import base64
import json
import logging
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from canaries import ECHOES, EVERYBODY, HOOK, KEY, TOKEN, canary_server, configure, forms, labels
from fault_server import FaultServer

from vendor_verifier.cli.main import run_app


@pytest.fixture(scope="module")
def serving() -> Iterator[tuple[str, FaultServer]]:
    with canary_server() as found:
        yield found


@pytest.fixture(autouse=True)
def _loud(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpx2")


def _sought() -> re.Pattern[bytes]:
    """Any secret in any form. Keys differ by their last four digits; in base64, what comes before them is enough."""
    keys = {re.escape(form).replace(b"0000", b"0[0-9]{3}") for form in forms(KEY) if form.endswith(b"0000")}
    keys |= {re.escape(base64.b64encode(each.encode()[:24])) for each in (KEY, KEY.upper(), KEY.lower())}
    return re.compile(b"|".join({*keys, *map(re.escape, forms(TOKEN) | forms(HOOK))}))


def _leaks(produced: Mapping[str, bytes]) -> set[tuple[str, bytes]]:
    """Where any secret is in any form."""
    sought = _sought()
    return {(name, form) for name, content in produced.items() for form in sought.findall(content)}


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("pages")
def test_no_secret_in_anything_a_run_produces(
    serving: tuple[str, FaultServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """All scenarios with canary keys, every log at its loudest: screens, logs, records, manifest and all reports are
    searched byte by byte, in every disguise; the masks prove that the secrets were really there."""
    configure(tmp_path, serving[0])
    monkeypatch.chdir(tmp_path)
    run_app([
        "--config-file-path", "config.yaml", "--env-file", "secrets/.env", "--test-file-path", "samples.jsonl",
        "--set", "run.vendor_path=plugins", "--verbose", "--retries", "0", "--set", "run.first_token_timeout=0.4",
        "--set", "run.idle_timeout=0.4", "-o", "run", "--history", "history.sqlite",
    ])  # fmt: skip
    shutil.rmtree(tmp_path / "secrets")
    out, err = capfd.readouterr()
    produced = _files(tmp_path) | {"stdout": out.encode(), "stderr": err.encode(), "logs": caplog.text.encode()}
    assert _leaks(produced) == set()
    assert produced["run/records.jsonl"].count(b"\n") == len(EVERYBODY)
    assert produced["run/records.jsonl"].count(b"[secret]") >= len(ECHOES)
    assert b"[secret]" in produced["stderr"]
    assert any(name.endswith(".html") for name in produced)


@pytest.mark.slow
@pytest.mark.usefixtures("pages")
def test_no_secret_in_what_other_commands_make_of_a_run(
    serving: tuple[str, FaultServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """Vendors that echo keys: a check and its webhook, every report, explanations with their curl, history,
    comparisons, dry runs and the doctor, in text and JSON, hold no key; the masks show that there were some."""
    address, server = serving
    echoes = labels("echo", len(ECHOES))
    configure(tmp_path, address, echoes)
    monkeypatch.chdir(tmp_path)
    asked = ("--config-file-path", "config.yaml", "--env-file", "secrets/.env", "--set", "run.vendor_path=plugins")
    limits = ("--retries", "0", "--set", "run.first_token_timeout=5", "--test-file-path", "samples.jsonl")
    run_app(["check", *asked, *limits, "-o", "run", "--verbose", "--json", "--history", "h.sqlite",
             "--webhook-env", "HOOK", "--notify", "always"])  # fmt: skip
    sample = json.loads((tmp_path / "run" / "samples" / "trigger.jsonl").read_text())["id"]
    for label in echoes:
        run_app(["explain", "run", "--vendor", label, "--sample", sample, "--full"])
    run_app(["explain", "run", "--vendor", echoes[0]])
    run_app(["explain", "run", "--vendor", echoes[0], "--sample", sample, "--json"])
    run_app(["report", "run", "--format", "json,csv,md,html,junit,openmetrics", "-o", "reports"])
    run_app(["report", "run", "--format", "terminal"])
    for arguments in (
        ["compare", "run", "run"], ["history", "--history", "h.sqlite"],
        ["history", "--history", "h.sqlite", "--metric", "ttft"],
        ["report", "run", "--format", "jsonl", "--table", "all", "-o", "tables"], ["run", *asked, "--dry-run"],
        ["doctor", *asked, "--vendor", echoes[0]], ["doctor", *asked, "--verbose", "--json"],
    ):  # fmt: skip
        run_app(arguments)
    shutil.rmtree(tmp_path / "secrets")
    out, err = capfd.readouterr()
    produced = _files(tmp_path) | {"stdout": out.encode(), "stderr": err.encode(), "logs": caplog.text.encode()}
    told = [seen.body for seen in server.seen if seen.vendor == "hook"]
    produced["webhook"] = json.dumps(told).encode()
    assert _leaks(produced) == set()
    assert len(told) == 1
    assert b"curl" in produced["stdout"]
    assert len([name for name in produced if name.startswith("reports/")]) == 6
    for name in ("stdout", "run/records.jsonl", "reports/report.html"):
        found = next(content for known, content in produced.items() if known.endswith(name))
        assert b"[secret]" in found, name
