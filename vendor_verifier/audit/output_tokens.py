"""Whether a vendor bills more output tokens for the same visible answer than the baseline does.

No tokenizer is needed: an answer of c characters should cost about as many tokens as the baseline bills for its own
answer to the same question, in proportion to their lengths, and exactly as many where both are byte for byte equal.
What is billed beyond, d, is held against the size of the answer: a slope is inflation; a constant is a way of counting,
such as one token for the end, and says nothing. Reasoning that is billed apart is left out: nobody sees how much
there was.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from vendor_verifier.audit.answers import Answers
from vendor_verifier.audit.finding import finding
from vendor_verifier.records.judgement import Finding
from vendor_verifier.scoring.answer_texts import AnswerText
from vendor_verifier.stats.theil_sen import theil_sen

LEAST_ANSWERS = 20
# Tokenizing is deterministic, but answers of other words have other tokens per character.
_LEAST_SLOPE = 0.02
_LEVEL = 0.999
_MOST_ANSWERS = 800
# Answers much longer or shorter than the baseline's are of another kind: code against prose, calls against text.
_MOST_UNLIKE = 1.5


def output_token_findings(answers: Mapping[str, Answers], baseline: str | None) -> Iterator[Finding]:
    """A finding for every vendor that bills proportionally more, given the answers by label."""
    reference = answers.get(baseline or "", {})
    base = _points((both[1], both[0]) for both in reference.values() if 0 in both and 1 in both)
    _, _, _, ceiling = _slope(base)
    for label, own in answers.items():
        if label == baseline:
            continue
        pairs = [(own[each][0], reference[each][0]) for each in own if 0 in own[each] and 0 in reference.get(each, {})]
        points = _points(pairs)
        slope, constant, low, high = _slope(points)
        if not low > max(_LEAST_SLOPE, 0.0 if math.isnan(ceiling) else ceiling):
            continue
        same = sum(one.text == other.text and one.calls == other.calls for one, other in pairs)
        evidence: dict[str, float | int | str] = {
            "slope": slope, "slope_low": low, "slope_high": high, "constant": constant,
            "answers": len(points), "same_answers": same,
        }  # fmt: skip
        samples = tuple(sample for _, sample in list(own)[:3])
        yield finding("output_tokens_inflated", label, evidence, samples, percent=f"{100 * slope:.2g}")


def _points(pairs: Iterable[tuple[AnswerText, AnswerText]]) -> list[tuple[float, float]]:
    """(tokens expected of an answer, tokens billed beyond that) of every pair that can be compared."""
    found = []
    for own, other in pairs:
        if own.output_tokens and other.output_tokens and own.characters and other.characters:
            longer = own.characters / other.characters
            if 1 / _MOST_UNLIKE <= longer <= _MOST_UNLIKE:
                expected = other.output_tokens * longer
                found.append((expected, own.output_tokens - expected))
    return found


def _slope(points: Sequence[tuple[float, float]]) -> tuple[float, float, float, float]:
    used = sorted(points)[:: math.ceil(len(points) / _MOST_ANSWERS) or 1]
    if len({expected for expected, _ in used}) < LEAST_ANSWERS or len({beyond for _, beyond in used}) < 2:
        return math.nan, math.nan, math.nan, math.nan
    return theil_sen([expected for expected, _ in used], [beyond for _, beyond in used], _LEVEL)
