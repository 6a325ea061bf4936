"""Probes and feature checks: what differing token counts point to, and who answers with other frequencies."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from model_runs import BASE, model_run, records

from vendor_verifier.findings.base import ModelRun
from vendor_verifier.findings.probes import mixture_reach, reach, unlikeness
from vendor_verifier.findings.verdict import every_test
from vendor_verifier.suites.probes import group_of, probes_samples

Count = Callable[[str], float]
USAGE = "usage_with_and_without_streaming"
SAMPLES = {
    seed: [each for each in probes_samples(20, 5, seed) if each.tags["category"] in ("probe", "string")]
    for seed in range(2)
}


def pieces(text: str, pattern: str, longest: int) -> int:
    """Tokens where each match is divided into pieces of this number of characters at most."""
    return sum(-(-len(found) // longest) for found in re.findall(pattern, text, re.DOTALL))


def first(text: str) -> int:
    """A tokenizer: digits by threes, words by fours, blanks by sixteens, other signs by their bytes in pairs."""
    rest = len(re.sub(r"[A-Za-z0-9\s]", "", text).encode())
    words = pieces(text, r"[A-Za-z]+", 4) + pieces(text, r"\s\s+", 16)
    return pieces(text, r"[0-9]+", 3) + words + -(-rest // 2)


def second(text: str) -> int:
    """Another one: digits one by one, words by sixes, blanks by fours, every other sign as one."""
    rest = len(re.sub(r"[A-Za-z0-9\s]", "", text))
    return pieces(text, r"[0-9]", 1) + pieces(text, r"[A-Za-z]+", 6) + pieces(text, r"\s\s+", 4) + rest


def side(label: str, count: Count = first, seed: int = 0, *, model: int = 0, **columns: Any) -> pd.DataFrame:
    """The answers of a vendor to all probes and strings; its model says each of twelve words at its own rate."""
    samples, rng = SAMPLES[seed], np.random.default_rng([ord(label[0]), seed, model])
    tokens = []
    for sample in samples:
        number = sample.tags["probe"]
        weights = np.exp(1.5 * np.random.default_rng([model, int(str(number))]).normal(size=12))
        tokens.append(f"{chr(97 + int(rng.choice(12, p=weights / weights.sum())))}x")
    texts = [str(sample.turn.messages[0]["content"]) for sample in samples]
    usual = {
        "suite": "probes", "sample": [sample.id for sample in samples], "status": "kept", "problem": tokens,
        "input_tokens": [7.0 + count(text) for text in texts], "output_tokens": 1.0,
    }  # fmt: skip
    return records(label, len(samples), **{**usual, **columns})


def run_of(*parts: pd.DataFrame, seed: int = 0) -> ModelRun:
    texts = {group_of(each.id): str(each.turn.messages[-1]["content"]) for each in SAMPLES[seed]}
    return model_run(*parts, probe_texts=texts)


def counted(*parts: pd.DataFrame, seed: int = 0) -> list[tuple[str, str, str]]:
    """(facet, status, cause) of vendors whose tokens are counted otherwise."""
    tests = [test for _, test in every_test(run_of(*parts, seed=seed)) if test.name == "tokenizer"]
    return [(test.facet, test.status, test.text.rpartition(": ")[2]) for test in tests]


FACTOR = ("bill", "check", "counts are multiplied.")


@pytest.mark.parametrize(
    ("count", "found"),
    [
        (first, None),
        (lambda text: 11 + first(text), None),
        (second, ("model", "differs", "another tokenizer.")),
        (lambda text: first(text[-60:]), ("model", "check", "prompts are cut.")),
        (lambda text: min(first(text), 60), ("model", "check", "prompts are cut.")),
        (lambda text: round(1.35 * first(text)) + 5, FACTOR),
        (lambda text: round(1.35 * (first(text) + len(text) % 3 / 3 - 0.4)) + 5, FACTOR),
        (lambda text: -(-len(text) // 4), ("bill", "check", "counts follow from the length of the text.")),
        (lambda text: len(text.encode()) // 3, ("bill", "check", "counts follow from the length of the text.")),
        (lambda text: first(text) + 3 * text.isdigit(), ("model", "check", "another template or tokenizer.")),
    ],
    ids="same template another characters tokens factor rounded per_character per_byte digits".split(),
)
def test_the_cause_of_other_token_counts(count: Count, found: tuple[str, str, str] | None) -> None:
    for seed in SAMPLES:
        assert counted(side("v", count, seed), side(BASE, seed=seed), seed=seed) == ([] if found is None else [found])


def test_counts_that_vary() -> None:
    """At the vendor they are made up; at the baseline (a cache, several hosts) nothing can be said."""
    rng = np.random.default_rng(1)
    varying = lambda text: first(text) + int(rng.integers(0, 6))  # noqa: E731
    assert counted(side("v", varying), side(BASE)) == [("bill", "check", "equal prompts get unequal counts.")]
    assert counted(side("v"), side(BASE, varying)) == []


def test_the_last_answer_of_a_probe_counts() -> None:
    """Many refuse to switch reasoning off, so that the record is no success."""
    first_refused: dict[str, Any] = {"ok": False, "failure": "untranslatable", "charge": "us", "turns": 2}
    refusing = side("v", second, **first_refused), side(BASE, **first_refused)
    assert counted(*refusing) == [("model", "differs", "another tokenizer.")]
    assert p_value(*refusing) is not None


def p_value(*parts: pd.DataFrame) -> float | None:
    found = [test.p_value for _, test in every_test(run_of(*parts)) if test.name == "probe_answers"]
    return found[0] if found else None


def test_another_model_answers_otherwise() -> None:
    other, same = p_value(side("v", model=9), side(BASE)), p_value(side("v"), side(BASE))
    assert other is not None
    assert same is not None
    assert other < 0.001 < 0.01 < same


@pytest.mark.parametrize("billed", [{"output_tokens": 16.0}, {"output_tokens": None, "finish": "stop"}])
def test_longer_answers_are_compared_by_their_first_sign(billed: dict[str, Any]) -> None:
    """Some wires do not take a limit of one token."""
    longer = side("v")
    words = {"problem": longer["problem"].astype(str) + "rest", **billed}
    found = p_value(side("v", **words), side(BASE, finish="length"))
    assert found is not None
    assert found > 0.01


@pytest.mark.parametrize(
    "parts",
    [
        (side("v", status="not_measurable"), side(BASE)),
        (side("v", problem="7"), side(BASE, problem="7")),
        (side("v", status=None, input_tokens=None), side(BASE)),
        (side("v"), records(BASE, 3)),
    ],
    ids=["no visible token", "one answer to all", "nothing answered", "no baseline asked"],
)
def test_what_cannot_be_compared_says_nothing(parts: tuple[pd.DataFrame, ...]) -> None:
    assert p_value(*parts) is None
    found = reach(run_of(*parts), "v")
    assert found is None or not found.enough


def counts(seed: int, mixture: float = 0.0, probes: int = 30) -> list[Any]:
    """The answers of both sides; a share of the vendor's is by another model."""
    rng, found = np.random.default_rng(seed), []
    for number in range(probes):
        ours, theirs = (np.exp(1.5 * np.random.default_rng([model, number]).normal(size=12)) for model in (0, 9))
        base = ours / ours.sum()
        mixed = (1 - mixture) * base + mixture * theirs / theirs.sum()
        table = np.stack([rng.multinomial(20, mixed), rng.multinomial(20, base)])
        found.append(table[:, table.sum(axis=0) > 0])
    return found


