"""Taking turns and the table of peers."""

from __future__ import annotations

from collections.abc import Callable

import comparison
import pytest
from comparison import LIMIT, PRODUCT, Subject
from cost import Cost
from observing import Observation
from peers.peer import NotDone


def subject(name: str, us: float, requests: int = 100, optional: bool = True) -> Subject:
    return Subject(name, "asks", requests, lambda _port, n, _flight: Cost(us * n / 1e6, 1.0, 50.0), optional=optional)


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def observed(port: int, requests: int, posts: int, run: Callable[[], Cost]) -> Observation:
        return Observation(requests, run(), None)

    monkeypatch.setattr(comparison, "observed", observed)


def quiet(line: str) -> None:
    pass


def test_ratios_are_to_the_product_at_the_same_number_of_requests() -> None:
    """A peer of 100 requests is not held against the product's cheaper 10,000."""
    subjects = [
        subject(PRODUCT, 400, 10_000), subject(LIMIT, 100, 10_000),
        subject("slow 1.0", 8_000), subject(PRODUCT, 2_000), subject(LIMIT, 500),
    ]  # fmt: skip
    comparison.take_turns(subjects, 0, 10, 3, quiet)
    (row,) = [line for line in comparison.page(subjects, {}).splitlines() if "slow 1.0" in line]
    assert [cell.strip() for cell in row.split("|")][3:6] == ["8,000 (8,000–8,000)", "4.00", "16.00"]


def test_a_peer_that_fails_is_named_with_its_reason_and_the_others_go_on() -> None:
    """It is asked once, stands under Skipped, and is in no row."""
    asked = []

    def broken(port: int, requests: int, concurrency: int) -> Cost:
        asked.append(1)
        raise NotDone("half of the answers were lost in /tmp/x")

    subjects = [Subject("bad 2.0", "asks", 100, broken), subject(PRODUCT, 400), subject(LIMIT, 100)]
    comparison.take_turns(subjects, 0, 10, 4, quiet)
    rows, _, skipped = comparison.page(subjects, {"gone 3.0": "cannot be installed: no wheel"}).partition("Skipped:")
    assert (len(asked), len(subjects[1].seen)) == (1, 4)
    assert "bad 2.0" not in rows
    assert "- bad 2.0: failed: half of the answers were lost in" in skipped
    assert "- gone 3.0: cannot be installed: no wheel" in skipped


def test_the_product_may_not_fail() -> None:
    """A table without the product would compare nothing."""

    def broken(port: int, requests: int, concurrency: int) -> Cost:
        raise NotDone("nothing was asked")

    with pytest.raises(NotDone):
        comparison.take_turns([Subject(PRODUCT, "", 1, broken, optional=False)], 0, 1, 1, quiet)


def test_every_other_round_goes_backwards() -> None:
    """What drifts with time meets the first and the last alike."""
    order = []
    subjects = [subject(name, 1) for name in "abc"]
    comparison.take_turns(subjects, 0, 1, 2, lambda line: order.append(line.split("× ")[1][0]))
    assert "".join(order) == "abccba"
