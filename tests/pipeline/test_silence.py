"""A run in which nobody answered, and what is said once and not twice."""

from __future__ import annotations

from typing import Any

import pytest
from changing import replace

from vendor_verifier.cli import main_job
from vendor_verifier.cli.output import EXIT_INCOMPLETE, EXIT_OK
from vendor_verifier.pipeline.plan import prepare


def test_where_nobody_answered_nobody_leads(bench: Any) -> None:
    """Two dead vendors share no lead: no place in any format, and a sentence that says so."""
    bench.samples(3)
    bench.configure("official: down", "twin: down")
    code, scores = bench.run("--retries", "0")
    assert code == EXIT_INCOMPLETE
    vendors = scores["models"]["simulated-model"]["vendors"].values()
    assert [vendor["place"] for vendor in vendors] == [None, None]
    _, out, _ = bench("score", "run", "--history", "none")
    assert "No vendor answered" in out
    page = (bench.folder / "run" / "report.html").read_text()
    assert "No vendor answered" in page


def test_one_that_answered_leads_as_ever(bench: Any) -> None:
    """A dead vendor beside a living one keeps its last place."""
    bench.samples(3)
    bench.configure("official: faithful", "twin: down")
    _, scores = bench.run("--retries", "0")
    vendors = scores["models"]["simulated-model"]["vendors"]
    assert {label: vendor["place"] for label, vendor in vendors.items()} == {"official": 1, "twin": 2}


@pytest.mark.parametrize(
    ("broken", "code"),
    [((), EXIT_OK), (("cutter",), EXIT_OK), (("cutter", "slow"), EXIT_INCOMPLETE), (("official",), EXIT_INCOMPLETE)],
)
def test_the_demonstration_is_incomplete(
    bench: Any, monkeypatch: pytest.MonkeyPatch, broken: tuple[str, ...], code: int
) -> None:
    """Exit 3 as for any run; only the one persona that cuts its answers may fail."""
    told = [(f"simulated-model: {label}", f"{label} answered nothing") for label in broken]
    monkeypatch.setattr(main_job, "unfinished_vendors", lambda _outcome: told)
    assert bench("demo", "-n", "1", "--quiet", "-o", bench.folder / "demo")[0] == code


def _with_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every plan warns of one thing."""

    def warned(*arguments: Any, **options: Any) -> Any:
        prepared = prepare(*arguments, **options)
        return replace(prepared, plan=replace(prepared.plan, warnings=(*prepared.plan.warnings, "mind the gap")))

    monkeypatch.setattr(main_job, "prepare", warned)


@pytest.mark.parametrize("quiet", [False, True])
def test_a_warning_is_said_once(bench: Any, monkeypatch: pytest.MonkeyPatch, quiet: bool) -> None:
    """Before anything is sent, on stderr, with --quiet too; the printed result leaves it out, the files hold it."""
    _with_warning(monkeypatch)
    bench.samples(2)
    bench.configure("official: faithful", "twin: faithful")
    paths = ("--config-file-path", bench.folder / "config.yaml", "--test-file-path", bench.folder / "samples.jsonl")
    code, out, err = bench(*paths, "-o", bench.folder / "run", "--history", "none", *(["--quiet"] if quiet else []))
    assert code == EXIT_OK
    assert (out.count("mind the gap"), err.count("mind the gap")) == (0, 1)
    assert "mind the gap" in (bench.folder / "run" / "report.md").read_text()
    assert (bench.folder / "run" / "scores.json").read_text().count("mind the gap") == 1
    assert bench("score", bench.folder / "run", "--history", "none")[1].count("mind the gap") == 1
