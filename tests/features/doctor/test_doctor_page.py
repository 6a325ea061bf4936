"""docs/doctor.md against the code it describes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from doctor_cases import case
from msgspec import structs

from vendor_verifier.features.doctor.checks import MIN_MOMENTS, MIN_SPREAD_MS, MIN_SPREAD_SHARE, SKEW_S, SOON_DAYS
from vendor_verifier.features.doctor.command import MAX_BODY, doctor_command
from vendor_verifier.features.doctor.diagnose import CHECKS
from vendor_verifier.features.doctor.hints import MIN_RATIO, MIN_TOKENS
from vendor_verifier.features.doctor.sdk_compatibility import MAX_REPLAYED_BYTES
from vendor_verifier.features.doctor.values import Diagnosis

PAGE = (Path(__file__).parents[3] / "docs" / "doctor.md").read_text(encoding="utf-8")


def test_the_page_has_a_row_for_every_check_and_no_other() -> None:
    """In the order in which they are printed."""
    rows = re.findall(r"^\| ([a-z ]+) \| ", PAGE, re.MULTILINE)
    assert rows[1:] == [check(case()).name for check in CHECKS]


def test_the_flags_of_the_page_exist() -> None:
    """What a reader copies is understood."""
    used = set(re.findall(r"(--[a-z-]+)", " ".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))))
    known = {"--" + name.replace("_", "-") for name in inspect.signature(doctor_command).parameters}
    assert used
    assert used <= known


def test_the_numbers_of_the_page_are_the_codes() -> None:
    """Thresholds are said as they are applied."""
    assert MIN_MOMENTS == 3
    assert "at least three token moments" in PAGE
    assert f"{MIN_SPREAD_SHARE:.0%}".replace("%", " %") in PAGE
    assert f"{MIN_SPREAD_MS:g} ms" in PAGE
    assert f"{SOON_DAYS} more days" in PAGE
    assert f"{SKEW_S:g} s away" in PAGE
    assert f"capped at {MAX_BODY} characters" in PAGE
    assert f"from {MIN_RATIO} times as many and {MIN_TOKENS} tokens more on" in PAGE
    assert f"more than {MAX_REPLAYED_BYTES // 1024} KB" in PAGE


def test_the_fields_of_the_json_are_named() -> None:
    """Who parses the output finds every field on the page."""
    assert [field.name for field in structs.fields(Diagnosis) if f"`{field.name}`" not in PAGE] == []
