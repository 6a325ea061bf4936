"""The answers test as docs/judgement.md tells: its size at the level stated, and its power on real answers."""

from __future__ import annotations

from types import ModuleType

import pytest
from loading_scripts import load

script = pytest.fixture(scope="module")(lambda: load("make_answers_table"))
# 2,000 runs of one cell have a standard error of 0.22 %; the largest of eighteen may lie three above 1 %.
MOST = 1.7


def test_the_page_tells_of_no_size_above_the_level(script: ModuleType) -> None:
    """Every kind of honest run, and two real hosts that are found in nearly all runs of 50 questions."""
    page = script.TARGET.read_text(encoding="utf-8").partition(script.BEGIN)[2].partition(script.END)[0]
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if " % |" in line]
    rows = {head: [float(cell.removesuffix(" %")) for cell in cells] for head, *cells in lines}
    honest = [cells for head, cells in rows.items() if "honest" in head]
    assert len(honest) == len(script.SPREADS) * len(script.VENDORS)
    assert max(map(max, honest)) <= MOST
    real = [cells for head, cells in rows.items() if head.startswith("real host")]
    assert len(real) == 2
    assert all(cells[0] >= 70 and cells[1] >= 95 for cells in real)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "vendors"), [(20, 1), (50, 3), (200, 1)])
def test_honest_vendors_are_named_at_the_stated_level_with_other_seeds(
    script: ModuleType, n: int, vendors: int
) -> None:
    """600 runs at 1 %: more than 14 would happen by chance once in 1,000 times."""
    assert script.share(n, vendors, 0.5, 600, first_seed=91_000) <= 14 / 600


@pytest.mark.slow
def test_real_hosts_that_answer_otherwise_are_found(script: ModuleType) -> None:
    """From 20 questions in 7 of 10 runs, from 50 in nearly all."""
    if not script.LLMVV.is_dir():
        pytest.skip("../shared/data/llmvv is not here: the power on real hosts is not measured")
    for rows in script.real_leanings().values():
        assert script.found_share(rows, 20, 200, seed=92_000) >= 0.7
        assert script.found_share(rows, 50, 100, seed=92_000) >= 0.95
