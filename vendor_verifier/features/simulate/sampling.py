"""The chance in the simulated model's answers: words and arguments that are not its most likely ones.

At temperature 0, or without one, there is none: the same question has the same answer. Above it the answer varies with
how often the question was asked, as far as no schema and no right answer is touched.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import msgspec

from vendor_verifier.features.simulate.draws import chance, generator

# At temperature 1: of the words, those that another is taken for; of the calls, those with other arguments. About half
# of the answers are then byte for byte the same when asked again, as measured at real hosts.
_OTHER_WORDS = 0.05
_OTHER_ARGUMENTS = 0.3
# Of a model that diverges, some words have another likeliest one: so many for a divergence of 1 per token, at 1.3
# tokens a word and 8 nats for a word that the model would hardly have said. A call has some twenty tokens.
_SHIFTED_WORDS, _TOKENS_OF_CALL = 1.3 / 8, 20
_WORD = re.compile(r"[^\s.,:?]+")


class Sampling(msgspec.Struct, frozen=True):
    """The temperature used for one answer, the ``seed`` of its chance, and the divergence of the one who answers.

    The last part of ``seed`` is how often the question was asked; where it diverges does not depend on that.
    """

    temperature: float
    seed: tuple[object, ...]
    divergence: float = 0.0

    def varied(self, text: str, words: Sequence[str]) -> str:
        """The text with some of its words replaced by others of ``words``."""
        if self.divergence:
            shift = generator(*self.seed[:-1], "shifted words")
            text = _swapped(text, words, shift, _SHIFTED_WORDS * self.divergence)
        if self.temperature:
            text = _swapped(text, words, generator(*self.seed, "sampled words"), _OTHER_WORDS * self.temperature)
        return text

    def way(self, index: int) -> tuple[object, ...]:
        """Words that seed the arguments of a call; none for the most likely arguments."""
        if chance(*self.seed, "way", index) < _OTHER_ARGUMENTS * self.temperature:
            return (*self.seed, index)
        shifted = _TOKENS_OF_CALL * _SHIFTED_WORDS / 1.3 * self.divergence
        return (*self.seed[:-1], index) if chance(*self.seed[:-1], "shifted way", index) < shifted else ()


def _swapped(text: str, words: Sequence[str], dice: random.Random, rate: float) -> str:
    return _WORD.sub(lambda found: dice.choice(words) if dice.random() < rate else found[0], text)


NO_CHANCE = Sampling(0.0, ())
