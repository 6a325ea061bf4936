"""What differing prompt tokens point to, on the very strings of the suite and with whole tokenizers side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from vendor_verifier.audit.probes import Replies, sizes_of, tokenizer_findings
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites.probes import is_string, probes_samples

Count = Callable[[str], int]


def _pieces(text: str, pattern: str, longest: int) -> int:
    """Tokens where each match is divided into pieces of so many characters at most."""
    return sum(-(-len(found) // longest) for found in re.findall(pattern, text, re.DOTALL))


def first_tokenizer(text: str) -> int:
    """Digits by threes, words by fours, runs of blanks by sixteens, every other sign by its bytes in pairs."""
    rest = re.sub(r"[A-Za-z0-9\s]", "", text)
    return (
        _pieces(text, r"[0-9]+", 3) + _pieces(text, r"[A-Za-z]+", 4) + _pieces(text, r"\s\s+", 16)
        + -(-len(rest.encode()) // 2)
    )  # fmt: skip


def second_tokenizer(text: str) -> int:
    """Digits one by one, words by sixes, blanks by fours, every other sign as one."""
    rest = re.sub(r"[A-Za-z0-9\s]", "", text)
    return _pieces(text, r"[0-9]", 1) + _pieces(text, r"[A-Za-z]+", 6) + _pieces(text, r"\s\s+", 4) + len(rest)


def _side(samples: Iterable[Sample], count: Count, template: int = 7) -> Replies:
    found = Replies()
    for sample in samples:
        group = sample.id.removeprefix("probes-")
        name = group if is_string(group) else group.partition("-")[0]
        found.prompts.setdefault(name, []).append(template + count(str(sample.turn.messages[0]["content"])))
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("count", "pattern"),
    [
        (first_tokenizer, None),
        (lambda text: 11 + first_tokenizer(text), None),
        (second_tokenizer, "tokenizer"),
        (lambda text: first_tokenizer(text[-60:]), "cut"),
        (lambda text: min(first_tokenizer(text), 60), "cut"),
        (lambda text: round(1.35 * first_tokenizer(text)) + 5, "scaled"),
        (lambda text: -(-len(text) // 4), "formula"),
        (lambda text: len(text.encode()) // 3, "formula"),
    ],
    ids=["same", "template", "another", "cut by characters", "cut by tokens", "factor", "characters ÷ 4", "bytes ÷ 3"],
)
def test_the_pattern_tells_the_causes_apart(seed: int, count: Count, pattern: str | None) -> None:
    """Over the questions of five seeds, probes and strings together."""
    samples = probes_samples(20, 3, seed)
    replies = {"official": _side(samples, first_tokenizer), "one": _side(samples, count)}
    found = [each.evidence["pattern"] for each in tokenizer_findings(replies, "official", sizes_of(samples))]
    assert found == ([] if pattern is None else [pattern])


@pytest.mark.parametrize("seed", range(20))
def test_where_the_baseline_leaves_cached_tokens_out_nobody_is_charged(seed: int) -> None:
    """Baseline and twin bill less for what they have seen before, each at its own moments."""
    samples, rng = probes_samples(20, 5, seed), np.random.default_rng(seed)

    def with_cache(text: str) -> int:
        return first_tokenizer(text) - (8 if rng.random() < 0.3 else 0)

    replies = {name: _side(samples, with_cache) for name in ("official", "twin")}
    assert not list(tokenizer_findings(replies, "official", sizes_of(samples)))


def test_counts_drawn_at_random_are_called_varying() -> None:
    samples, rng = probes_samples(20, 5, 3), np.random.default_rng(3)
    invented = _side(samples, lambda text: first_tokenizer(text) + int(rng.integers(0, 6)))
    replies = {"official": _side(samples, first_tokenizer), "one": invented}
    (found,) = tokenizer_findings(replies, "official", sizes_of(samples))
    assert found.evidence["pattern"] == "varying"
