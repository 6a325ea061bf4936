"""The answer of one token: drawn anew at each asking from a distribution of the model and the question."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from msgspec import structs

from vendor_verifier.features.simulate.answer import Answer
from vendor_verifier.features.simulate.draws import chance, generator
from vendor_verifier.features.simulate.personas import Persona
from vendor_verifier.features.simulate.question import Question

# Answers of at most so many tokens, sampled at temperature 1, are one word.
_MOST_TOKENS = 16
_WORDS = ("red", "Oslo", "7", "42", "73", "otter", "K", "blue", "Lima", "plum", "Ada", "蓝", "17", "oak", "M", "Rome")
_SPREAD = 1.5
# Most tokens of a text are as good as settled and hardly diverge; those that are open, as here, do the more.
_OPEN_TOKENS = 4
# The standard deviation of a stated log-probability from one asking to the next.
_JITTER = 0.02


def is_for_one_token(question: Question) -> bool:
    """Whether a question asks for one word, sampled at temperature 1."""
    budget, parameters = question.max_tokens, question.turn.parameters
    return budget is not None and budget <= _MOST_TOKENS and parameters.get("temperature") == 1 and not question.tools


def with_drawn_token(question: Question, answer: Answer, persona: Persona, *, seed: int, asked: int) -> Answer:
    """The answer, or one word instead where that is what was asked for.

    It is drawn from the distribution of the persona's model at the temperature it uses; ``asked`` is how often it was
    asked, and makes the draw.
    """
    if not is_for_one_token(question):
        return answer
    dice = generator(seed, question.digest, "frequencies", persona.mind)
    weights = [math.exp(_SPREAD * dice.gauss(0.0, 1.0)) for _ in _WORDS]
    if persona.divergence:
        # Normal noise of this variance on log-probabilities diverges by half of it.
        spread = math.sqrt(2 * _OPEN_TOKENS * persona.divergence)
        noise = generator(seed, question.digest, "divergence", persona.name)
        weights = [weight * math.exp(spread * noise.gauss(0.0, 1.0)) for weight in weights]
    logprobs = _logprobs(weights, persona, generator(seed, question.digest, persona.name, "jitter", asked))
    if not persona.temperature_factor:
        weights = [float(weight == max(weights)) for weight in weights]
    weights = [weight ** (1 / (persona.temperature_factor or 1.0)) for weight in weights]
    left = chance(seed, question.digest, persona.name, "draw", asked) * sum(weights)
    word = _WORDS[-1]
    for each, weight in zip(_WORDS, weights, strict=True):
        left -= weight
        if left < 0:
            word = each
            break
    return structs.replace(answer, text=word, calls=(), finish="length", output_tokens=1, logprobs=logprobs)


def _logprobs(weights: Sequence[float], persona: Persona, dice: random.Random) -> tuple[tuple[str, float], ...]:
    """The persona's statement of its words' probabilities, a little off each time, as batching makes them."""
    if persona.logprobs == "invented":
        return tuple((word, math.log(0.5)) for word in _WORDS)
    told = [math.log(weight / sum(weights)) + _JITTER * dice.gauss(0.0, 1.0) for weight in weights]
    return tuple(sorted(zip(_WORDS, told, strict=True), key=lambda pair: -pair[1]))
