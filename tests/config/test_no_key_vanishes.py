"""Every key of config.yaml and of a job file has an effect; wrong ones are in the table of mistakes.

The keys come from the models that the program reads with, so a new one without a row here fails.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from commands_seen import CONFIG, Bench, Seen, told

from vendor_verifier.config.schema import RESERVED, ModelSection, Price, Settings, VendorEntry

ENTRY: dict[str, Any] = {"name": "simulated", "label": "a", "model_id": "simulated-model", "url": "sim://faithful"}
# By key of an entry or of `defaults`: a value, and where the manifest tells of it.
SETTINGS: dict[str, tuple[Any, str]] = {
    "temperature": (0.5, "parameters"),
    "max_tokens": (77, "parameters"),
    "extra_body": ({"x": 1}, "extra_body"),
    "extra_headers": ({"x-team": "one"}, "extra_headers"),
    "concurrency": (3, "concurrency"),
    "rpm": (9000, "requests_per_minute"),
    "tpm": (900_000, "tokens_per_minute"),
    "price": ({"input": 1, "output": 2}, "price"),
    "allow_http": (True, "url"),
}
# Keys of an entry alone; the other vendor's address is shown by a dry run, which sends nothing.
OWN: dict[str, Any] = {
    "validator": "anthropic",
    "name": "moonshot",
    "model_id": "other",
    "url": "sim://slow",
    "api_key": "${NAMED}",
    "api_key_env": "NAMED",
    "api_key_command": "echo key",
    "provider": "minimax/",
    "label": "b",
    "is_baseline": True,
}
PRICE = {"input": 1, "output": 2, "cached": 0.5, "reasoning": 3, "request": 0.1, "currency": "CNY", "rate": 0.14}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A folder of its own."""
    found = Bench(tmp_path_factory.mktemp("keys"))
    found.write("config.yaml", CONFIG)
    return found


def config(bench: Bench, entry: dict[str, Any], **further: Any) -> str:
    """A config with one entry (JSON is YAML); the same content is the same file."""
    text = json.dumps({"simulated-model": {"vendors": [entry], **further.pop("model", {})}, **further})
    return bench.write(f"config{abs(hash(text))}.yaml", text)


def dry(bench: Bench, entry: dict[str, Any], **further: Any) -> Seen:
    return bench.see("--dry-run", "-n", "2", "--config-file-path", config(bench, entry, **further))


def ran(bench: Bench, entry: dict[str, Any], **further: Any) -> Seen:
    return bench.see("-n", "1", "-q", "-o", "OUT", "--config-file-path", config(bench, entry, **further))


def test_every_key_of_the_config_has_a_line_here() -> None:
    """Nothing is added to the shapes without being shown to do something."""
    assert set(Settings.model_fields) == {*SETTINGS, "validator"}
    assert set(VendorEntry.model_fields) == {*SETTINGS, *OWN}
    assert set(Price.model_fields) == set(PRICE)
    assert set(ModelSection.model_fields) == {"vendors", "gates"}
    assert set(RESERVED) == {"defaults", "run", "suites", "gates", "slos"}


@pytest.mark.slow
@pytest.mark.parametrize("place", ["entry", "defaults"])
@pytest.mark.parametrize("key", SETTINGS)
def test_a_setting_of_an_entry_shows(bench: Bench, key: str, place: str) -> None:
    """In the entry and under `defaults`: all in one run, and each where the manifest tells of it."""
    value, where = SETTINGS[key]
    if key == "allow_http":
        far = {**ENTRY, "name": "mine", "url": "http://192.0.2.1/v1"}
        allowed = dry(bench, {**far, key: value}) if place == "entry" else dry(bench, far, defaults={key: value})
        assert (dry(bench, far).code, allowed.code) == (2, 0)
        return
    given = {name: each for name, (each, _) in SETTINGS.items() if name != "allow_http"}
    seen = ran(bench, {**ENTRY, **given}) if place == "entry" else ran(bench, ENTRY, defaults=_only_settings(given))
    look = told(f"entries.0.{where}")
    assert look(seen) != look(ran(bench, ENTRY))


@pytest.mark.parametrize("key", OWN)
def test_a_key_of_an_entry_shows_in_a_dry_run(bench: Bench, key: str) -> None:
    """The plan names whom it asks, by which name, with which key, or refuses."""
    base = {**ENTRY, "name": "mine", "url": "http://127.0.0.1:9/v1"} if key[:3] in ("api", "val") else dict(ENTRY)
    base.pop("label", None)
    other = {**ENTRY, "label": "c"}
    further = {"model": {"vendors": [{**base, key: OWN[key]}, other]}}
    plain = {"model": {"vendors": [base, other]}}
    assert dry(bench, base, **further).printed != dry(bench, base, **plain).printed


JOB: dict[str, Any] = {"type": "bfcl", "tasks": {"t": {"type": "simple"}}}


def job_run(bench: Bench, job: dict[str, Any], *words: str) -> Seen:
    text = json.dumps(job, indent=1)
    name = bench.write(f"job{abs(hash(text))}.json", text)
    return bench.see("run", "--job", name, "--history", "none", *words)


@pytest.mark.slow
def test_the_parameters_of_a_job_reach_the_run(bench: Bench) -> None:
    """Name, limit and pace of a job are those of the run, except what the command line states otherwise."""
    job = {**JOB, "name": "mine", "namespace": "ours", "params": {"limit_samples": 2, "parallelism": 3}}
    manifest = job_run(bench, job, "-q", "-o", "OUT").manifest
    assert manifest["settings"]["request_concurrency"] == 3
    assert manifest["tasks"][0]["job"] == {"name": "mine", "namespace": "ours"}
    assert manifest["tasks"][0]["count"] == 2
    manifest = job_run(bench, job, "-q", "-o", "OUT", "--request-concurrency", "2").manifest
    assert manifest["settings"]["request_concurrency"] == 2


def test_the_command_line_counts_more_than_the_config(bench: Bench) -> None:
    """A flag replaces what the config says to an evaluation, and `--set` replaces both."""
    name = config(bench, ENTRY, suites={"bfcl": {"category": "java"}, "trigger": {"sample_size": 2}})
    base = ("--dry-run", "--config-file-path", name)
    assert bench.see(*base, "-n", "7").out.startswith("trigger: 7 samples")
    java, simple = bench.see(*base, "--suite", "bfcl").out, bench.see(*base, "--bfcl-category", "simple").out
    assert java != simple
    assert bench.see(*base, "--suite", "bfcl", "--set", "bfcl.category=simple").out == simple


def _only_settings(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key in SETTINGS}
