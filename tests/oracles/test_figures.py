"""The published IRF tables, and the figures of real result files and of a stored demo run."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from adapters import HERE, command, defects, figures
from scored import write_demo

from vendor_verifier import irf, load_run

METRICS = ("success_rate", "f1", "tps", "schema_accuracy", "avg_ttft_ms", "avg_tokens")
COUNTS = ("tp", "fp", "fn", "tn")
LLMVV = Path(__file__).parents[2].parent / "shared" / "data" / "llmvv"
FILES = {
    "official": "deepseek-official-deepseek-v3.2-exp", "again": "deepseek-official-deepseek-chat",
    "novita": "openrouter-novita-deepseek-v3.2-exp", "ppio": "ppio-deepseek-v3.2-exp",
}  # fmt: skip


def test_irf_of_the_published_tables() -> None:
    """All 27 scores to four decimals, and the printed order in each of the 8 tables."""
    tables: dict[str, list[dict[str, str]]] = {}
    with (HERE / "published_irf.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            tables.setdefault(row["model"], []).append(row)
    assert (len(tables), sum(map(len, tables.values()))) == (8, 27)
    for rows in tables.values():
        scores = irf({row["vendor"]: {name: float(row[name]) for name in METRICS} for row in rows})
        assert {name: f"{score:.4f}" for name, score in scores.items()} == {row["vendor"]: row["irf"] for row in rows}
        assert sorted(scores, key=lambda name: -scores[name]) == [row["vendor"] for row in rows]


def close(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The rows with figures that all within 1e-9 of them equal; a missing figure equals no other."""
    return {
        label: {name: value if value is None else pytest.approx(value, rel=1e-9) for name, value in row.items()}
        for label, row in rows.items()
    }


def stored(name: str) -> Any:
    return json.loads((HERE / name).read_text(encoding="utf-8"))


@pytest.mark.skipif(not LLMVV.is_dir(), reason="the public result files are not here: ../shared/data/llmvv")
@pytest.mark.parametrize("baseline", ["once", "twice"])
def test_figures_of_real_result_files(baseline: str, tmp_path: Path) -> None:
    """Four published files: the maker's second run is a vendor of its own, which differs in nothing, or the baseline's
    repetition; other hosts answer otherwise.

    The row that the file of ppio lacks is no failure of ppio.
    """
    given = {label: LLMVV / f"results-{file}.jsonl.gz" for label, file in FILES.items()}
    arguments = ["import", f"novita={given['novita']}", f"ppio={given['ppio']}", "--model", "deepseek-v3.2-exp"]
    arguments += [f"again={given['again']}"] if baseline == "once" else ["--baseline", f"official={given['again']}"]
    arguments += ["--baseline", f"official={given['official']}", "--test-file-path", str(LLMVV / "samples.jsonl")]
    assert command([*arguments, "-o", "run"], tmp_path)[0] == 0
    found = figures(tmp_path / "run", *METRICS, *COUNTS, "irf")
    assert found == close(stored("published_figures.json")[baseline])
    assert defects(tmp_path / "run") == [72, 168, 328, 344, 380]
    findings = load_run(tmp_path / "run").findings
    assert set(findings.status[findings.label == "again"]) <= {"matches"}
    # No line exists for texts, and the calls are within 5 points; resellers count 4 to 11 prompt tokens more.
    for label in ("novita", "ppio") if baseline == "twice" else ():
        own = findings[findings.label == label].set_index("name")
        assert {"decisions", "arguments"} <= set(own.index)
        assert (own.status["answers_differ"], own.status["template_tokens"]) == ("check", "matches")
        assert own.p_value["answers_differ"] < 1e-20
        assert 4 <= own.value["template_tokens"] <= 11


def test_figures_of_a_stored_demo(tmp_path: Path) -> None:
    """Scored again, ten vendors have the six metrics and F1 counts that they had."""
    run = write_demo(tmp_path)
    assert command(["score", run], tmp_path)[0] == 0
    assert figures(run, *METRICS, *COUNTS) == close(stored("demo_figures.json"))
