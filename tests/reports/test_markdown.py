"""report.md: what a reader finds in it, and in which order."""

from __future__ import annotations

from dataclasses import replace

from made_results import evaluated, report, unmeasured, vendor
from scored import MODEL, bare_run

from vendor_verifier.records.manifest import manifest_of
from vendor_verifier.records.results import Report, SuiteResult
from vendor_verifier.reports import markdown, tables
from vendor_verifier.scoring.money import Money
from vendor_verifier.scoring.scored_run import ScoredRun


def titles(text: str) -> list[str]:
    return [line.lstrip("# ") for line in text.splitlines() if line.startswith("#")]


def test_order_of_the_page(demo: ScoredRun) -> None:
    """The choice, the verdict with its reasons, then figures and conditions; empty parts are left out."""
    text = markdown.render(demo)
    assert titles(text) == [
        f"Run {demo.report.run}", MODEL, "Verdict", "Ranking", "Gates", "Counts", "Findings", "Times of single answers",
        "Pace", "Models and providers", "Warnings", "Conditions of the run",
    ]  # fmt: skip
    assert text.index(demo.report.models[MODEL].choice.text) < text.index("### Verdict")
    assert titles(markdown.render(bare_run(Report(run="x")))) == ["Run x", "Conditions of the run"]


def test_every_table_has_equal_rows(demo: ScoredRun) -> None:
    """A GitHub table needs as many cells in each row as in its head."""
    rows = [line for line in markdown.render(demo).splitlines() if line.startswith("|")]
    widths = [line.count("|") for line in rows]
    heads = [place for place, line in enumerate(rows) if line.startswith("|---")]
    for start, end in zip(heads, [*(place - 1 for place in heads[1:]), len(rows)], strict=True):
        assert len(set(widths[start - 1 : end])) == 1


def test_reasons_name_their_command(demo: ScoredRun) -> None:
    """The worst vendor comes first; each reason is followed by the command that shows it."""
    lines = [line for line in markdown.render(demo).splitlines() if line.startswith("- ✘")]
    assert len(lines) == 2
    assert all("`agent-vendor-verifier explain runs/" in line for line in lines)


def test_ranking_shows_the_verdict() -> None:
    """A vendor that differs is marked in the ranking, wherever IRF puts it."""
    model = report(vendor("one", "differs", irf=1.0), vendor("two", place=2.0)).models["model-1"]
    rows = list(tables.ranking(model).rows())
    assert [row[:3] for row in rows] == [["one", "1", "✘ differs"], ["two", "2", "✔ matches"]]


def test_failures_have_cause_and_remedy(demo: ScoredRun) -> None:
    """A row a kind with the vendors, who answers for it, and what to do."""
    records = demo.records.copy()
    failed = records.index[:3]
    records["failure"] = records["failure"].cat.add_categories(["timeout_total"])
    records.loc[failed, "failure"] = "timeout_total"
    (row,) = tables.failures(records).rows()
    assert row[0] == "timeout_total"
    assert "--timeout" in row[3]


def test_evaluations_checks_and_costs(demo: ScoredRun) -> None:
    """An evaluation's values, a contract's checks and the costs have tables of their own."""
    contract = SuiteResult(2, 2, None, {}, {"json_mode": "kept", "parallel": "not_offered"})
    model = report(evaluated("one", 0.75), vendor("two", suites={"contract": contract}), unmeasured("gone"))
    scored = bare_run(model, {"score": {"slos": ["ttft_ms <= 100"]}})
    money = Money(3.2, 0.2, 1.5, 0.002, 2000, 1500, 2100, 0)
    text = markdown.render(replace(scored, money={("model-1", "one"): money}))
    assert {"Evaluation toolbench", "Checks of contract", "Costs in US dollars"} <= set(titles(text))
    assert "| one | 20 of 20 | 0.7500 | – |" in text
    assert "| parallel | – | not offered | – |" in text or "| parallel | not offered |" in text
    assert "| one | \\$3.20 | \\$0.20 | \\$1.50 |" in text


def test_conditions(demo: ScoredRun) -> None:
    """How often and at what load was sent, in sentences."""
    text = " ".join(tables.conditions(demo))
    assert "20 samples" in text
    assert "8 requests in flight" in text
    load = {"request_rate": 50, "arrival": "poisson", "duration_s": 60}
    raw = {**demo.manifest.raw, "settings": {"repeat": 3, "load": load}}
    text = " ".join(tables.conditions(replace(demo, manifest=manifest_of(raw))))
    assert "50 requests per second (poisson) for 60 s" in text


def test_goodput_of_stated_slos(demo: ScoredRun) -> None:
    """With an SLO the share of requests that keep it is shown."""
    raw = {**demo.manifest.raw, "score": {"slos": ["ttft_ms <= 60"]}}
    shown = tables.goodput(replace(demo, manifest=manifest_of(raw)), MODEL)
    good = {row[0]: row[1] for row in shown.rows()}
    assert (good["slow"], good["official"]) == ("0", "1")
    assert tables.goodput(demo, MODEL).frame.empty
