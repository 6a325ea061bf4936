"""Clocks of workers elsewhere: the quickest answer counts, and what is known of a clock outlives its session."""

from __future__ import annotations

from vendor_verifier.run.cluster.worker_clocks import WorkerClocks

MS = 1_000_000


def test_the_quickest_of_the_last_answers_gives_the_offset() -> None:
    """A clock 2 s ahead, asked over ways of different length: known after five answers, by the shortest way, half of
    which is the error; while it is not known it is asked again at once."""
    asked: list[str] = []
    clocks = WorkerClocks(asked.append)
    clocks.joined("one")
    known = []
    for way_ms in (40, 10, 2, 30, 20):
        # All of the way back: the worst that such a way can do.
        known.append(clocks.answered("one", 0, 2000 * MS, way_ms * MS))
    assert known == [False, False, False, False, True]
    assert asked == ["one"] * 5
    assert clocks.offset_ns("one") == 1999 * MS
    assert clocks.error_ms == {"one": 1.0}
    clocks.ask_all()
    assert len(asked) == 6
    # It drifts: of old answers none is left after eight further ones.
    for _ in range(8):
        assert not clocks.answered("one", 0, 2100 * MS, 4 * MS)
    assert clocks.offset_ns("one") == 2098 * MS


def test_a_session_that_left_is_asked_no_more_and_stays_on_record() -> None:
    """Its late answers are nothing; the manifest still states how well its clock was known."""
    asked: list[str] = []
    clocks = WorkerClocks(asked.append)
    clocks.joined("one")
    clocks.answered("one", 0, 5 * MS, 10 * MS)
    clocks.left("one")
    asked.clear()
    clocks.ask_all()
    assert asked == []
    assert not clocks.answered("one", 0, 5 * MS, 10 * MS)
    assert clocks.error_ms == {"one": 5.0}
