"""The catalogue of words: every text in every language and of use, and no English where another was asked for."""

from __future__ import annotations

import ast
import re
import string
import sys
import tomllib
from collections import Counter
from copy import deepcopy
from pathlib import Path

import pytest
import sample_reports
import synthetic_run
from changing import replace

import vendor_verifier
from vendor_verifier.metrics import FIGURES, METRICS
from vendor_verifier.reports import REPORTS
from vendor_verifier.reports.number_format import figure_title, speed_title
from vendor_verifier.reports.terminal import plain_lines
from vendor_verifier.values.score import Report
from vendor_verifier.words import LANGUAGES, Texts, english, entries

PACKAGE = Path(vendor_verifier.__file__).parent
TRANSLATED = [form for form in REPORTS if form.is_translated]


def _fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_every_text_is_there_in_every_language() -> None:
    """No name is without a text in one of the languages, and no text is empty."""
    lacking = {name: set(LANGUAGES) - words.keys() for name, words in entries().items()}
    assert {name: languages for name, languages in lacking.items() if languages} == {}
    assert [name for name, words in entries().items() if not all(words[language] for language in LANGUAGES)] == []


def test_files_are_read_again_when_one_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read is kept beside compiled modules; never longer than a file stays as it is, nor if it is damaged."""
    monkeypatch.setattr("vendor_verifier.words.__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "a.toml").write_text('[yes]\nen = "Yes"\n')
    read = entries.__wrapped__
    assert read() == {"yes": {"en": "Yes"}}
    (kept,) = (tmp_path / "__pycache__").iterdir()
    with monkeypatch.context() as again:
        again.setattr("tomllib.loads", lambda _text: pytest.fail("it is kept"))
        assert read() == {"yes": {"en": "Yes"}}
    (tmp_path / "a.toml").write_text('[yes]\nen = "Indeed"\n')
    assert read() == {"yes": {"en": "Indeed"}}
    (tmp_path / "b.toml").write_text('[no]\nen = "No"\n')
    assert read() == {"yes": {"en": "Indeed"}, "no": {"en": "No"}}
    kept.write_bytes(kept.read_bytes()[:-9])
    assert read() == {"yes": {"en": "Indeed"}, "no": {"en": "No"}}


def test_the_languages_fill_in_the_same_values() -> None:
    """A translation that leaves a value out would hide it from its readers; one that asks for another would fail.

    Findings and reasons may be told from other figures of the same evidence.
    """
    told = {name: {frozenset(_fields(words[each])) for each in LANGUAGES} for name, words in entries().items()}
    unlike = [name for name, fields in told.items() if len(fields) > 1]
    unlike = [name for name in unlike if not name.startswith(("finding_", "trend_reason_"))]
    assert unlike == []


# Nouns that are counted; of rates and of shares there may be 0.5.
_COUNTED = re.compile(
    r"(?<!of the )\{(?!n\}|rate|begun|tokens|share|percent)\w+\} "
    r"(requests|samples|vendors|rows|answers|runs|records|processes|times|attempts|characters)\b(?! a second|/s)"
)

# Factors, and what is said of many answers only.
_NEVER_ONE = ("finding_", "late_first_token", "sdk_cut", "monthly_requests_note", "clock_floor", "warn_unjudged")


def test_one_is_said_in_the_singular() -> None:
    """A count is written with the words for one and for others, in every sentence that counts."""
    unsaid = [name for name, words in entries().items() if _COUNTED.search(words["en"])]
    assert [name for name in unsaid if not name.startswith(_NEVER_ONE)] == []
    assert [name for name, words in entries().items() if "(s)" in words["en"]] == []
    t = Texts("en")
    assert t("asked", samples=1, repeat="once", vendors=2) == "1 sample × once × 2 vendors"
    assert t("asked", samples="1,000", repeat="once", vendors="1") == "1,000 samples × once × 1 vendor"
    for ignored, words in ((1, "1 record is outside"), (2, "2 records are outside")):
        warning = english("warn_outside", ignored=ignored)
        assert warning.startswith(words)
        assert Texts("zh").said(str(warning)) == Texts("zh")("warn_outside", ignored=str(ignored))


def test_no_name_and_no_sentence_is_there_twice() -> None:
    """Each is in one file, once."""
    files = [tomllib.loads(path.read_text()) for path in (PACKAGE / "words").glob("*.toml")]
    assert [name for name, count in Counter(name for file in files for name in file).items() if count > 1] == []
    sentences = Counter(words["en"] for words in entries().values() if len(words["en"].split()) > 3)
    assert [text for text, count in sentences.items() if count > 1] == []


def test_every_text_is_used() -> None:
    """Its name, or the beginning of it that a value completes, stands in the package's code or templates."""
    whole, begun = set(), set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                first = node.values[0]
                parts = [part for part in node.values if isinstance(part, ast.FormattedValue)]
                if parts and isinstance(first, ast.Constant) and str(first.value).endswith("_"):
                    begun.add(str(first.value))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
    for path in PACKAGE.rglob("*.j2"):
        whole.update(re.findall(r't\("(\w+)"', path.read_text(encoding="utf-8")))
    # Names made of a variable and an ending.
    endings = ("of", "alone", "begun", "tokens", "peak")
    ended = {f"pace_{form}{ending}" for form in ("", "short_") for ending in endings}
    unused = [name for name in entries() if name not in whole | ended and not name.startswith(tuple(begun))]
    assert unused == []


