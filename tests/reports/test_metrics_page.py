"""docs/metrics.md says what every name in a report means."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from vendor_verifier.metrics import FIGURES, METRICS
from vendor_verifier.values.record import FailureKind
from vendor_verifier.values.score import CallClass

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
NAMES = sorted({*get_args(FailureKind), *get_args(CallClass), *(item.name for item in (*FIGURES, *METRICS))})


@pytest.mark.parametrize("name", NAMES)
def test_every_name_has_its_row(name: str) -> None:
    """A failure kind, a class of arguments or a metric cannot be added without a word about it."""
    assert f"\n| `{name}` | " in PAGE.read_text(encoding="utf-8")
