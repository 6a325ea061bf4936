"""Findings and gates in Chinese: every name has its sentence, and every sentence can be made of its evidence."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from page_reading import read_page
from persona_records import MODEL, Vendor, run_folder
from questions import CLOCK, WEATHER

from vendor_verifier import audit
from vendor_verifier.audit.behaviour import _SHARES, _SPEEDS
from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.gates.judge import judge_gate
from vendor_verifier.gates.thresholds import parse_threshold
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.reports.html.page import render
from vendor_verifier.values.estimate import Estimate
from vendor_verifier.values.judgement import Finding
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.words import Texts, entries

_ENGLISH = re.compile(r"[A-Za-z]+ [a-z]+ [a-z]+")


SENTENCES = {name.removeprefix("finding_"): words for name, words in entries().items() if name.startswith("finding_")}
# Parts of sentences, chosen by what was found.
PARTS = {"against", "calls_rarely", "calls_often", "more", "fewer"}
CHINESE = Texts("zh")


def _names() -> set[str]:
    """Every name a finding is made with in ``audit``: where it is written down, and where a table gives it."""
    found = {share.name for share in _SHARES} | set(_SPEEDS.values())
    for path in Path(audit.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                at = {"finding": slice(0, 1), "_lengths": slice(0, 1), "_changes": slice(2, 3)}.get(
                    node.func.id, slice(0)
                )
                found |= {str(name.value) for name in node.args[at] if isinstance(name, ast.Constant)}
            if isinstance(node, ast.Tuple):
                words = [item.value for item in node.elts if isinstance(item, ast.Constant)]
                found |= {word for word in words if isinstance(word, str) and word.endswith("_changed_since")}
    return found


def test_every_finding_has_its_sentence() -> None:
    """A new finding comes with one; none is left that nobody makes; none that is Chinese is English."""
    assert _names() == SENTENCES.keys() - PARTS
    assert not [name for name, words in SENTENCES.items() if _ENGLISH.search(words["zh"])]


@pytest.mark.slow
def test_no_english_finding_stays_in_a_chinese_page(tmp_path: Path) -> None:
    """Every simulated vice at once, as a run finds them: the English statement of none is in the page."""
    texts = (f"How is the weather in town {number}? {'Please. ' * (number % 40)}" for number in range(200))
    turns = (Turn(({"role": "user", "content": text},), (WEATHER, CLOCK)) for text in texts)
    samples = [Sample(f"s{number}", turn) for number, turn in enumerate(turns)]
    names = [name for name in PERSONAS if name != "faithful"]
    vendors = [Vendor("official", PERSONAS["faithful"], repeat=2)]
    vendors += [Vendor(name, PERSONAS[name].among(12)) for name in names]
    report = score_folder(run_folder(tmp_path / "run", vendors, samples), gates=("f1 >= 0.99", "success_rate >= 1"))
    findings = report.verdicts[MODEL].findings
    assert len({found.name for found in findings}) > 8
    told = " ".join(text for texts in read_page(render(report, "zh")).texts.values() for text in texts)
    assert not [found.statement for found in findings if found.statement in told]
    assert not [gate.reason for gate in report.verdicts[MODEL].gates if gate.reason in told]
    assert all(CHINESE.said(found.statement) in told for found in findings)


def test_a_finding_of_an_unknown_name_is_told_in_its_own_words() -> None:
    """Nothing is lost because nobody has translated it."""
    assert CHINESE.said(Finding("unheard_of", "a", "does something").statement) == "does something"


@pytest.mark.parametrize(
    ("threshold", "found", "words"),
    [
        ("f1 >= 0.9", Estimate(0.95, 0.92, 0.97, 100), "f1 = 0.95，95% 区间 0.92 … 0.97（n = 100）"),
        ("f1 >= 0.9", Estimate(0.95, 0.85, 0.97, 100), "门槛位于区间之内，若数值不变，约 421 个样本可以判定"),
        ("success_rate >= 1", Estimate(1.0, 0.98, 1.0, 100), "再多的样本也无法证明永远如此"),
        ("f1 >= 0.9", Estimate(None), "f1 未能测量"),
        ("cost_per_valid_call_usd <= 1", Estimate(None), "价格未知"),
    ],
)
def test_a_gate_says_why_in_chinese(threshold: str, found: Estimate, words: str) -> None:
    """The same interval and the same advice as in English."""
    stated = parse_threshold(threshold)
    told = CHINESE.said(judge_gate("a", stated, {stated.subject: found}, {}).reason)
    assert words in told
    assert not _ENGLISH.search(told)
