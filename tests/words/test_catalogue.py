"""The catalogue of words: every text is used, and counts have their words."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import vendor_verifier
from vendor_verifier.words import Texts, english, entries

PACKAGE = Path(vendor_verifier.__file__).parent


# Nouns that are counted; of rates and of shares there may be 0.5.
_COUNTED = re.compile(
    r"(?<!of the )\{(?!n\}|rate|begun|tokens|share|percent)\w+\} "
    r"(requests|samples|vendors|rows|answers|runs|records|processes|times|attempts|characters)\b(?! a second|/s)"
)

# Factors, and what is said of many answers only.
_NEVER_ONE = ("finding_", "late_first_token", "sdk_cut", "monthly_requests_note", "clock_floor")


def test_one_is_said_in_the_singular() -> None:
    """A count is written with the words for one and for others, in every sentence that counts."""
    unsaid = [name for name, words in entries().items() if _COUNTED.search(words)]
    assert [name for name in unsaid if not name.startswith(_NEVER_ONE)] == []
    assert [name for name, words in entries().items() if "(s)" in words] == []
    t = Texts()
    assert t("asked", samples=1, repeat="once", vendors=2) == "1 sample × once × 2 vendors"
    assert t("asked", samples="1,000", repeat="once", vendors="1") == "1,000 samples × once × 1 vendor"
    for ignored, words in ((1, "1 record is outside"), (2, "2 records are outside")):
        assert english("warn_outside", ignored=ignored).startswith(words)


def test_no_name_and_no_sentence_is_there_twice() -> None:
    """Each is in one file, once."""
    files = [tomllib.loads(path.read_text()) for path in (PACKAGE / "words").glob("*.toml")]
    assert [name for name, count in Counter(name for file in files for name in file).items() if count > 1] == []
    sentences = Counter(words for words in entries().values() if len(words.split()) > 3)
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
    names = [re.sub("_(one|wide|narrow)$", "", name) for name in entries()]
    unused = [name for name in names if name not in whole | ended and not name.startswith(tuple(begun))]
    assert unused == []