def test_the_probe_test_keeps_its_level_and_its_reach() -> None:
    def shown(mixture: float) -> float:
        tests = [unlikeness(counts(seed, mixture), np.random.default_rng(seed), 500) for seed in range(30)]
        return float(np.mean([test is not None and test[1] <= 0.01 for test in tests]))

    share = mixture_reach(counts(1), 0.01)
    assert share is not None
    assert 0.1 < share < 0.5
    assert shown(0.0) <= 0.05
    assert shown(share) >= 0.7


def features(label: str, **statuses: str) -> pd.DataFrame:
    names = [f"contract-{name}" for name in statuses]
    return records(label, len(names), suite="contract", sample=names, status=list(statuses.values()))


@pytest.mark.parametrize(
    ("own", "base", "found"),
    [
        ({"tool_choice_none": "broken"}, {"tool_choice_none": "kept"}, [("tool_calls", "check")]),
        ({USAGE: "broken"}, {USAGE: "kept"}, [("bill", "check")]),
        ({"tool_choice_none": "broken"}, {"tool_choice_none": "broken"}, []),
        ({"tool_choice_none": "not_measurable"}, {"tool_choice_none": "kept"}, []),
        ({"stop": "broken"}, {"stop": "kept"}, []),
    ],
)
def test_broken_features(own: dict[str, str], base: dict[str, str], found: list[tuple[str, str]]) -> None:
    tests = every_test(model_run(features("v", **own), features(BASE, **base)))
    assert [(test.facet, test.status) for _, test in tests] == found
