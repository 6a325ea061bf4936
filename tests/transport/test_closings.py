"""Which servers' connections are kept is learnt from what became of them."""

from __future__ import annotations

from vendor_verifier.transport.policy import Closings


def kept(closings: Closings, server: str, count: int = 160) -> int:
    return sum(closings.is_worth_keeping(server) for _ in range(count))


def test_a_server_that_closes_again_and_again_is_hardly_tried_any_more() -> None:
    """After eight closings in a row one connection of sixteen is kept; another server's are kept as ever."""
    closings = Closings()
    for _ in range(7):
        closings.learn("a", was_open=False)
    assert kept(closings, "a") == 160
    closings.learn("a", was_open=False)
    assert (kept(closings, "a"), kept(closings, "b")) == (10, 160)


def test_one_kept_promise_restores_the_trust() -> None:
    """A reload closes all connections at once; the next one that serves twice ends the caution."""
    closings = Closings()
    for _ in range(100):
        closings.learn("a", was_open=False)
    closings.learn("a", was_open=True)
    assert kept(closings, "a") == 160
