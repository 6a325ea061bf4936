"""The screen after a run: its size, what it says first, and hostile text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_results import HOSTILE, evaluated, report, unmeasured, vendor, verdict
from rich.cells import cell_len
from scored import MODEL, bare_run

from vendor_verifier.records.manifest import manifest_of
from vendor_verifier.records.results import (
    Choice,
    Facet,
    FacetName,
    GateResult,
    ModelResult,
    Report,
    VendorResult,
    Verdict,
)
from vendor_verifier.reports import terminal
from vendor_verifier.scoring.scored_run import ScoredRun

LONG = "calls tools differently in 37 of 315 samples: 37 calls missed and 14 extra, " * 3


def crowd(count: int) -> list[VendorResult]:
    """A baseline and vendors with long names, each with a reason of its own."""
    rivals = [vendor(f"siliconflow {n} (openrouter)", "differs", verdict=verdict("differs", f"{n} {LONG}"))
              for n in range(count)]  # fmt: skip
    return [vendor("official", "reference", is_baseline=True), *rivals]


def models(count: int, vendors: int) -> Report:
    """A report on several models."""
    by_label = {each.label: each for each in crowd(vendors)}
    result = ModelResult(baseline="official", choice=Choice("none", (), LONG), vendors=by_label)
    return report(models={f"model-{n}": result for n in range(count)}, warnings=(LONG,) * 9)


def open_loop(scored: ScoredRun) -> ScoredRun:
    """The same run, sent at 50 requests a second."""
    settings = {**scored.manifest.raw["settings"], "load": {"request_rate": 50, "arrival": "poisson"}}
    return replace(scored, manifest=manifest_of({**scored.manifest.raw, "settings": settings}))


@pytest.mark.parametrize(
    "shown",
    [report(*crowd(3)), report(*crowd(40), warnings=(LONG,) * 20), models(3, 9), models(30, 5), Report(run="empty")],
    ids=["few vendors", "many vendors", "three models", "thirty models", "nothing"],
)
def test_25_lines_of_100_columns(shown: Report) -> None:
    """However much there is to say, only a command may be longer than a line."""
    found = terminal.lines(bare_run(shown))
    assert len(found) <= 25
    assert max(cell_len(line) for line in found if "explain" not in line) <= 100


@pytest.mark.parametrize("is_open", [False, True], ids=["closed loop", "open loop"])
def test_the_demo_fits(demo: ScoredRun, is_open: bool) -> None:
    """Ten vendors with reasons, a warning and a gate have one row each."""
    found = terminal.lines(open_loop(demo) if is_open else demo)
    assert len(found) <= 25
    assert max(map(cell_len, found)) <= 100
    for label in demo.report.models[MODEL].vendors:
        assert sum(line.startswith(f"{label} ") for line in found) == 1


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


def test_the_first_line_is_the_choice(demo: ScoredRun) -> None:
    """What to do comes first, where the report lies comes last, with the command for the worst vendor."""
    found = terminal.lines(demo, folder="kept/here")
    assert found[0] == demo.report.models[MODEL].choice.text
    assert found[-1] == ("Report kept/here/report.html   Why? agent-vendor-verifier explain kept/here --vendor padded")


def test_vendors_are_ordered_by_verdict(demo: ScoredRun) -> None:
    """A vendor that differs is below all others, whatever its place."""
    found = terminal.lines(demo)
    words = [line.split()[1] for line in found[3:13]]
    assert words == ["reference", *["not"] * 5, "check", "check", "differs", "differs"]


def test_reasons_are_complete_while_there_is_room() -> None:
    """A long reason takes more lines on an empty screen, and equal ones share theirs."""
    same = verdict("not_tested", "this machine was busy", "speed")
    found = terminal.lines(
        bare_run(
            report(
                vendor("b", "not_tested", verdict=same),
                vendor("a", "not_tested", verdict=same),
                vendor("c", verdict=verdict("differs", LONG)),
            )
        )
    )
    assert " ".join(LONG.split()) in " ".join(line.strip() for line in found)
    assert "? a and b (speed): this machine was busy" in found


def test_main_reasons_come_before_others() -> None:
    """Where there is no room for all, each vendor's main reason is shown rather than how many are left out."""
    odd: dict[FacetName, Facet] = {
        "bill": Facet(status="check", reason="odd bill"),
        "speed": Facet(status="check", reason="odd speed"),
    }
    rivals = [
        vendor(f"v{n}", verdict=Verdict("differs", f"reason {n}", {**verdict("differs", f"reason {n}").facets, **odd}))
        for n in range(11)
    ]
    for count, shown, is_cut in (9, 9, False), (10, 10, False), (11, 8, True):
        found = terminal.lines(bare_run(report(*rivals[:count])))
        assert len(found) <= 25
        assert sum(line.startswith("✘") for line in found) == shown
        assert any("more reason" in line for line in found) == is_cut


