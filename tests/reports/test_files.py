"""The files of a run folder: what programs read, and that nothing hostile or secret gets into them."""

from __future__ import annotations

import csv
import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest
from made_results import HOSTILE, evaluated, report, unmeasured, vendor, verdict
from scored import MODEL, bare_run

from vendor_verifier.records.results import FACETS, GateResult, SuiteResult
from vendor_verifier.reports import BY_DEFAULT, FORMATS, REPORTS
from vendor_verifier.reports.scores_json import document, scores_schema
from vendor_verifier.scoring.scored_run import ScoredRun

MACHINES = ("scores.json", "ranking.csv", "junit.xml", "metrics.prom")


def texts(scored: ScoredRun) -> dict[str, str]:
    """Every file but the page, which has tests of its own."""
    return {name: render(scored) for name, render in REPORTS.items() if name != "report.html"}


def values(found: Any) -> int:
    """The number of single values in a document."""
    if isinstance(found, dict):
        return sum(map(values, found.values()))
    return sum(map(values, found)) if isinstance(found, list) else 1


def test_formats_name_files() -> None:
    """Every format has its file."""
    assert set(FORMATS.values()) == set(REPORTS) > set(BY_DEFAULT)


def test_scores_json_keys(demo: ScoredRun) -> None:
    """The keys that others read are there, and a ten-vendor file stays small."""
    found = json.loads(REPORTS["scores.json"](demo))
    assert {"schema", "run", "complete", "settings", "warnings", "models"} <= set(found)
    model = found["models"][MODEL]
    assert {"baseline", "choice", "vendors"} <= set(model)
    assert set(model["choice"]) == {"kind", "labels", "text"}
    own = model["vendors"]["substitute"]
    figures = "irf f1 success_rate schema_accuracy avg_tokens avg_ttft_ms tps"
    assert {*figures.split(), *"verdict place counts measured planned failures suites".split()} <= set(own)
    assert {"tp", "fp", "fn", "tn"} <= set(own["counts"])
    assert set(own["verdict"]) == {"status", "reason", "facets"}
    assert tuple(own["verdict"]["facets"]) == FACETS
    facet = set("status reason p_value value low high n samples command".split())
    assert all(set(each) == facet for each in own["verdict"]["facets"].values())
    assert values(found) <= 2_000


def test_scores_json_keeps_its_schema(demo: ScoredRun) -> None:
    """The generated schema describes the file; what is not finite becomes null."""
    schema = scores_schema()
    hostile = report(*(vendor(each, tps=float("nan"), irf=float("inf")) for each in (*HOSTILE, "\ud800")))
    for scored in (demo, bare_run(hostile), bare_run(report())):
        text = REPORTS["scores.json"](scored)
        assert text.isascii()
        jsonschema_rs.validate(schema, json.loads(text.replace("\\ud800", "")))
    (model,) = document(hostile)["models"].values()
    assert {(each["tps"], each["irf"]) for each in model["vendors"].values()} == {(None, None)}


def test_ranking_csv_header(demo: ScoredRun) -> None:
    """The page's columns come first, with the verdict; a run without vendors has the same header."""
    header = REPORTS["ranking.csv"](demo).partition("\n")[0]
    assert header.startswith("model,label,verdict,irf,success_rate,f1,tps,schema_accuracy,avg_ttft_ms,avg_tokens,place")
    assert REPORTS["ranking.csv"](bare_run(report())) == header + "\n"


def test_ranking_csv_rows(demo: ScoredRun) -> None:
    """A row a vendor with figures in full; empty where nothing was measured."""
    rows = {row["label"]: row for row in csv.DictReader(REPORTS["ranking.csv"](demo).splitlines())}
    assert set(rows) == set(demo.report.models[MODEL].vendors)
    slow, buffering = rows["slow"], rows["buffering"]
    assert float(slow["avg_ttft_ms"]) == demo.report.models[MODEL].vendors["slow"].avg_ttft_ms
    assert (buffering["verdict"], buffering["verdict_speed"], slow["is_baseline"]) == ("check", "check", "false")
    assert buffering["tps"] == ""
    assert float(slow["ttft_ms_p50"]) <= float(slow["ttft_ms_p99"])
    suites = REPORTS["ranking.csv"](bare_run(report(evaluated("one", 0.5), vendor("two"))))
    assert [row["toolbench"] for row in csv.DictReader(suites.splitlines())] == ["0.5", ""]


