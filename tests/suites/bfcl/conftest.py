"""The shipped slice by row id."""

from __future__ import annotations

import pytest

from vendor_verifier.pipeline.bfcl.data import find_data, load_categories
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites.bfcl.categories import SINGLE_TURN


@pytest.fixture(scope="session")
def shipped_rows() -> dict[str, Sample]:
    """Every row of the shipped slice under its own id."""
    loaded, _ = load_categories(find_data("shipped"), SINGLE_TURN)
    return {sample.expected["id"]: sample for sample in loaded.samples}
