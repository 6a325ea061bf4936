"""The first line, the matrix, the reasons with their evidence: what every output says first of a run."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest
import sample_reports
import synthetic_run
from advising import REASON, advice, advised, vendor_verdict
from changing import replace
from rich.cells import cell_len
from rich.console import Console

from vendor_verifier.records.manifest import StoredEntry
from vendor_verifier.records.score import ModelScore, Report
from vendor_verifier.records.verdict import FACETS, STATUSES
from vendor_verifier.reports import REPORTS, ci, markdown, openmetrics, ranking, scores_json, terminal
from vendor_verifier.reports.number_format import money
from vendor_verifier.reports.verdicts import evidence_command, first_line, matrix, reasons, status_word
from vendor_verifier.words import Texts

EN = Texts()
LABELS = ("official", "fine", "swapped", "padded", "dead", "young")


def field(labels: tuple[str, ...] = LABELS) -> Report:
    """A model with these vendors, the first of which is the baseline, and a verdict of each kind."""
    vendors = tuple(sample_reports.vendor(label, is_baseline=place == 0) for place, label in enumerate(labels))
    return advised(replace(sample_reports.single(), run="r1", models=(ModelScore("m", labels[0], vendors),)))


def chosen(**choice: Any) -> str:
    """The first line of three vendors beside a baseline, with that choice between them."""
    report = field(LABELS[:4])
    made = advice(*(vendor_verdict(label) for label in LABELS[:4]), **{"of": 3, "counts": {}} | choice)
    return first_line(replace(report, advice={"m": made}), EN, str)


@pytest.mark.parametrize(
    ("choice", "line"),
    [
        ({"kind": "take", "labels": ("fine",), "counts": {"as_sold": 3}},
         "m: take fine: as sold, and ahead of every other vendor that is (2)"),
        ({"kind": "only", "labels": ("fine",), "counts": {"as_sold": 1, "not_as_sold": 2}},
         "m: take fine, the only one of 3 vendors that is as sold (2 not as sold)"),
        ({"kind": "tie", "labels": ("fine", "padded"),
          "cheapest": "padded", "cheapest_usd": 3.7e-05, "fastest": "fine"},
         "m: fine and padded are as sold and cannot be told apart in rank; padded costs least "
         "($0.037 per 1,000 valid calls); fine sends its first token soonest"),
        ({"kind": "none", "counts": {"doubtful": 1, "unusable": 2}},
         "m: none of the 3 vendors is as sold (2 unusable, 1 doubtful)"),
        ({"kind": "undecided", "labels": ("fine",), "counts": {"too_little_evidence": 1, "unusable": 2}},
         "m: too little evidence to call any of the 3 vendors as sold; nothing speaks against fine (2 unusable)"),
        ({"kind": "nobody_answered", "labels": LABELS[:4]},
         "m: none of the 4 vendors answered a single request"),
    ],
)  # fmt: skip
def test_the_first_line_says_what_to_do(choice: dict[str, Any], line: str) -> None:
    """One sentence for each kind of choice, then how much was asked."""
    assert chosen(**choice) == f"{line} (10 samples, asked 3 times each)."


def test_the_first_line_says_what_a_run_was_too_small_to_see() -> None:
    """Who is called as sold on few samples may miss one call in five; a smaller loss is told with the evidence."""
    only = {"kind": "only", "labels": ("fine",), "counts": {"as_sold": 1, "not_as_sold": 2}}
    told = chosen(**only, unseen_loss=0.22)
    assert "is as sold (2 not as sold); few samples: a loss of up to 22 points in calling tools may be unseen (" in told
    assert "unseen" not in chosen(**only, unseen_loss=0.05)


def test_the_first_line_of_a_run_that_was_broken_off_says_how_little_it_has() -> None:
    """Nobody takes five answers for the thirty that were planned."""
    report = field(LABELS[:2])
    [model] = report.models
    part = tuple(replace(vendor, planned=30, recorded=5) for vendor in model.vendors)
    broken_off = replace(report, complete=False, models=(replace(model, vendors=part),))
    assert first_line(broken_off, EN, str).endswith("asked 3 times each; so far 10 of 60 answers).")
    assert "so far" not in first_line(replace(broken_off, complete=True), EN, str)


def test_without_advice_the_first_line_says_that_nothing_was_judged() -> None:
    """A report of another program's making, or of an old one, names no vendor."""
    report = replace(field(), advice={})
    assert first_line(report, EN, str) == "m: 6 vendors, not judged (10 samples, asked 3 times each)."
    assert "Verdict" not in markdown.render(report)


def test_a_run_of_no_vendor_says_so() -> None:
    """There is nothing to choose from."""
    assert first_line(sample_reports.empty(), EN, str) == "Nothing was scored: this run holds no vendors."


