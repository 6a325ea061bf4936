"""Finding and reading BFCL data, and upstream's own data where it is installed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from vendor_verifier.pipeline.bfcl.data import (
    BfclData,
    find_data,
    load_categories,
)
from vendor_verifier.suites.bfcl.categories import SINGLE_TURN, expand


def test_the_shipped_slice() -> None:
    """About 100 rows over all thirteen single-turn categories ship, none of them impossible."""
    loaded, _ = load_categories(find_data("shipped"), expand(["all"]))
    counts = Counter(sample.expected["category"] for sample in loaded.samples)
    assert set(counts) == set(SINGLE_TURN)
    assert min(counts.values()) >= 4
    assert sum(counts.values()) == 100
    assert loaded.defects == ()


def test_a_folder_of_either_version(tmp_path: Path) -> None:
    """A user's folder is found as such, inside a package, and with either version's names."""
    row = '{"id": "irrelevance_0", "question": [[{"role": "user", "content": "hi"}]], "function": []}\n'
    data = tmp_path / "bfcl_eval" / "data"
    data.mkdir(parents=True)
    (data / "BFCL_v4_irrelevance.json").write_text(row, encoding="utf-8")
    for where in (data, data.parent, tmp_path):
        assert find_data(str(where)) == BfclData(data, "v4", "bfcl_eval v4")