def test_junit_outcomes() -> None:
    """Differs, down, a failed gate and a broken check fail; not tested, not decided and not offered are skipped."""
    gates = tuple(GateResult("model-1", "a", outcome, outcome) for outcome in ("passed", "failed", "not_decided"))
    checks = SuiteResult(3, 3, None, {}, {"json_mode": "kept", "parallel": "broken", "vision": "not_offered"})
    statuses = ("reference", "matches", "check", "differs", "down", "not_tested")
    vendors = [vendor(name, status) for name, status in zip("rabcde", statuses, strict=True)]  # type: ignore[arg-type]
    checked = vendor("f", suites={"contract": checks})
    root = ET.fromstring(REPORTS["junit.xml"](bare_run(report(*vendors, checked, gates=gates))))  # ours
    outcome = {
        (suite.get("name", "").rpartition(" / ")[2], case.get("classname"), case.get("name")): case[0].tag
        for suite in root
        for case in suite.iter("testcase")
    }
    bad = {key: tag for key, tag in outcome.items() if tag != "system-out"}
    assert bad == {
        ("a", "gates", "failed"): "failure",
        ("a", "gates", "not_decided"): "skipped",
        ("c", "verdict", "model"): "failure",
        ("d", "verdict", "model"): "failure",
        ("e", "verdict", "model"): "skipped",
        ("f", "contract", "parallel"): "failure",
        ("f", "contract", "vision"): "skipped",
    }
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == (str(len(outcome)), "4", "3")


def test_openmetrics_is_well_formed(demo: ScoredRun) -> None:
    """Families in order, no series twice, numbers only, and none of what was not measured."""
    for scored in (demo, bare_run(report(*map(vendor, HOSTILE), unmeasured("gone")))):
        text = REPORTS["metrics.prom"](scored)
        assert text.endswith("# EOF\n")
        series = [line for line in text.splitlines() if not line.startswith("#")]
        pattern = re.compile(r'agent_vendor_verifier_\w+\{(\w+="(\\.|[^"\\])*",?)*\} -?\d+(\.\d+)?(e-?\d+)?')
        assert all(pattern.fullmatch(line) for line in series)
        assert len({line.rpartition(" ")[0] for line in series}) == len(series)
        assert not [line for line in series if 'vendor="gone"' in line and "irf" in line]
    assert 'vendor_verdict{model="simulated-model",vendor="buffering",status="check"} 1' in REPORTS["metrics.prom"](
        demo
    )


def test_labels_that_read_the_same_stay_apart() -> None:
    """Two names that look alike when made visible are two series."""
    text = REPORTS["metrics.prom"](bare_run(report(vendor("a\tb"), vendor("a b"))))
    assert 'vendor="a b"' in text
    assert 'vendor="a b (2)"' in text


@pytest.mark.parametrize("name", [*MACHINES, "report.md"])
def test_hostile_text_is_escaped(name: str) -> None:
    """Labels, reasons, warnings and scores' names of strangers are text in every file."""
    wild = [vendor(each, verdict=verdict("differs", each, command=each), vendor=each, model_id=each,
                   provider=each, suites={each: SuiteResult(1, 1, 0.5, {each: 0.5}, {each: "broken"})})
            for each in HOSTILE]  # fmt: skip
    text = REPORTS[name](bare_run(report(*wild, text=HOSTILE[3], warnings=HOSTILE, dataset=HOSTILE)))
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\u200b", "\r"}
    if name == "report.md":
        text = re.sub(r"(`+).+?\1(?!`)", "", text)  # a code span shows what is in it
        assert "<script" not in text
        assert not re.search(r"(?<!\\)!\[|(?<!\\)\]\(|\n::|\n=", text)
    if name == "ranking.csv":
        assert not [cell for row in csv.reader(text.splitlines()) for cell in row if cell[:1] in ("=", "+", "@")]
    if name == "junit.xml":
        ET.fromstring(text)  # our own text


def test_no_file_holds_what_the_manifest_keeps(demo: ScoredRun) -> None:
    """Addresses, account digests, key names and request parameters are in no report."""
    account = demo.manifest.raw["entries"][0]["account"]
    for text in texts(demo).values():
        assert account not in text
        assert "sim://" not in text
