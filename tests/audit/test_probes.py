"""The suite ``probes`` judged: who is unlike, what was not measurable, and what differing token counts point to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from vendor_verifier.audit.probes import BUDGET, Replies, probes_findings, probes_tests, tokenizer_findings
from vendor_verifier.records.probes import ProbesTest


def _side(seed: int, *, probes: int = 30, times: int = 20, model: int = 0, billed: int = 1) -> Replies:
    rng, tokens = np.random.default_rng(seed), {}
    for probe in range(probes):
        weights = np.exp(1.5 * np.random.default_rng((model, probe)).normal(size=12))
        tokens[f"{probe:03d}"] = [
            f"{chr(97 + int(draw))}x" for draw in rng.choice(12, times, p=weights / weights.sum())
        ]
    return Replies(tokens, _counts(lambda _kind, tokens: tokens), [billed] * times)


def _counts(report: Callable[[int, int], float]) -> dict[str, list[int]]:
    """Prompt tokens of the 24 strings, given what is reported of a kind and its true number."""
    return {
        f"string-{8 * rank + kind:02d}": [round(report(kind, 10 + (kind + 3) * (length // 4)))]
        for rank, length in enumerate((8, 24, 72))
        for kind in range(8)
    }


def _tests(**vendors: Replies) -> dict[str, ProbesTest]:
    return probes_tests({"official": _side(1), **vendors}, "official", np.random.default_rng(1))


def test_another_model_is_named_and_a_twin_says_what_would_have_been_seen() -> None:
    tests = _tests(twin=_side(2), other=_side(3, model=9))
    (found,) = probes_findings(tests)
    assert (found.name, found.label) == ("probes_unlike_baseline", "other")
    assert tests["twin"].p_value is not None
    assert tests["twin"].p_value > BUDGET
    assert 0 < (tests["twin"].seen_mixture or 0) <= 1


@pytest.mark.parametrize("bills", [True, False])
def test_a_wire_that_gave_more_than_one_token_is_compared_by_the_first_signs(bills: bool) -> None:
    """By what was billed, or where nothing was by who was cut off and who came to an end."""
    longer = _side(2, billed=16)
    longer.cut = [False] * 600
    longer.billed = longer.billed if bills else []
    longer.tokens = {probe: [token + "rest" for token in tokens] for probe, tokens in longer.tokens.items()}
    p_value = _tests(longer=longer)["longer"].p_value
    assert p_value is not None
    assert p_value > BUDGET


def test_a_model_that_shows_no_token_is_not_measurable() -> None:
    silent = Replies({}, _counts(lambda _kind, tokens: tokens))
    assert "visible token" in (_tests(silent=silent)["silent"].not_measurable or "")


def test_without_a_baseline_nothing_is_compared() -> None:
    tests = probes_tests({"one": _side(1)}, None, np.random.default_rng(1))
    assert "no baseline" in (tests["one"].not_measurable or "")
    assert not list(tokenizer_findings({"one": _side(1)}, None))


@pytest.mark.parametrize(
    ("report", "pattern"),
    [
        (lambda _kind, tokens: tokens, None),
        (lambda _kind, tokens: tokens + 7, None),
        (lambda _kind, tokens: 1.35 * tokens + 5, "scaled"),
        (lambda _kind, tokens: min(tokens, 90), "cut"),
        (lambda kind, tokens: tokens + (tokens - 10) * (0, 0.4, -0.3, 0.6, 0, 0.2, 0, -0.4)[kind], "tokenizer"),
        (lambda kind, tokens: tokens + (3 if kind == 2 and tokens > 50 else 0), "unclear"),
    ],
    ids=["equal", "another template", "multiplied", "cut", "another tokenizer", "one kind alone"],
)
def test_what_differing_counts_point_to(report: Callable[[int, int], float], pattern: str | None) -> None:
    replies = {"official": _side(1), "one": Replies(prompts=_counts(report))}
    patterns = [found.evidence["pattern"] for found in tokenizer_findings(replies, "official")]
    assert patterns == ([] if pattern is None else [pattern])


def test_the_same_bytes_counted_now_so_now_otherwise_are_made_up() -> None:
    counts = _counts(lambda _kind, tokens: tokens)
    counts["string-00"] = [14, 19]
    (found,) = tokenizer_findings({"official": _side(1), "one": Replies(prompts=counts)}, "official")
    assert found.evidence["pattern"] == "varying"
    assert "several hosts" in found.statement
