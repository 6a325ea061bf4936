"""The screen after a run: its size, what it says first, and hostile text."""

from __future__ import annotations

import pytest
from made_results import HOSTILE, report, vendor, verdict
from rich.cells import cell_len
from scored import bare_run

from vendor_verifier.records.results import Choice, Facet, ModelResult, Report, VendorResult, Verdict
from vendor_verifier.reports import terminal
from vendor_verifier.scoring.figures import ScoredRun

LONG = "calls tools differently in 37 of 315 samples: 37 calls missed and 14 extra, " * 3


def crowd(count: int) -> list[VendorResult]:
    rivals = [vendor(f"siliconflow {n} (openrouter)", "differs", verdict=verdict("differs", f"{n} {LONG}"))
              for n in range(count)]  # fmt: skip
    return [vendor("official", "reference", is_baseline=True), *rivals]


def models(count: int, vendors: int) -> Report:
    by_label = {each.label: each for each in crowd(vendors)}
    result = ModelResult(baseline="official", choice=Choice("none", (), LONG), vendors=by_label)
    return report(models={f"model-{n}": result for n in range(count)}, warnings=(LONG,) * 9)


@pytest.mark.parametrize(
    "shown",
    [
        report(*crowd(3)),
        report(*crowd(40), warnings=(LONG,) * 20),
        models(3, 9),
        models(30, 5),
        Report(run="empty", complete=True),
    ],
    ids=["few vendors", "many vendors", "three models", "thirty models", "nothing"],
)
def test_25_lines_of_100_columns(shown: Report) -> None:
    found = terminal.lines(bare_run(shown))
    assert len(found) <= 25
    assert max(cell_len(line) for line in found if "explain" not in line) <= 100


@pytest.mark.parametrize("width", [40, 50, 60, 70, 80, 90])
def test_a_narrow_screen_drops_columns(demo: ScoredRun, width: int) -> None:
    """Every line fits, no word of a sentence is broken, and each vendor keeps its verdict."""
    found = terminal.lines(demo, width)
    wide = " ".join([*terminal.lines(demo, 1_000), "…"]).replace(",", " ").split()
    for line in found:
        assert cell_len(line) <= width or "runs/" in line
        if line[0] in "✘△?! ":
            assert set(line.replace(",", " ").split()) <= {*wide, *(f"{n}" for n in range(9))}
    assert sum("not tested" in line for line in found) >= 3


def test_main_reasons_come_before_others() -> None:
    """Where there is no room for all, each vendor's main reason is shown rather than how many are left out."""
    rivals = []
    for n in range(11):
        own = verdict("differs", f"reason {n}")
        odd = {**own.facets, "bill": Facet(status="check", reason="odd"), "speed": Facet(status="check", reason="x")}
        rivals.append(vendor(f"v{n}", verdict=Verdict("differs", own.reason, odd)))
    for count, shown, is_cut in (9, 9, False), (10, 10, False), (11, 8, True):
        found = terminal.lines(bare_run(report(*rivals[:count])))
        assert len(found) <= 25
        assert sum(line.startswith("✘") for line in found) == shown
        assert any("more reason" in line for line in found) == is_cut


def test_warnings_are_not_repeated() -> None:
    """What was printed while sending is left out."""
    scored = bare_run(report(vendor("one"), warnings=("said before", "new")))
    assert [line for line in terminal.lines(scored, shown={"said before"}) if line[0] == "!"] == ["! new"]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_harmless(hostile: str) -> None:
    shown = report(vendor(hostile, "differs", verdict=verdict("differs", hostile)), text=hostile, warnings=(hostile,))
    assert all(line.isprintable() and "::" not in line for line in terminal.lines(bare_run(shown)))
