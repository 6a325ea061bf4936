"""The answer of one token: drawn anew at each asking from a distribution of the model and the question."""

from __future__ import annotations

import math
from dataclasses import replace

from vendor_verifier.features.simulate.answer import Answer
from vendor_verifier.features.simulate.draws import chance, generator
from vendor_verifier.features.simulate.question import Question

# Answers of at most so many tokens, sampled at temperature 1, are one word.
_MOST_TOKENS = 16
_WORDS = ("red", "Oslo", "7", "42", "73", "otter", "K", "blue", "Lima", "plum", "Ada", "蓝", "17", "oak", "M", "Rome")
_SPREAD = 1.5


def with_drawn_token(question: Question, answer: Answer, *, seed: int, mind: str, vendor: str, asked: int) -> Answer:
    """The answer, or one word instead where that is what was asked for.

    ``mind`` is the model, whose distribution it is; ``vendor`` and ``asked``, how often it was asked, make the draw.
    """
    budget, parameters = question.max_tokens, question.turn.parameters
    if budget is None or budget > _MOST_TOKENS or parameters.get("temperature") != 1 or question.tools:
        return answer
    dice = generator(seed, question.digest, "frequencies", mind)
    weights = [math.exp(_SPREAD * dice.gauss(0.0, 1.0)) for _ in _WORDS]
    left = chance(seed, question.digest, vendor, "draw", asked) * sum(weights)
    word = _WORDS[-1]
    for each, weight in zip(_WORDS, weights, strict=True):
        left -= weight
        if left < 0:
            word = each
            break
    return replace(answer, text=word, calls=(), finish="length", output_tokens=1)