def _reports() -> dict[str, Report]:
    judged = synthetic_run.report(30)
    verdict = judged.verdicts[synthetic_run.MODEL]
    gates = tuple(replace(gate, reason=english("gate_more")) for gate in verdict.gates)
    found = tuple(replace(each, statement=english("finding_cache_impossible", answers=3)) for each in verdict.findings)
    verdicts = {synthetic_run.MODEL: replace(verdict, gates=gates, findings=found)}
    return {
        "judged": replace(judged, verdicts=verdicts),
        "full": sample_reports.full(),
        "regional": sample_reports.regional(),
        "loaded": sample_reports.loaded(),
    }


@pytest.mark.parametrize("case", ["judged", "full", "regional", "loaded"])
def test_no_english_sentence_stays_in_a_chinese_report(case: str) -> None:
    """Page, Markdown, summary and terminal hold none of the English texts of the catalogue."""
    report = _reports()[case]
    outputs = {form.name: form.text(report, "zh") for form in TRANSLATED}
    outputs["terminal"] = "\n".join(plain_lines(report, "zh"))
    chinese = "\n".join(words["zh"] for words in entries().values())
    left = [
        (where, part)
        for words in entries().values()
        for part in re.split(r"\{\w*\}", words["en"])
        if len(part.split()) > 2 and part not in chinese
        for where, text in outputs.items()
        if part in text and part not in repr(report)
    ]
    assert left == []


def test_a_sentence_keeps_what_it_was_made_of() -> None:
    """It is its English text to everybody, its name and values to who says it in another language; copies too."""
    inner = english("gate_more")
    said = english("gate_inside", said="f1 = 1", more=inner)
    assert said == "f1 = 1; the threshold lies inside, send more samples"
    assert Texts("zh").said(said) == Texts("zh").said(deepcopy(said)) == "f1 = 1；门槛位于区间之内，请发送更多样本"
    assert Texts("zh").said("a stranger's words") == "a stranger's words"


def test_a_stored_warning_is_said_in_another_language() -> None:
    """A manifest holds English: what is a warning of ours is recognised, with the sentences in it; nothing else is."""
    stored = str(english("warn_loop", ms=40, advice=english("advice_workers")))
    assert Texts("zh").said(stored) == Texts("zh")("warn_loop", ms=40, advice=Texts("zh")("advice_workers"))
    assert Texts("en").said(stored) == stored
    assert Texts("zh").said("a vendor's own words") == "a vendor's own words"


def test_metrics_are_titled_by_their_definitions_alone() -> None:
    """Every metric has a title in every language, which no text of the catalogue repeats under the metric's name."""
    assert [
        each.name for each in (*METRICS, *FIGURES) if len(each.titles) < len(LANGUAGES) or not all(each.titles)
    ] == []
    names = {each.name for each in (*METRICS, *FIGURES)}
    assert names & {name.removeprefix("speed_") for name in entries()} == set()
    for place, language in enumerate(LANGUAGES):
        t = Texts(language)
        assert [figure_title(each.name, t) for each in FIGURES] == [each.titles[place] for each in FIGURES]
        assert [speed_title(each.name, t) for each in METRICS] == [each.titles[place] for each in METRICS]
    assert [figure_title(each.name, Texts("en", "wide")) for each in FIGURES] == [each.page_title for each in FIGURES]
    assert [figure_title(each.name, Texts("zh", "wide")) for each in FIGURES] == [each.titles[1] for each in FIGURES]
