"""The suite ``identity``: asks short questions many times over for one token each, and strings to count their tokens.

A score says only that a token came; what all of them show is judged together, side against side, in
:mod:`vendor_verifier.audit.probes`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from vendor_verifier.errors import UsageError
from vendor_verifier.suites import Judgement
from vendor_verifier.suites.contract import SETTLED
from vendor_verifier.values.probes import LogprobsStatus
from vendor_verifier.values.record import Attempt
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import FeatureStatus, Score

NAME = "identity"
# The category of a sample that is a probe.
PROBE = "probe"
PROBES, SAMPLES = 60, 20
MOST_PROBES, MOST_SAMPLES = 500, 1_000
# With log-probabilities each answer tells the whole distribution, so that some of them do; and a vendor that refuses
# them refuses so many requests a probe, no more. Hosts differ in how many tokens they list: all that list any, so many.
WITH_LOGPROBS, LISTED = 5, 5
_LOGPROBS: Mapping[str, Any] = {"logprobs": True, "top_logprobs": LISTED}
_BLANK = "(blank)"
# A word of letters and digits; one sign alone of a script without blanks between words, or of none.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+|\S")


@dataclass(frozen=True, slots=True)
class IdentitySuite:
    """``probes`` questions are asked ``samples`` times each; ``logprobs`` are asked for beside some of the answers."""

    name: str = NAME
    probes: int = PROBES
    samples: int = SAMPLES
    logprobs: bool = False

    def __post_init__(self) -> None:
        for option, value, most in (("probes", self.probes, MOST_PROBES), ("samples", self.samples, MOST_SAMPLES)):
            if not 2 <= value <= most:
                raise UsageError(f"{self.name}: {option} is from 2 to {most}, read {value}")

    def play(self, sample: Sample) -> Generator[Turn, Attempt, Judgement]:
        """Ask with reasoning switched off where wire and vendor can, so that the first token is one that is shown.

        What a wire has no word for, or a vendor refuses, is left out, log-probabilities last.
        """
        plain, refused = sample.turn, []
        ways = [structs.replace(plain, thinking="off"), plain]
        if self._wants_logprobs(sample):
            ways = [_with_logprobs(way) for way in ways] + ways
        for way in ways:
            attempt = yield way
            if attempt.failure is None or attempt.failure.kind not in SETTLED:
                break
            refused.append(attempt.failure.kind)
        told = _logprobs(attempt, refused, way) if self._wants_logprobs(sample) else None
        return lambda: _score(self.name, attempt, told)

    def _wants_logprobs(self, sample: Sample) -> bool:
        number = sample.id.rpartition("-")[2]
        return self.logprobs and sample.tags.get("category") == PROBE and int(number) < WITH_LOGPROBS


def _with_logprobs(turn: Turn) -> Turn:
    return structs.replace(turn, parameters={**turn.parameters, **_LOGPROBS}, fixed=(*turn.fixed, *_LOGPROBS))


def _logprobs(attempt: Attempt, refused: Sequence[str], way: Turn) -> LogprobsStatus:
    """The fate of the log-probabilities asked for, given the kinds of the refusals before it."""
    if "logprobs" not in way.parameters:
        return "no_word" if set(refused[:2]) == {"untranslatable"} else "refused"
    if attempt.response is None or not attempt.succeeded or attempt.response.reasoning:
        return "absent"
    return "given" if attempt.response.first_logprobs else "absent"


def _score(name: str, attempt: Attempt, told: LogprobsStatus | None) -> Score:
    token = None if attempt.response is None or not attempt.succeeded else first_token(attempt.response.text)
    status: FeatureStatus = "not_measurable" if token is None else "kept"
    more = {} if told is None else {"logprobs": told}
    return Score(name, values={}, details={"check": name, "status": status, "evidence": token or "", **more})


def first_token(text: str) -> str | None:
    """The first visible word or sign of an answer, whatever more a wire's smallest output holds; None for no text."""
    found = _TOKEN.search(unicodedata.normalize("NFC", text))
    return found.group() if found else _BLANK if text else None
