"""Finding and reading BFCL data, and upstream's own data where it is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import pytest

from vendor_verifier.errors import UsageError
from vendor_verifier.pipeline.bfcl.data import (
    BfclData,
    find_data,
    load_categories,
)
from vendor_verifier.pipeline.downloads import folder_at
from vendor_verifier.suites.bfcl.categories import MULTI_TURN, SINGLE_TURN, expand

if sys.version_info >= (3, 14):
    pass
else:
    pass

# Rows of upstream's v4 data that nobody passes, with the one that needs a bare word for a list.
IMPOSSIBLE = {
    "simple_java_36", "simple_java_64", "simple_java_65", "live_simple_106-63-0", "live_simple_112-68-0",
    "live_multiple_862-181-3", "live_multiple_964-207-0",
}  # fmt: skip


def test_the_shipped_slice() -> None:
    """About 100 rows over all thirteen single-turn categories ship, none of them impossible."""
    loaded, _ = load_categories(find_data("shipped"), expand(["all"]))
    counts = Counter(sample.expected["category"] for sample in loaded.samples)
    assert set(counts) == set(SINGLE_TURN)
    assert min(counts.values()) >= 4
    assert sum(counts.values()) == 100
    assert loaded.defects == ()


def test_limit_takes_the_first_rows() -> None:
    """Of all categories together, in the order asked."""
    first, _ = load_categories(find_data("shipped"), ["multiple", "parallel"], limit=10)
    assert [sample.expected["category"] for sample in first.samples] == ["multiple"] * 9 + ["parallel"]


def test_a_folder_of_either_version(tmp_path: Path) -> None:
    """A user's folder is found as such, inside a package, and with either version's names."""
    row = '{"id": "irrelevance_0", "question": [[{"role": "user", "content": "hi"}]], "function": []}\n'
    data = tmp_path / "bfcl_eval" / "data"
    data.mkdir(parents=True)
    (data / "BFCL_v4_irrelevance.json").write_text(row, encoding="utf-8")
    for where in (data, data.parent, tmp_path):
        assert find_data(str(where)) == BfclData(data, "v4", "bfcl_eval v4")


def test_nothing_there_is_said() -> None:
    """A folder without data is refused with what would do."""
    with pytest.raises(UsageError, match="possible_answer"):
        find_data("nowhere")


def test_a_name_that_no_data_set_can_have_is_refused_as_such() -> None:
    """The page's own job file, its placeholders still in it, is no defect of this program."""
    with pytest.raises(UsageError, match="no data set can have this name"):
        folder_at("hf://datasets/<my-namespace>/<my-custom-bfcl-dataset>")


def upstream() -> BfclData:
    """The installed bfcl_eval's data, or the test is skipped."""
    if importlib.util.find_spec("bfcl_eval") is None:
        pytest.skip("bfcl_eval is not installed: pip install --no-deps bfcl-eval")
    return find_data("installed")


def test_upstreams_rows_load_and_check() -> None:
    """All v4 rows load, all single-turn rows are checked, and only known rows are impossible."""
    data = upstream()
    loaded, _ = load_categories(data, (*SINGLE_TURN, *MULTI_TURN), services=True)
    rows = [sample for sample in loaded.samples if sample.expected["category"] in SINGLE_TURN]
    assert len(rows) == 3641
    assert {defect.partition(":")[0] for defect in loaded.defects} == IMPOSSIBLE
