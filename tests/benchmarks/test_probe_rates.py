"""Rewritten calls, cut prompts and caches are found by probes with known answers, and honest vendors are not accused.

The rates over 200 runs are measured by benchmarks/probe_rates.py.
"""

from __future__ import annotations

import pytest
from probe_rates import VENDORS, draw_run, found

from vendor_verifier.findings.verdict import judge
from vendor_verifier.suites.probes import changes

HONEST = ("honest", "honest, with a cache")


@pytest.mark.parametrize("slip", [0.0, 0.1])
def test_honest_vendors_are_not_accused(slip: float) -> None:
    """Whatever the model's own slips are."""
    vendors = {label: VENDORS[label] for label in HONEST}
    for seed in range(2):
        assert found(draw_run(vendors, seed, slip)) == {label: {} for label in HONEST}


@pytest.mark.parametrize(
    ("label", "finding", "words"),
    [
        ("one character in all calls", "rewritten_arguments", "of 60 copied arguments; the baseline none"),
        ("shell commands only", "copied_arguments", "baseline 0 of 120"),
        ("package names of pip only", "rewritten_arguments", "`requests` → `requestss`"),
        ("one package name only", "rewritten_arguments", "3 of 60"),
        ("cut at 8,000 tokens", "lost_prompts", "over 8k tokens lose the beginning"),
        ("cut at 8,000 tokens", "lost_prompts", "billed as at most 8,0"),
        ("cut at 8,000 tokens, billed whole", "lost_prompts", "lose the end (12k, 16k and 32k asked), billed whole"),
        ("one package name only, no usage", "rewritten_arguments", "3 of 60"),
        ("refuses more than 20,000 tokens", "lost_prompts", "Prompts over 16k tokens are refused (32k asked)."),
        ("middle dropped", "lost_prompts", "over 4k tokens lose the middle"),
    ],
)
def test_a_vice_is_named(label: str, finding: str, words: str) -> None:
    """With its length, its change and its count."""
    findings = judge(draw_run({label: VENDORS[label]}, 1, 0.0), {}).findings
    texts = [each.text for each in findings if each.name == finding and each.status in ("check", "differs")]
    assert len(texts) == 1
    assert words in texts[0]


def test_what_the_baseline_does_too_is_no_finding() -> None:
    """Both pass the calls through one gateway that changes a name."""
    vendor = VENDORS["one package name only"]
    assert found(draw_run({"v": vendor}, 1, 0.0, baseline=vendor)) == {"v": {}}


def test_a_cache_is_noted_and_no_fault() -> None:
    """With the baseline's share next to it; a vendor that reports no cached tokens has no share."""
    vendors = {label: VENDORS[label] for label in HONEST}
    noted = {each.vendor: each for each in judge(draw_run(vendors, 1, 0.0), {}).findings}
    assert {label: each.status for label, each in noted.items()} == {"honest, with a cache": "matches"}
    assert "100 % of the tokens are billed as cached (baseline 100 %)" in noted["honest, with a cache"].text
    assert "first token comes after 33 % of the time" in noted["honest, with a cache"].text


def test_changes_are_words() -> None:
    """What was asked for, and what came."""
    assert changes("pip install numpy==1.0", "pip install nunpy==1.0") == [("numpy", "nunpy")]
    assert changes(" a ", "a") == [(" ", ""), (" ", "")]
