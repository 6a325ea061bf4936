"""docs/metrics.md says what every name in a report means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

import vendor_verifier
from vendor_verifier.metrics import FIGURES, METRICS
from vendor_verifier.metrics.inter_chunk_latency import ICL
from vendor_verifier.values.score import CallClass
from vendor_verifier.wire.gemini import reader

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
PACKAGE = "\n".join(path.read_text(encoding="utf-8") for path in Path(vendor_verifier.__file__).parent.rglob("*.py"))
NAMES = sorted({*get_args(CallClass), ICL, *(item.name for item in (*FIGURES, *METRICS))})


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_its_row(name: str) -> None:
    """A class of arguments or a metric cannot be added without a word about it."""
    assert f"\n| `{name}` | " in PAGE.read_text(encoding="utf-8")


def _documented_anomalies() -> set[str]:
    section = PAGE.read_text(encoding="utf-8").partition("## Anomalies")[2]
    return set(re.findall(r"^\| `(\w+)` \| ", section, re.MULTILINE))


def test_every_anomaly_of_a_reader_has_its_row() -> None:
    """A wire cannot notice something under a name that nobody explains."""
    noticed = set(re.findall(r'Anomaly\(\s*"(\w+)"', PACKAGE))
    noticed |= {*reader.FAILED_CALLS.values(), *reader.IGNORED_PARTS.values()}
    assert noticed
    assert noticed <= _documented_anomalies()


def test_no_row_explains_an_anomaly_that_is_gone() -> None:
    """A name that no code knows any more is not left standing on the page."""
    assert {name for name in _documented_anomalies() if f'"{name}"' not in PACKAGE} == set()
