"""Medians, ratios and tables of the benchmarks."""

from __future__ import annotations

import pytest
import summary
from cost import Cost
from observing import Observation


def seen(*us: float, requests: int = 100, elsewhere: float | None = 0.0) -> list[Observation]:
    return [Observation(requests, Cost(one * requests / 1e6, 1.0, 50.0), elsewhere) for one in us]


def test_a_ratio_compares_within_a_round() -> None:
    """A machine that is three times slower in one round changes no ratio, though it changes both medians."""
    ours, theirs = seen(200, 600, 210), seen(100, 300, 100)
    assert summary.ratio(ours, theirs) == pytest.approx(2.0)


def test_rounds_that_lack_a_partner_are_refused() -> None:
    """Five rounds against four would pair what was not measured together."""
    with pytest.raises(ValueError, match="shorter"):
        summary.ratio(seen(1, 2), seen(1))


def test_marginal_cost_leaves_start_up_out() -> None:
    """One second of start-up on top of 100 µs a request is 100 µs for one more."""
    small = [Observation(1_000, Cost(1.0 + 0.1, 1.0, 1.0), None)]
    large = [Observation(2_000, Cost(1.0 + 0.2, 1.0, 1.0), None)]
    assert summary.marginal_us(small, large) == pytest.approx(100)


def test_flatness_is_the_dearest_by_the_cheapest() -> None:
    """Whatever the order of the sizes."""
    assert summary.flatness([200, 250, 210]).startswith("Dearest ÷ cheapest: 1.25 ")


def test_noise_is_not_sold_as_flatness() -> None:
    """A cost of one more request below nothing is no cost."""
    assert "could not be measured" in summary.flatness([300, -20])


def test_cost_is_told_with_its_range() -> None:
    """Median first, then the cheapest and the dearest round."""
    assert summary.per_request(seen(900, 1_500, 1_000)) == "1,000 (900–1,500)"


@pytest.mark.parametrize(
    ("cores", "start"),
    [(0.02, "Quiet machine"), (1.4, "**Noisy machine"), (None, "How much else")],
)
def test_a_noisy_machine_is_called_noisy(cores: float | None, start: str) -> None:
    """What other programs used decides the word, and not knowing is said."""
    assert summary.elsewhere(seen(1, 2, 3, elsewhere=cores)).startswith(start)


def test_a_bar_in_a_cell_does_not_break_the_table() -> None:
    """A peer's message with a bar stays one cell."""
    assert summary.table(["a"], [["x|y"]]).splitlines()[-1] == "| x\\|y |"


def test_reasons_name_no_place() -> None:
    """Paths and addresses of the machine that measured do not get into the page."""
    said = "No module\n named x in /home/me/lib.py, see https://a.example/b C:\\Users\\me"
    assert summary.without_places(said) == "No module named x in see"