def test_the_matrix_has_a_word_and_a_shape_in_every_cell() -> None:
    """Vendors × facets; nobody needs to see a colour, and each status has a shape of its own."""
    report = field()
    shown = matrix(report.models[0], report.advice["m"], EN)
    assert sorted(row.head for row in shown.rows) == sorted(LABELS)
    assert [row.cells[0].text[0] for row in shown.rows] == [*"✔✔…△✘⊘"], "the reference, then the best first"
    assert len(shown.titles) == 1 + len(FACETS)
    words = {EN(f"status_{status}") for status in STATUSES} | {EN("status_reference")}
    cells = [cell.text for row in shown.rows for cell in row.cells]
    assert all(len(sign) == 1 and word in words for sign, _, word in (cell.partition(" ") for cell in cells))
    assert len({cell[0] for cell in cells}) == len(STATUSES)


def test_the_baseline_is_the_reference_unless_something_speaks_against_it() -> None:
    """It is not praised as sold, being what the others are held against."""
    assert status_word(vendor_verdict("official", is_reference=True), EN) == "reference"
    assert status_word(vendor_verdict("official", "unusable", is_reference=True), EN) == "unusable"


def test_reasons_stand_worst_vendor_first_each_with_the_command_that_shows_it() -> None:
    """Too little evidence is no reason against a vendor."""
    found = reasons(field().advice["m"], "runs/r1")
    explain = "agent-vendor-verifier explain runs/r1 --vendor"
    assert [(verdict.label, facet.name, command) for verdict, facet, command in found] == [
        ("dead", "reliability", f"{explain} dead --sample s-1"),
        ("swapped", "model", f"{explain} swapped --sample s-1"),
        ("padded", "bill", f"{explain} padded --sample s-1"),
    ]


def test_a_command_survives_any_label_and_folder() -> None:
    """A shell takes it apart into the same words."""
    facet = vendor_verdict("x", "doubtful").facet("model")
    command = evidence_command("my runs/a", "it's; rm -rf ~", facet)
    assert shlex.split(command)[2:] == ["my runs/a", "--vendor", "it's; rm -rf ~", "--sample", "s-1"]


@pytest.mark.parametrize("width", [80, 100])
def test_on_a_terminal_line_matrix_and_reasons_come_before_the_ranking(width: int) -> None:
    """In colour, within the width but for commands, which no line end of ours breaks."""
    out = io.StringIO()
    folder = "/a/folder/whose/name/is/long/enough/for/no/line/of/eighty/columns/to/hold/it/at/all/2026"
    console = Console(file=out, width=width, force_terminal=True, color_system="standard", highlight=False)
    console.print(terminal.render(field(), folder=folder), crop=False)
    coloured = out.getvalue()
    text = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert text.index("m: take fine, the only one") < text.index("✔ reference") < text.index("swapped, Model")
    assert text.index("swapped, Model: ✘ not as sold") < text.rindex(folder) < text.index("Avg token")
    assert f"agent-vendor-verifier explain {folder} --vendor swapped --sample s-1" in text
    assert max(cell_len(line.rstrip()) for line in text.splitlines() if folder not in line) <= width
    for colour, word in (("32", "✔"), ("33", "△"), ("31", "✘"), ("1;31", "⊘")):
        assert f"\x1b[{colour}m{word}" in coloured


