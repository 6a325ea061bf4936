"""How live progress reads."""

from __future__ import annotations

from vendor_verifier.cli.progress import Row, progress_lines, status_line

_FAST = Row("fast", 80, 100, 0, 5, 12.5, 210.4, 0.0312, 1.6)
_SLOW = Row("slow", 7, 100, 2, 5, 0.5, 4100.0, None, 3725.0)


def test_a_table_has_a_row_for_each_vendor_and_one_for_all() -> None:
    """Every figure under its heading, the whole run last."""
    head, *rows = progress_lines([_FAST, _SLOW], is_complete=False)
    assert head.split("  ")[0] == "Vendor"
    assert [row.split() for row in rows] == [
        ["fast", "80/100", "0", "5", "12.5", "210", "ms", "$0.0312", "2", "s"],
        ["slow", "7/100", "2", "5", "0.5", "4100", "ms", "–", "1", "h", "02", "min"],
        ["all", "87/200", "2", "10", "13.0", "–", "$0.0312", "1", "h", "02", "min"],
    ]
    assert len({len(line) for line in (head, *rows)}) == 1


def test_one_vendor_is_its_own_sum() -> None:
    """A single row is not repeated, and the end of sending is told."""
    assert progress_lines([_FAST], is_complete=True)[2:] == ["all answers are here, scoring them"]


def test_one_line_tells_the_same() -> None:
    """For logs: the run, then how far each vendor is."""
    assert status_line([_FAST, _SLOW]) == (
        "87/200 done, 2 failed, 10 in flight, 13.0 a second, $0.0312 so far, about 1 h 02 min left "
        "[fast 80/100 210 ms; slow 7/100 (2 failed) 4100 ms]"
    )


def test_what_is_unknown_is_left_out_of_the_line() -> None:
    """Before anything came back there is nothing to say of speed, cost and time."""
    nothing = Row("a", 0, None, 0, None, None, None, None, None)
    assert status_line([nothing]) == "0 done, 0 failed"


def test_a_label_cannot_take_over_the_terminal() -> None:
    """Control characters of a label are shown, not obeyed."""
    line = status_line([Row("\x1b[2J", 0, 1, 0, None, None, None, None, None), _SLOW])
    assert "\x1b" not in line + "".join(progress_lines([Row("\x1b[2J", *([0] * 8))], is_complete=False))
