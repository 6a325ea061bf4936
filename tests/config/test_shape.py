"""What fits a part of config.yaml, and the words for what does not; how a whole file is refused is told elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.config.problems import Findings
from vendor_verifier.config.schema import Price, Settings, VendorEntry
from vendor_verifier.config.yaml_source import read_yaml
from vendor_verifier.errors import ConfigError

VALUES = (None, True, 0, 1, -1, 2.5, 10**7, "", "x", "USD", "é" * 90, [], [1], {}, {"input": 1},
          {"input": -1, "rate": "x", "zzz": 1}, {"X-Team": "a", "X-Id": 7, "X-On": None})  # fmt: skip


def checked(entry: str) -> tuple[VendorEntry | None, frozenset[str], list[tuple[str, str]]]:
    """A vendor entry from YAML: what was made of it, which of its fields did not fit, and (key, message) of each."""
    source = read_yaml(f"entry: {entry}\n")
    findings = Findings(Path("config.yaml"), source)
    part, bad = findings.fitted(VendorEntry, ("entry",), source.content["entry"])
    try:
        findings.stop_on_problems()
    except ConfigError as error:
        return part, bad, [((problem.key or "").removeprefix("entry."), problem.message) for problem in error.problems]
    return part, bad, []


def test_nothing_and_whole_numbers_fit_where_they_may() -> None:
    """An empty key is as good as none, a whole number is a number, and a fitting header outlives an unfit one."""
    part, bad, problems = checked("{name: a, label: , temperature: 1, price: {input: 2, rate: ~}}")
    assert (part, bad, problems) == (VendorEntry(name="a", temperature=1.0, price=Price(input=2.0)), frozenset(), [])
    assert part is not None or "name" in bad
    assert isinstance(part.temperature, float)
    assert checked("{name: a, extra_headers: {X-Id: 7, X-Team: b}}")[0] == VendorEntry(
        name="a", extra_headers={"X-Team": "b"}
    )


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from([*VendorEntry.model_fields, "zzz"]), st.sampled_from(VALUES), max_size=6))
def test_every_misfit_is_told_whatever_else_is_wrong(entry: dict[str, Any]) -> None:
    """An entry's problems are those of its settings one by one: none hides another, and none comes from nowhere."""
    entry = {"name": "a"} | entry
    alone = [
        problem for key, value in entry.items() for problem in checked(json.dumps({"name": "a"} | {key: value}))[2]
    ]
    part, bad, problems = checked(json.dumps(entry))
    assert sorted(problems) == sorted(alone)
    assert bad == {key.partition(".")[0] for key, _ in problems}
    assert part is not None or "name" in bad


def test_no_part_shows_its_texts() -> None:
    """A part of the file may hold a key by mistake, which no traceback or log may repeat."""
    for part in (VendorEntry(name="a", api_key="canary"), Settings(extra_headers={"x-api-key": "canary"})):
        assert "canary" not in repr(part)