def test_without_colour_the_words_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR is honoured, and nothing is lost by it."""
    monkeypatch.setenv("NO_COLOR", "1")
    out = io.StringIO()
    Console(file=out, width=100, force_terminal=True, highlight=False).print(terminal.render(field()), crop=False)
    assert not re.search(r"\x1b\[[\d;]*3[123]m", out.getvalue())
    assert "✘ not as sold" in out.getvalue()


def test_plain_lines_have_the_same_in_the_same_order() -> None:
    """For pipes and logs: the sentence, a line a vendor, a line a reason with its command, then the ranking."""
    lines = terminal.plain_lines(field(), folder="here")
    assert lines[0].startswith("m: take fine")
    swapped = next(place for place, line in enumerate(lines) if line.startswith("  swapped: ✘ not as sold; Model ✘"))
    reason = next(place for place, line in enumerate(lines) if line == f"  swapped, Model: ✘ not as sold: {REASON}")
    assert lines[reason + 1] == "    agent-vendor-verifier explain here --vendor swapped --sample s-1"
    assert 0 < swapped < reason < next(place for place, line in enumerate(lines) if "IRF" in line)


def test_in_markdown_the_matrix_is_above_the_ranking() -> None:
    """In report.md markup in a reason is text, and the command stands in a code span."""
    text = markdown.render(field())
    matrix_line = "| swapped | ✘ not as sold | ✘ not as sold | ✔ as sold | ✔ as sold | ✔ as sold | ✔ as sold |"
    assert text.index("m: take fine") < text.index(matrix_line) < text.index("| Vendor | Verdict | IRF Score |")
    assert "- swapped, Model: ✘ not as sold: answered as &lt;b&gt;another" in text
    assert "`agent-vendor-verifier explain runs/r1 --vendor swapped --sample s-1`" in text


def test_the_csv_has_a_column_for_the_verdict_and_each_facet_right_after_the_label() -> None:
    """In the words for programs; empty where nothing was judged."""
    rows = list(csv.DictReader(io.StringIO(ranking.render_csv(field()))))
    assert list(rows[0])[2:9] == ["label", "verdict", *(f"verdict_{name}" for name in FACETS)]
    assert {row["label"]: row["verdict"] for row in rows}["swapped"] == "not_as_sold"
    assert {row["label"]: row["verdict_bill"] for row in rows}["swapped"] == "as_sold"
    unjudged = csv.DictReader(io.StringIO(ranking.render_csv(replace(field(), advice={}))))
    assert {row["verdict"] for row in unjudged} == {""}


def test_scores_json_holds_the_verdict_of_every_vendor_and_the_choice() -> None:
    """As its schema says, with interval, p, finding, samples and command."""
    document = json.loads(scores_json.render(field()))
    jsonschema_rs.validate(scores_json.scores_schema(), document)
    model = document["models"]["m"]
    assert (model["choice"]["kind"], model["choice"]["labels"]) == ("only", ["fine"])
    verdict = model["vendors"]["swapped"]["verdict"]
    assert (verdict["status"], verdict["reason"]) == ("not_as_sold", REASON)
    assert verdict["facets"]["model"] == {
        "status": "not_as_sold", "reason": REASON, "p_value": 0.0004, "value": 1.0, "low": 0.94, "high": 1.0,
        "finding": "another_model_served", "samples": ["s-1", "s-2"],
        "command": "agent-vendor-verifier explain runs/r1 --vendor swapped --sample s-1",
    }  # fmt: skip


def test_junit_fails_who_is_not_as_sold_or_unusable_and_skips_who_is_unknown() -> None:
    """One case 'verdict' a vendor, with the vendor's name in its message; a pass prints its reason."""
    found = {}
    for suite in ET.fromstring(ci.render_junit(field())):
        (case,) = suite.findall("testcase[@classname='verdict']")
        found[str(suite.get("name"))] = (case[0].tag, case[0].get("message") or case[0].text)
    assert found["m / swapped"] == ("failure", f"swapped: not as sold: {REASON}")
    assert {name: tag for name, (tag, _) in found.items()} == {
        "m / official": "system-out", "m / fine": "system-out", "m / swapped": "failure", "m / padded": "system-out",
        "m / dead": "failure", "m / young": "skipped",
    }  # fmt: skip


def test_openmetrics_has_a_gauge_for_the_verdict_and_for_each_facet() -> None:
    """1 for the status that holds; no series where nothing was judged."""
    text = openmetrics.render(field())
    assert 'agent_vendor_verifier_vendor_verdict{model="m",vendor="swapped",status="not_as_sold"} 1' in text
    assert 'agent_vendor_verifier_facet_verdict{model="m",vendor="padded",facet="bill",status="doubtful"} 1' in text
    assert "verdict" not in openmetrics.render(replace(field(), advice={}))


def test_no_output_obeys_a_hostile_name_or_reason() -> None:
    """All formats render verdicts whose every text is an attack, each as its own rules ask."""
    report = advised(sample_reports.full())
    texts = {form.name: form.text(report) for form in REPORTS}
    assert not re.search("[\x1b\u202e\u200b]", "".join(texts.values()))
    assert "\n::" not in texts["md"]
    jsonschema_rs.validate(scores_json.scores_schema(), json.loads(texts["json"]))
    ET.fromstring(texts["junit"])
    for line in terminal.plain_lines(report):
        assert "::" not in line
        assert len(line.splitlines()) == 1


def test_what_was_found_beyond_the_reasons_is_named_by_vendor() -> None:
    """Nobody has to guess whose the findings of a tally are."""
    lines = terminal.plain_lines(synthetic_run.report(12))
    (noted,) = [line for line in lines if "also noted" in line]
    assert "moonshot served_model" in noted


@pytest.mark.parametrize(
    ("usd", "written"),
    [
        (1250.4, "$1,250"), (12.345, "$12.35"), (0.37, "$0.37"), (0.0, "$0.00"), (0.0366, "$0.037"),
        (3.656e-05, "$0.000037"), (None, "–"), (float("nan"), "–"),
    ],
)  # fmt: skip
def test_money_is_written_as_people_write_it(usd: float | None, written: str) -> None:
    """Two digits that matter, never an exponent."""
    assert money(usd) == written


def test_the_first_line_tells_that_the_baseline_was_asked_more_often() -> None:
    """Else a reader who counts requests finds more than it says."""
    words = "each, the baseline 5 times)"
    base = StoredEntry("m", "official", "v", "v/m", is_baseline=True, repeat=5)
    report = field()
    twice = replace(report, manifest=replace(report.manifest, entries=[base]))
    assert words in first_line(twice, EN, str)
    assert words not in first_line(report, EN, str)
