"""What the product's page shows can be typed as it stands there: command, configuration, vendors, models, flags."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from vendor_verifier.cli.main import run_app
from vendor_verifier.config.model_names import known_models
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.records.plan import Limits, RetryRules
from vendor_verifier.registry import find_vendors

ROOT = Path(__file__).parents[2]


def test_the_page_s_vendors_and_models_are_known() -> None:
    """The seven vendors and the eight unified names of its tables."""
    vendors = find_vendors(()).vendors
    assert {"openrouter", "gemini", "siliconflow", "429.icu", "packyapi", "yunwu", "foxcode"} <= set(vendors)
    names = "gemini-2.5-flash claude-sonnet-4.5 claude-opus-4.5 claude-haiku-4.5 deepseek-v3.2 glm-4.7 minimax-m2.5"
    assert {*names.split(), "kimi-k2.5"} <= set(known_models())


@pytest.mark.parametrize(
    "flag",
    "--test-file-path --config-file-path --vendor-concurrency --temperature --max-tokens --request-concurrency "
    "--retries --timeout --incremental --use_raw_completions --tokenizer-model --extra-body".split(),
)
def test_every_flag_of_0_1_0_is_there(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By the name it had, underscores included; the help says so, or the command takes it."""
    values = {"--incremental": [], "--use_raw_completions": [], "--extra-body": ["{}"], "--config-file-path": ["none"]}
    assert run_app([flag, *values.get(flag, ["1"])]) == 2
    err = capsys.readouterr().err
    assert not re.search(r"[Uu]nknown option", err), err


def test_defaults_are_those_of_0_1_0() -> None:
    """Requests in flight, retries and the timeout, as README and help say them."""
    assert (Limits().total_s, RetryRules().retries) == (600, 3)
    options = RunOptions()
    assert (options.temperature, options.max_tokens, options.incremental, options.use_raw_completions) == (
        None, None, False, False,
    )  # fmt: skip
    # One vendor after the other was the default of 0.1.0; side by side none has the better hour.
    assert options.vendor_concurrency is None


def test_the_page_s_packages_are_dependencies() -> None:
    """A plain install brings the client's successor, both SDKs, pandas and what else the page lists."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"[>=<\[]", line)[0] for line in project["dependencies"]}
    page = {"httpx2", "anyio", "openai", "anthropic", "python-dotenv", "pyyaml", "tenacity", "pandas"}
    assert page <= needed
