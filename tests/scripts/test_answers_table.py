"""The answers test as docs/judgement.md tells: its size at the level stated, and its power on real answers."""

from __future__ import annotations

from types import ModuleType

import pytest
from loading_scripts import load

script = pytest.fixture(scope="module")(lambda: load("make_answers_table"))


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