def test_scores_of_an_evaluation_replace_other_figures() -> None:
    """A run of one evaluation shows its score and no column that nobody measured."""
    found = terminal.lines(bare_run(report(evaluated("one", 0.75), evaluated("two", None))))
    heads = next(line for line in found if line.startswith("vendor"))
    assert heads.split() == ["vendor", "verdict", "model", "tools", "bill", "rel.", "speed", "success", "toolbench"]
    assert next(line for line in found if line.startswith("one")).endswith("0.750")
    assert next(line for line in found if line.startswith("two")).endswith("–")


def test_a_load_run_shows_latency(demo: ScoredRun) -> None:
    """At a request rate the table is of rates and times."""
    found = terminal.lines(open_loop(demo))
    heads = next(line for line in found if line.startswith("vendor"))
    assert heads.split()[2:] == "success asked/s sent/s TTFT avg min p50 p90 p95 p99 max".split()
    few = {label: demo.report.models[MODEL].vendors[label] for label in ("official", "slow")}
    model = replace_vendors(demo.report.models[MODEL], few)
    found = terminal.lines(open_loop(replace(demo, report=report(models={MODEL: model}))))
    assert [line.split()[1] for line in found if "(ms)" in line] == ["TPOT", "TPOT", "E2E", "E2E"]


def replace_vendors(model: ModelResult, vendors: dict[str, VendorResult]) -> ModelResult:
    return ModelResult(baseline=model.baseline, choice=model.choice, vendors=vendors)


def test_missing_figures_are_no_zeros() -> None:
    """A vendor that answered nothing has no figure at all."""
    found = terminal.lines(bare_run(report(vendor("one"), unmeasured("gone"))))
    row = next(line for line in found if line.startswith("gone"))
    assert row.split()[-6:] == ["–"] * 6


def test_fewer_measurements_are_named_once() -> None:
    """A figure over clearly fewer answers than there are says so in one line."""
    found = terminal.lines(bare_run(report(vendor("one", measured={"tps": 41, "avg_ttft_ms": 314, "avg_tokens": 0}))))
    assert [line for line in found if "Measured" in line] == ["Measured over fewer answers: tok/s of one 41 of 315."]


def test_warnings_are_not_repeated() -> None:
    """What was printed while sending is left out."""
    scored = bare_run(report(vendor("one"), warnings=("said before", "new")))
    assert [line for line in terminal.lines(scored, shown={"said before"}) if line[0] == "!"] == ["! new"]


def test_gates_are_summed_up() -> None:
    """How many gates had which outcome, and those that did not pass."""
    gates = tuple(
        GateResult("model-1", "one", text, outcome)  # type: ignore[arg-type]
        for text, outcome in (("f1 >= 0.9", "failed"), ("tps >= 9", "passed"), ("success_rate >= 1", "not_decided"))
    )
    found = terminal.lines(bare_run(report(vendor("one"), gates=gates)))
    assert "Gates: 1 passed, 1 failed, 1 not decided (one f1 >= 0.9 and one success_rate >= 1)" in found


def test_colours_change_no_word(demo: ScoredRun) -> None:
    """A terminal and a pipe get the same lines."""
    assert [line.rstrip() for line in terminal.render(demo).plain.split("\n")] == terminal.lines(demo)
    assert any(span.style == "red" for span in terminal.render(demo).spans)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_harmless(hostile: str) -> None:
    """Names, reasons and warnings of strangers neither break lines nor give orders."""
    shown = report(vendor(hostile, "differs", verdict=verdict("differs", hostile)), text=hostile, warnings=(hostile,))
    found = terminal.lines(bare_run(shown))
    assert len(found) <= 12
    assert all(line.isprintable() and "::" not in line for line in found)


def test_wide_characters_are_counted() -> None:
    """A name in Chinese keeps the columns aligned."""
    found = terminal.lines(bare_run(report(vendor("智谱" * 3), vendor("abc"))))
    rows = [line for line in found if line.startswith(("智", "abc"))]
    assert len({cell_len(row[: row.index("matches")]) for row in rows}) == 1
