"""The shipped example is what demo and newcomers rely on."""

from __future__ import annotations

import re

import pytest

from vendor_verifier.config.entries import MODEL_IDS, makers_of
from vendor_verifier.config.load import load_config
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import ConfigError
from vendor_verifier.records.plan import Price
from vendor_verifier.resources import shipped

CONFIG = shipped("config_example.yaml")
SIMULATED = shipped("config_simulated.yaml")


def test_the_simulated_section_needs_nothing(registry):
    """Filtered to the simulated model the example loads without a key: a baseline, its twin, eight others."""
    configuration = load_config(
        RunOptions(config_file_path=SIMULATED, model=("simulated-model",)), {}, registry=registry
    )
    assert [entry.label for entry in configuration.entries if entry.is_baseline] == ["official"]
    personas = [entry.endpoint.base_url.removeprefix("sim://") for entry in configuration.entries]
    assert personas == ["faithful", "faithful", "quantised", "padded", "slow", "bursty", "cutter", "buffering",
                        "text-leaker", "substitute"]  # fmt: skip


def test_the_whole_example_loads_once_keys_are_given(registry):
    names = re.findall(r"^(?:# )?([\w.]+)=\S*xxxx$", shipped(".env.example").read_text(encoding="utf-8"), re.MULTILINE)
    configuration = load_config(
        RunOptions(config_file_path=CONFIG), {name: f"value-{name}" for name in names}, registry=registry
    )
    assert {entry.model for entry in configuration.entries} <= MODEL_IDS.keys()
    assert [text for text in configuration.warnings if str(CONFIG) in text] == []
    for model in {entry.model for entry in configuration.entries}:
        assert sum(entry.is_baseline for entry in configuration.entries if entry.model == model) == 1


def test_the_example_env_file_holds_placeholders_only(registry):
    """A .env.example copied without filling it in leads to the message which keys are missing."""
    with pytest.raises(ConfigError) as caught:
        load_config(RunOptions(config_file_path=CONFIG, env_file=shipped(".env.example")), {}, registry=registry)
    assert all("holds only a placeholder" in problem.message for problem in caught.value.problems)


def test_the_commented_parts_of_the_example_are_valid(registry, tmp_path):
    """Uncommenting the optional parts gives a configuration, so the comments cannot rot."""
    text = CONFIG.read_text(encoding="utf-8")
    body = text[text.index("defaults:\n") :]
    body = re.sub(r"^(\s*)# (?=( *)(?:[\w.-]+:(?: |$)|- name:|- \"))", r"\1", body, flags=re.MULTILINE)
    body = body.replace("https://<address from the reseller>/v1", "https://reseller.example/v1")
    path = tmp_path / "config.yaml"
    path.write_text(body, encoding="utf-8")
    configuration = load_config(RunOptions(config_file_path=path), {}, registry=registry, require_keys=False)
    assert {"claude-sonnet-4.5", "gemini-2.5-flash", "qwen3-coder"} <= {entry.model for entry in configuration.entries}
    assert configuration.score.model_gates or configuration.score.gates
    assert configuration.entries[0].price == Price(0.3, 1.2, currency="CNY", rate=0.14)


def test_the_page_s_vendors_and_models_are_known(registry):
    """No model is without a maker's series, and no vendor in the table is one that nobody can configure."""
    vendors = {"openrouter", "gemini", "siliconflow", "429.icu", "packyapi", "yunwu", "foxcode"}
    assert vendors | {vendor for ids in MODEL_IDS.values() for vendor in ids} - {"simulated"} <= set(registry.vendors)
    names = "gemini-2.5-flash claude-sonnet-4.5 claude-opus-4.5 claude-haiku-4.5 deepseek-v3.2 glm-4.7 minimax-m2.5"
    assert {*names.split(), "kimi-k2.5"} <= MODEL_IDS.keys()
    assert all(any(makers_of(model)) for model in MODEL_IDS if not model.startswith("simulated-"))
    assert makers_of("somebody-elses-model") == ((), ())
