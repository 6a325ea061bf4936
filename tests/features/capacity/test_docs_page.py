"""docs/capacity.md against the code it describes."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from vendor_verifier.cli.main import build_app
from vendor_verifier.features.capacity.command import capacity_command
from vendor_verifier.features.capacity.limits import USUAL_LIMITS
from vendor_verifier.features.capacity.values import FILLED, UNLOADED_REPEATS, Aspect, CapacityOptions, SearchBounds
from vendor_verifier.run.event_loop_lag import MAX_CORE_SHARE, MIN_WATCH_S, STALL_NS
from vendor_verifier.words import Texts

PAGE = (Path(__file__).parents[3] / "docs" / "capacity.md").read_text(encoding="utf-8")
ASPECTS = [f"aspect_{name}" for name in get_args(Aspect) if name != "other"]
EXAMPLES = [
    line.partition("#")[0].strip()
    for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
]


@pytest.mark.parametrize("line", EXAMPLES)
def test_the_commands_of_the_page_are_understood(line: str) -> None:
    """What a reader copies is parsed down to its last flag."""
    words = shlex.split(line)
    assert words[0] == "agent-vendor-verifier"
    command, bound, _ = build_app().parse_args(words[1:], exit_on_error=False, print_error=False)
    assert command is capacity_command
    options = bound.arguments.get("options", CapacityOptions())
    stated = [each.name for each in fields(options) if getattr(options, each.name) != each.default]
    assert len(stated) >= len([word for word in words if word.startswith("-")])


def test_the_usual_limits_are_the_code_s() -> None:
    """Each has its row, and nothing else stands there."""
    rows = re.findall(r"^\| `([a-z].*?)` \| (?:requests|questions)", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(USUAL_LIMITS["concurrency"])
    assert set(USUAL_LIMITS["rate"]) - set(USUAL_LIMITS["concurrency"]) == {"ttft_from_schedule_ms.p95 <= 2000"}
    assert "`ttft_from_schedule_ms.p95`" in PAGE


def test_the_numbers_of_the_page_are_the_code_s() -> None:
    """Defaults and bounds are said as they are applied."""
    defaults = {each.name: each.default for each in fields(CapacityOptions)}
    assert f"`--limit`, {defaults['limit']} unless" in PAGE
    assert f"`--up-to` ({defaults['up_to']:g})" in PAGE
    assert f"`--step` ({defaults['step']:.0%})".replace("%", " %") in PAGE
    assert f"`--max-requests` ({defaults['max_requests']})" in PAGE
    assert f"`--max-seconds` ({defaults['max_seconds']:g})" in PAGE
    assert (UNLOADED_REPEATS, FILLED, SearchBounds("rate", 1, 1, 1).more) == (2, {"concurrency": 4, "rate": 10}, 3)
    assert f"late by more than {STALL_NS // 10**6} ms" in PAGE
    assert f"more than {MAX_CORE_SHARE} of a core" in " ".join(PAGE.split())
    assert MIN_WATCH_S == 2


def test_every_cause_that_can_be_named_is_on_the_page() -> None:
    """A reader finds what the first word of a verdict means."""
    assert [words for words in map(Texts(), ASPECTS) if words not in PAGE] == []
