"""The files of a run folder: what programs read, and that nothing hostile or secret gets into them."""

from __future__ import annotations

import csv
import json
import re
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest
from made_results import HOSTILE, report, vendor, verdict
from scored import bare_run

from vendor_verifier.records.results import SuiteResult
from vendor_verifier.reports import FORMATS, rendered
from vendor_verifier.reports.scores_json import scores_schema
from vendor_verifier.scoring.figures import ScoredRun

MACHINES = ("scores.json", "ranking.csv", "junit.xml", "metrics.prom")


def test_scores_json_keeps_its_schema(demo: ScoredRun) -> None:
    """The generated schema describes the file; what is not finite becomes null."""
    schema = scores_schema()
    hostile = report(*(vendor(each, tps=float("nan"), irf=float("inf")) for each in (*HOSTILE, "\ud800")))
    for scored in (demo, bare_run(hostile), bare_run(report())):
        text = rendered(scored, ["scores.json"])["scores.json"]
        assert text.isascii()
        jsonschema_rs.validate(schema, json.loads(text.replace("\\ud800", "")))
    (model,) = json.loads(rendered(bare_run(hostile), ["scores.json"])["scores.json"])["models"].values()
    assert {(each["tps"], each["irf"]) for each in model["vendors"].values()} == {(None, None)}


@pytest.mark.parametrize("name", [*MACHINES, "report.md", "report.html"])
def test_hostile_text_is_escaped(name: str) -> None:
    wild = [vendor(each, verdict=verdict("differs", each, command=each), vendor=each, model_id=each,
                   provider=each, suites={each: SuiteResult(1, 1, 0.5, {each: 0.5}, {each: "broken"})})
            for each in HOSTILE]  # fmt: skip
    scored = bare_run(report(*wild, text=HOSTILE[3], warnings=HOSTILE, dataset=HOSTILE))
    text = rendered(scored, [name])[name]
    assert not set(text) & {"\x1b", "\x07", "\u202e", "\u200b", "\r"}
    if name == "report.md":
        text = re.sub(r"(`+).+?\1(?!`)", "", text)  # a code span shows what is in it
        assert "<script" not in text
        assert not re.search(r"(?<!\\)!\[|(?<!\\)\]\(|\n::|\n=", text)
    if name == "report.html":
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text
    if name == "ranking.csv":
        assert not [cell for row in csv.reader(text.splitlines()) for cell in row if cell[:1] in ("=", "+", "@")]
    if name == "junit.xml":
        ET.fromstring(text)  # our own text


def test_no_file_holds_what_the_manifest_keeps(demo: ScoredRun) -> None:
    """Addresses, account digests, key names and request parameters are in no report."""
    account = demo.manifest.entries[0].account
    for text in rendered(demo, FORMATS.values()).values():
        assert account not in text
        assert "sim://" not in text
