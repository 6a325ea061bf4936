"""Whether a vendor's one-token answers come as often as the baseline's, and with the same stated probabilities."""

from __future__ import annotations

from typing import Literal

import msgspec

# What became of the log-probabilities asked for beside an answer: they came, the wire has no word for them, the vendor
# refused them, or the answer came without.
LogprobsStatus = Literal["given", "no_word", "refused", "absent"]


class ProbesTest(msgspec.Struct, frozen=True):
    """Whether a vendor's one-token answers to ``probes`` questions come as often as the baseline's, over ``n`` answers.

    ``z`` > 0: unlike the baseline; ``p_value`` is corrected for the number of vendors, ``raw_p_value`` is not.
    ``seen_mixture`` is the share of answers from another model that would be seen in 8 of 10 such runs; None where none
    would, or where it was seen.
    ``not_measurable`` names the reason where there is no test.
    """

    probes: int
    n: int = 0
    z: float | None = None
    p_value: float | None = None
    seen_mixture: float | None = None
    not_measurable: str | None = None
    raw_p_value: float | None = None


class LogprobsTest(msgspec.Struct, frozen=True):
    """Whether a vendor states the baseline's probabilities for first tokens, to ``probes`` questions, ``n`` answers.

    ``shift`` is how far the stated logarithms lie apart, in nats, chance taken off; ``baseline_shift`` the same between
    the baseline's own two askings; ``seen_shift`` would be seen in 8 of 10 such runs. ``z`` > 0: further apart than by
    chance; ``p_value`` shares one budget with the probes of the run, ``raw_p_value`` is not corrected; a shift that
    other kernels explain has 1. ``not_measurable`` names the reason where there is no test.
    """

    probes: int = 0
    n: int = 0
    z: float | None = None
    shift: float | None = None
    baseline_shift: float | None = None
    seen_shift: float | None = None
    p_value: float | None = None
    raw_p_value: float | None = None
    not_measurable: str | None = None
