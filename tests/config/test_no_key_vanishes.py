"""Every key of config.yaml and of a job file has an effect; a new key without a row here fails."""

from __future__ import annotations

from typing import Any

import pytest
from workbench import Bench

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
}
# Keys of an entry alone; the other vendor's address is shown by a dry run, which sends nothing.
OWN: dict[str, Any] = {
    "validator": "anthropic",
    "name": "moonshot",
    "model_id": "other",
    "url": "sim://slow",
    "api_key": "${NAMED}",
    "api_key_env": "NAMED",
    "provider": "minimax/",
    "label": "b",
    "is_baseline": True,
    "allow_http": True,
}
PRICE = {"input": 1, "output": 2, "cached": 0.5, "reasoning": 3, "request": 0.1, "currency": "CNY", "rate": 0.14}


def test_every_key_of_the_config_has_a_line_here() -> None:
    assert set(Settings.model_fields) == {*SETTINGS, "validator", "allow_http"}
    assert set(VendorEntry.model_fields) == {*SETTINGS, *OWN}
    assert set(Price.model_fields) == set(PRICE)
    assert set(ModelSection.model_fields) == {"vendors", "gates"}
    assert set(RESERVED) == {"defaults", "run", "suites", "gates", "slos"}


def config(bench: Bench, *entries: dict[str, Any], **further: Any) -> None:
    """Write a config with these entries (JSON is YAML), and two samples."""
    bench.write("config.yaml", {"simulated-model": {"vendors": entries}, **further})
    bench.samples(2)


def test_a_setting_of_an_entry_shows(bench: Bench) -> None:
    """In the entry and under `defaults`: each where the manifest tells of it."""
    given = {key: value for key, (value, _) in SETTINGS.items()}
    runs = {"plain": (ENTRY, {}), "entry": (ENTRY | given, {}), "defaults": (ENTRY, {"defaults": given})}
    manifests = {}
    for name, (entry, further) in runs.items():
        config(bench, entry, **further)
        bench.run("-n", "1", output=name)
        (manifests[name],) = bench.manifest(name)["entries"]
    plain = manifests.pop("plain")
    for manifest in manifests.values():
        assert [where for _, where in SETTINGS.values() if manifest[where] == plain[where]] == []


@pytest.mark.parametrize("key", OWN)
def test_a_key_of_an_entry_shows_in_a_dry_run(bench: Bench, key: str) -> None:
    """The plan names whom it asks, by which name, with which key, or refuses."""
    base = {**ENTRY, "name": "mine", "url": "http://127.0.0.1:9/v1"} if key[:3] in ("api", "val") else dict(ENTRY)
    if key == "allow_http":
        base |= {"name": "mine", "url": "http://192.0.2.1/v1"}
    base.pop("label", None)
    shown = []
    for entry in (base, {**base, key: OWN[key]}):
        config(bench, entry, {**ENTRY, "label": "c"})
        shown.append(bench("--dry-run", "--test-file-path", "samples.jsonl"))
    assert shown[0] != shown[1]


@pytest.mark.parametrize(("more", "at_a_time"), [((), 3), (("--request-concurrency", "2"), 2)])
def test_the_parameters_of_a_job_reach_the_run(bench: Bench, more: tuple[str, ...], at_a_time: int) -> None:
    """Name, limit and pace of a job are those of the run, except what the command line states otherwise."""
    config(bench, ENTRY)
    params = {"limit_samples": 2, "parallelism": 3}
    job = {"type": "bfcl", "tasks": {"t": {"type": "simple"}}, "name": "mine", "namespace": "ours", "params": params}
    bench("run", "--job", bench.write("job.json", job), "-q", "-o", "run", "--history", "none", *more)
    manifest = bench.manifest()
    assert manifest["settings"]["request_concurrency"] == at_a_time
    assert manifest["tasks"][0]["job"] == {"name": "mine", "namespace": "ours"}
    assert manifest["tasks"][0]["count"] == 2


def test_the_command_line_counts_more_than_the_config(bench: Bench) -> None:
    """A flag replaces what the config says to an evaluation, and `--set` replaces both."""
    config(bench, ENTRY, suites={"bfcl": {"category": "java"}, "trigger": {"sample_size": 2}})
    assert bench("--dry-run", "-n", "7")[1].startswith("trigger: 7 samples")
    java, simple = bench("--dry-run", "--suite", "bfcl")[1], bench("--dry-run", "--bfcl-category", "simple")[1]
    assert java != simple
    assert bench("--dry-run", "--suite", "bfcl", "--set", "bfcl.category=simple")[1] == simple
