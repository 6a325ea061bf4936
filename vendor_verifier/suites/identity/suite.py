"""The suite ``identity``: asks short questions many times over for one token each, and strings to count their tokens.

A score says only that a token came; what all of them show is judged together, side against side, in
:mod:`vendor_verifier.audit.probes`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Generator
from dataclasses import dataclass, replace

from vendor_verifier.errors import UsageError
from vendor_verifier.suites import Judgement
from vendor_verifier.suites.contract import SETTLED
from vendor_verifier.values.record import Attempt
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import FeatureStatus, Score

NAME = "identity"
PROBES, SAMPLES = 60, 20
MOST_PROBES, MOST_SAMPLES = 500, 1_000
_BLANK = "(blank)"
# A word of letters and digits; one sign alone of a script without blanks between words, or of none.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+|\S")


@dataclass(frozen=True, slots=True)
class IdentitySuite:
    """``probes`` questions are asked ``samples`` times each."""

    name: str = NAME
    probes: int = PROBES
    samples: int = SAMPLES

    def __post_init__(self) -> None:
        for option, value, most in (("probes", self.probes, MOST_PROBES), ("samples", self.samples, MOST_SAMPLES)):
            if not 2 <= value <= most:
                raise UsageError(f"{self.name}: {option} is from 2 to {most}, read {value}")

    def play(self, sample: Sample) -> Generator[Turn, Attempt, Judgement]:
        """Ask with reasoning switched off where wire and vendor can, so that the first token is one that is shown."""
        attempt = yield replace(sample.turn, thinking="off")
        if attempt.failure is not None and attempt.failure.kind in SETTLED:
            attempt = yield sample.turn
        return lambda: _score(self.name, attempt)


def _score(name: str, attempt: Attempt) -> Score:
    token = None if attempt.response is None or not attempt.succeeded else first_token(attempt.response.text)
    status: FeatureStatus = "not_measurable" if token is None else "kept"
    return Score(name, values={}, details={"check": name, "status": status, "evidence": token or ""})


def first_token(text: str) -> str | None:
    """The first visible word or sign of an answer, whatever more a wire's smallest output holds; None for no text."""
    found = _TOKEN.search(unicodedata.normalize("NFC", text))
    return found.group() if found else _BLANK if text else None
