"""The chance in the simulated model's answers: words and arguments that are not its most likely ones.

At temperature 0, or without one, there is none: the same question has the same answer. Above it the answer varies with
how often the question was asked, as far as no schema and no right answer is touched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vendor_verifier.features.simulate.draws import chance, generator

# At temperature 1: of the words, those that another is taken for; of the calls, those with other arguments. About half
# of the answers are then byte for byte the same when asked again, as measured at real hosts.
_OTHER_WORDS = 0.05
_OTHER_ARGUMENTS = 0.3
_WORD = re.compile(r"[^\s.,:?]+")


@dataclass(frozen=True, slots=True)
class Sampling:
    """The temperature used for one answer, and the ``seed`` of its chance."""

    temperature: float
    seed: tuple[object, ...]

    def varied(self, text: str, words: Sequence[str]) -> str:
        """The text with some of its words replaced by others of ``words``."""
        if not self.temperature:
            return text
        dice = generator(*self.seed, "sampled words")
        rate = _OTHER_WORDS * self.temperature
        return _WORD.sub(lambda found: dice.choice(words) if dice.random() < rate else found[0], text)

    def way(self, index: int) -> tuple[object, ...]:
        """Words that seed the arguments of a call; none for the most likely arguments."""
        if chance(*self.seed, "way", index) >= _OTHER_ARGUMENTS * self.temperature:
            return ()
        return (*self.seed, index)


NO_CHANCE = Sampling(0.0, ())
