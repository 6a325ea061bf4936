"""What fits a part of config.yaml, and the words for what does not; how a whole file is refused is told elsewhere."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.config.problems import Findings
from vendor_verifier.config.schema import Price, Settings, VendorEntry, check_overrides, check_shape
from vendor_verifier.config.yaml_tree import parse
from vendor_verifier.errors import ConfigError

QUOTES = "something between the quotes"
MAPPING = "a mapping (`key: value` lines)"
SWITCH = "`true` or `false`, without quotes"
CAPITALS = 'three capital letters such as "USD" or "CNY"'
VALUES = (None, True, 0, 1, -1, 2.5, 10**7, "", "x", "USD", "é" * 90, [], [1], {}, {"input": 1},
          {"input": -1, "rate": "x", "zzz": 1}, {"X-Team": "a", "X-Id": 7, "X-On": None})  # fmt: skip


def checked(entry: str) -> tuple[VendorEntry | None, frozenset[str], list[tuple[str, str]]]:
    """A vendor entry from YAML: what was made of it, which of its fields did not fit, and (key, message) of each."""
    root, _ = parse(f"entry: {entry}\n")
    findings = Findings(Path("config.yaml"), root)
    part, bad = check_shape(VendorEntry, ("entry",), findings, {"name": "unread"})
    try:
        findings.stop_on_problems()
    except ConfigError as error:
        return part, bad, [((problem.key or "").removeprefix("entry."), problem.message) for problem in error.problems]
    return part, bad, []


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("validator: 1", 'read `1`, which YAML takes as number; expected text; write it in quotes: "1"'),
        ("validator: [a]", "read a list; expected text"),
        ("temperature: -0.1", "read `-0.1`; expected a number from 0 to 2"),
        ("temperature: 2.1", "read `2.1`; expected a number from 0 to 2"),
        ("temperature: '1'", "read the text `1`; expected a number from 0 to 2"),
        ("temperature: {}", "read a mapping; expected a number from 0 to 2"),
        ("max_tokens: 0", "read `0`; expected at least 1"),
        ("max_tokens: 1.0", "read `1.0`; expected a whole number"),
        ("max_tokens: true", "read `true`; expected a whole number"),
        ("extra_body: []", f"read an empty list; expected {MAPPING}"),
        ("extra_headers: x", f"read the text (not shown); expected {MAPPING}"),
        ("rpm: 0", "read `0`; expected more than 0"),
        ("rpm: 1000001", "read `1000001`; expected at most 1e+06"),
        ("rpm: yes", "read `yes`; expected a number"),
        ("tpm: 1e10", "read `1e10`; expected at most 1e+09"),
        ("price: 1", f"read `1`; expected {MAPPING}"),
        ("allow_http: 'true'", f"read the text `true`; expected {SWITCH}"),
        ("allow_http: 1", f"read `1`; expected {SWITCH}"),
        ("label: ''", f"read the text ``; expected {QUOTES}"),
        (f"label: {'é ' * 41}x", f"read the text `{'é ' * 30}…`; expected at most 80 characters"),
        ("api_key_env: ''", f"read the text (not shown); expected {QUOTES}"),
        ("is_baseline: no thanks", f"read the text `no thanks`; expected {SWITCH}"),
    ],
)
def test_one_setting_that_does_not_fit(setting: str, message: str) -> None:
    """Every kind of misfit has words of its own, and the rest of the entry is kept."""
    part, bad, problems = checked("{name: a, " + setting + "}")
    key = setting.partition(":")[0]
    assert problems == [(key, message)]
    assert part == VendorEntry(name="a")
    assert bad == {key}


@pytest.mark.parametrize(
    ("entry", "key", "message"),
    [
        ("", "entry", f"empty; expected {MAPPING}"),
        ("[1]", "entry", f"read a list; expected {MAPPING}"),
        ("{}", "name", "`name` is missing"),
        ("{name: }", "name", "empty; expected text"),
        ("{name: a, price: {input: -1}}", "price.input", "read `-1`; expected at least 0"),
        ("{name: a, price: {rate: 0}}", "price.rate", "read `0`; expected more than 0"),
        ("{name: a, price: {currency: usd}}", "price.currency", f"read the text `usd`; expected {CAPITALS}"),
        ('{name: a, price: {currency: "USD\\n"}}', "price.currency", f"read the text `USD\\n`; expected {CAPITALS}"),
        ("{name: a, price: {inputs: 1}}", "price.inputs", "unknown key in price (did you mean `input`?)"),
        ("{name: a, extra_headers: {X-Id: 7}}", "extra_headers.X-Id",
         "read (not shown), which YAML takes as number; expected text; write it in quotes"),
        ("{name: a, extra_headers: {X-Id: }}", "extra_headers.X-Id", "empty; expected text"),
        ("{name: a, lable: x}", "lable", "unknown key in a vendor entry (did you mean `label`?)"),
    ],
)  # fmt: skip
def test_misfits_of_the_whole_and_within_mappings(entry: str, key: str, message: str) -> None:
    """What is missing, unknown or nested is told at its own key."""
    assert checked(entry)[2] == [(key, message)]


def test_nothing_and_whole_numbers_fit_where_they_may() -> None:
    """An empty key is as good as none, a whole number is a number, and a fitting header outlives an unfit one."""
    part, bad, problems = checked("{name: a, label: , temperature: 1, price: {input: 2, rate: ~}}")
    assert (part, bad, problems) == (VendorEntry(name="a", temperature=1.0, price=Price(input=2.0)), frozenset(), [])
    assert part is not None
    assert isinstance(part.temperature, float)
    assert checked("{name: a, extra_headers: {X-Id: 7, X-Team: b}}")[0] == VendorEntry(
        name="a", extra_headers={"X-Team": "b"}
    )


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from([*VendorEntry.__struct_fields__, "zzz"]), st.sampled_from(VALUES), max_size=6))
def test_every_misfit_is_told_whatever_else_is_wrong(entry: dict[str, Any]) -> None:
    """An entry's problems are those of its settings one by one: none hides another, and none comes from nowhere."""
    entry = {"name": "a"} | entry
    alone = [
        problem for key, value in entry.items() for problem in checked(json.dumps({"name": "a"} | {key: value}))[2]
    ]
    part, bad, problems = checked(json.dumps(entry))
    assert sorted(problems) == sorted(alone)
    assert bad == {key.partition(".")[0] for key, _ in problems}
    assert part is not None


def test_overrides_are_held_against_the_same_shape() -> None:
    """Settings from the command line, where a number may also be none or infinite."""
    assert check_overrides({"temperature": 1, "max_tokens": 10**30, "extra_body": {"a": None}}) == {}
    for number in (math.nan, math.inf, -1.0, True):
        assert check_overrides({"temperature": number, "max_tokens": 0}) == {
            "temperature": "expected a number from 0 to 2", "max_tokens": "expected at least 1"
        }  # fmt: skip


def test_no_part_shows_its_texts() -> None:
    """A part of the file may hold a key by mistake, which no traceback or log may repeat."""
    for part in (VendorEntry(name="a", api_key="canary"), Settings(extra_headers={"x-api-key": "canary"})):
        assert "canary" not in repr(part)
