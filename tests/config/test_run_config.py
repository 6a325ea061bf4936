"""A setting of a run is one field: it is found wherever settings are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from cyclopts import Parameter

from vendor_verifier.cli.main import run_app
from vendor_verifier.config.run_config import KEPT_ELSEWHERE, RunConfig, RunOptions, help_of, run_options
from vendor_verifier.config.schema import json_schema
from vendor_verifier.errors import ProblemsError
from vendor_verifier.records.plan import Limits, RetryRules

ROOT = Path(__file__).parents[2]


def run_help(capsys: pytest.CaptureFixture[str]) -> str:
    assert run_app(["run", "--help"]) == 0
    return capsys.readouterr().out


def has_flag(name: str) -> bool:
    parameter = next((each for each in RunConfig.model_fields[name].metadata if isinstance(each, Parameter)), None)
    return parameter is not None and parameter.parse is not False


def test_a_field_is_found_wherever_settings_are(capsys: pytest.CaptureFixture[str]) -> None:
    """File, flags, Python, manifest, editor and reference all know it from its field."""
    flags = set(re.findall(r"--[a-z0-9][\w-]*", run_help(capsys)))
    program = [sys.executable, "scripts/docs_site.py"]
    reference = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    editor = json_schema()["$defs"]["RunConfig"]["properties"]
    for name, field in RunConfig.model_fields.items():
        words = help_of(field)
        assert words, name
        assert editor[name]["description"] == words
        assert (f"--{name.replace('_', '-')}" in flags) == has_flag(name), name
        made = RunOptions(**{name: field.get_default(call_default_factory=True)})
        assert name in made.model_fields_set
        assert (name in made.stated()) == (name not in KEPT_ELSEWHERE), name
        assert f"| `{name}` | {words} |" in reference


def test_what_is_given_to_python_is_checked_at_once() -> None:
    with pytest.raises(ProblemsError) as caught:
        run_options(retries=-1, limit=0, retires=3)
    assert {problem.key for problem in caught.value.problems} == {"--retries", "--limit", "--retires"}


def test_what_a_program_leaves_out_is_left_to_the_file() -> None:
    """None and nothing set nothing; a number that is also the default is set."""
    merged = run_options(model=(), limit=None, repeat=1).over(RunConfig(model=("m",), limit=3, repeat=5))
    assert (merged.model, merged.limit, merged.repeat) == (("m",), 3, 1)


def test_flags_and_defaults_are_those_of_0_1_0(capsys: pytest.CaptureFixture[str]) -> None:
    """By the names they had, underscores included."""
    flags = (
        "--test-file-path --config-file-path --vendor-concurrency --temperature --max-tokens --request-concurrency "
        "--retries --timeout --incremental --use_raw_completions --tokenizer-model --extra-body"
    )
    shown = run_help(capsys)
    assert [flag for flag in flags.split() if flag not in shown] == []
    assert (Limits().total_s, RetryRules().retries) == (600, 3)
    # One vendor after the other was the default of 0.1.0; in parallel none has the better hour.
    assert RunOptions().vendor_concurrency is None
