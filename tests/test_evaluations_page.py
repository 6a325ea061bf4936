"""docs/evaluations.md says what the code does: its options and fields are the code's."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from vendor_verifier.suites.contract import CHECKS
from vendor_verifier.suites.mcp_toolbench import MCPToolBenchSuite
from vendor_verifier.suites.tool_calls.suite import CallSuite
from vendor_verifier.suites.tool_correctness import ToolCorrectnessSuite
from vendor_verifier.suites.toolbench import ToolBenchSuite

PAGE = (Path(__file__).parents[1] / "docs" / "evaluations.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("suite", [ToolBenchSuite, MCPToolBenchSuite, ToolCorrectnessSuite])
def test_every_option_and_value_is_on_the_page(suite: type[CallSuite]) -> None:
    """With the default the code has."""
    for option in dataclasses.fields(suite):
        if option.name != "name":
            row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{option.name}` |"))
            default = {"None": "none", "False": "false"}.get(str(option.default), str(option.default))
            assert row.split("|")[3].strip().strip("`") == default
    for value in suite.VALUES:
        assert f"`{value}`" in PAGE or value == "score"


def test_every_check_of_the_contract_is_on_the_page() -> None:
    """In the order of the report, and no other."""
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.partition("| Check | Kept if |")[2].partition("\n\n")[0], re.MULTILINE)
    assert listed == [check.name for check in CHECKS]


def test_the_page_has_the_bands_of_mcptoolbench() -> None:
    """What good results look like, for single-step and for multi-step tasks."""
    for row in (
        "| single-step | 70 % and more | good",
        "| single-step | 50 to 70 % | adequate",
        "| multi-step | 50 % and more | good",
        "| multi-step | 30 to 50 % | adequate",
        "| multi-step | below 30 % | look into it",
    ):
        assert f"\n{row}" in PAGE
