"""A metric is added by one file and one line of the list, as CONTRIBUTING says; nothing else has to know of it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import vendor_verifier

_SUPPORT = Path(__file__).parents[1] / "support"
_SCRIPTS = Path(__file__).parents[2] / "scripts"
FILE = '''"""words_said = the words of an answer's text."""

from vendor_verifier.metrics.base import Figure, Metric

WORDS_SAID = Metric(
    name="words_said",
    unit="words",
    direction="lower",
    title="Words said",
    words="words of the text of an answer",
    formula=lambda answer: float(len(answer.attempt.response.text.split())),
    figure=Figure(
        name="avg_words",
        title="Words each",
        page_title="Avg Words",
        words="Σ words ÷ answers",
        over="successes",
        family="answer_words",
        help="Mean of the words of an answer.",
    ),
)
'''
PROBE = """
import json, sys
import synthetic_run
import make_metrics_tables
from changing import replace
from rich.console import Console
from vendor_verifier.features.history.figures import direction_of, history_run
from vendor_verifier.gates.thresholds import parse_slo, parse_threshold
from vendor_verifier.gates.goodput import goodput
from vendor_verifier.pipeline.gates import judge_panel
from vendor_verifier.reports import ci, markdown, openmetrics, ranking, scores_json, terminal
from vendor_verifier.reports.html import page
from vendor_verifier.scoring.collect import Tables, collect
from vendor_verifier.stats.bootstrap import bootstrap
from vendor_verifier.stats.panel import build_panel
from vendor_verifier.stats.ratio_table import trials_of
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.records.score import PlayedTask
import numpy as np

labels = ("official", "bad")
asked, who = synthetic_run.samples(40), synthetic_run.entries(labels)
records = list(synthetic_run.records(labels, asked))
tables = Tables()
collect(tables, who, {"trigger": PlayedTask("trigger", asked)}, records, {"trigger": TriggerSuite()}, 1)
planned = {"trigger": [sample.id for sample in asked]}
trials = [trials_of(key[1], table, planned, repeat=1, complete=True) for key, table in tables.rows.items()]
panel = build_panel(trials, planned["trigger"], metrics=["avg_words"])
gate = parse_threshold("avg_words <= 1000")
gates = judge_panel(panel, bootstrap(panel, np.random.default_rng(1)), trials, None, [gate], {})
spread = parse_threshold("avg_words.p95 <= 1000")
report = synthetic_run.report(40, labels)
verdict = replace(report.verdicts[synthetic_run.MODEL], gates=gates)
report = replace(report, verdicts={synthetic_run.MODEL: verdict})
console = Console(width=200, record=True, file=open("/dev/null", "w"))
console.print(terminal.render(report))
by_hand = {}
for record in records:
    if record.succeeded:
        by_hand.setdefault(record.label, []).append(len(record.final.response.text.split()))
answer = {
    "expected": {label: sum(words) / len(words) for label, words in by_hand.items()},
    "scores": json.loads(scores_json.render(report)),
    "csv": ranking.render_csv(report),
    "markdown": markdown.render(report),
    "terminal": console.export_text() + "\\n".join(terminal.plain_lines(report)),
    "page": page.render(report),
    "prom": openmetrics.render(report),
    "junit": ci.render_junit(report),
    "gates": [str(each.threshold) + " " + each.outcome for each in gates],
    "good": goodput(next(iter(tables.rows.values())), [parse_slo("words_said >= 0")], asked=40, seconds=1.0).good,
    "history": history_run(report, "folder").entries[0].figures["avg_words"][0],
    "direction": direction_of("avg_words"),
    "docs": make_metrics_tables.tables(),
}
json.dump(answer, sys.stdout)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a copy of the package with the metric makes of a run."""
    root = tmp_path_factory.mktemp("copy")
    package = root / "vendor_verifier"
    shutil.copytree(Path(vendor_verifier.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "metrics" / "words_said.py").write_text(FILE, encoding="utf-8")
    listed = package / "metrics" / "__init__.py"
    text = listed.read_text(encoding="utf-8")
    text = text.replace("outcome, tokens\n", "outcome, tokens, words_said\n")
    # Last, first or between others: no place of the list is a special one.
    text = text.replace("    latency.TTFAT_MS,\n", "    latency.TTFAT_MS,\n    words_said.WORDS_SAID,\n")
    listed.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        cwd=root,
        env={"PYTHONPATH": f"{root}:{_SUPPORT}:{_SCRIPTS}", "PATH": "", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_its_numbers_and_those_of_all_others_are_right(told: dict[str, Any]) -> None:
    """The mean over a vendor's answers, its percentiles and its rank; TTFT is what it is without the new one."""
    vendors = told["scores"]["models"]["kimi-k2.5"]["vendors"]
    for label, expected in told["expected"].items():
        found = vendors[label]
        assert found["avg_words"] == pytest.approx(expected)
        assert found["distributions"]["words_said"]["mean"] == pytest.approx(expected)
        assert found["avg_ttft_ms"] == pytest.approx(found["distributions"]["ttft_ms"]["mean"])
        assert 200 < found["avg_ttft_ms"] < 1000
    best = min(told["expected"], key=told["expected"].__getitem__)
    assert vendors[best]["ranks"]["avg_words"] == 1
    assert told["history"] == pytest.approx(told["expected"]["official"])
    assert told["direction"] == "lower"


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("csv", ["avg_words", "rank_avg_words", "measured_avg_words", "words_said_p95"]),
        ("markdown", ["Avg Words", "Words said", "avg_words"]),
        ("terminal", ["Words each"]),
        ("page", ["Words each", "Words said"]),
        ("junit", ['name="avg_words"']),
        ("prom", ["_answer_words{", "_answer_words Mean of the words of an answer."]),
    ],
)
def test_every_output_names_it(told: dict[str, Any], output: str, words: list[str]) -> None:
    """Under its title, or under its name where programs read."""
    assert [word for word in words if word not in told[output]] == []


def test_it_is_written_as_a_quantity(told: dict[str, Any]) -> None:
    """Four significant digits, as everything with a unit, and not as a share of 1."""
    shown = f"{told['expected']['official']:.4g}"
    for output in ("markdown", "terminal", "page"):
        assert shown in told[output]
    assert f"{told['expected']['official']!r}" in told["csv"]


def test_gates_slos_and_docs_know_it(told: dict[str, Any]) -> None:
    """Its figure has intervals to be judged by, each request a value, and the page of metrics two rows."""
    assert told["gates"] == ["avg_words <= 1000 PASS"] * 2
    assert told["good"] > 30
    rows = [row for table in told["docs"].values() for row in table]
    assert "| `avg_words` | lower | Σ words ÷ answers | successes |" in rows
    assert "| `words_said` | words | words of the text of an answer |" in rows
