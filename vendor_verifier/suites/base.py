"""The protocol of a suite: a pure generator over a sample, the same against a network, a file or a list.

``play`` yields the turn to send and is sent back the final :class:`Attempt` of that turn (a failure is an attempt too);
it may yield again, and returns its judgement: a function that gives the :class:`Score` when it is called. A run never
calls it, so no scoring happens while streams are being timed. A play never sees a clock, a socket or another sample.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Protocol

from vendor_verifier.values.record import Attempt, Record
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Score

Judgement = Callable[[], Score]
Play = Generator[Turn, Attempt, Judgement]


class Suite(Protocol):
    """One evaluation. Instances are immutable; options are constructor arguments."""

    @property
    def name(self) -> str: ...

    def play(self, sample: Sample) -> Play:
        """Yield each turn to send, take its final attempt, and return the judgement."""


def replay(play: Play, answers: Iterator[Attempt]) -> Score | None:
    """Drive a play with recorded attempts; None when the recording ends before the play does."""
    try:
        next(play)
        while True:
            attempt = next(answers, None)
            if attempt is None:
                play.close()
                return None
            play.send(attempt)
    except StopIteration as end:
        judgement: Judgement = end.value
        return judgement()


def judged(record: Record, suite: Suite, sample: Sample) -> Score:
    """The score of one record: stored with it, else found by playing again; an unfinished recording decides nothing."""
    if record.score is not None:
        return record.score
    finals = (turn.attempts[-1] for turn in record.turns if turn.attempts)
    return replay(suite.play(sample), finals) or Score(suite.name)
