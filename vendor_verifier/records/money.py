"""Prices, what was spent at them, and the point at which a cheaper vendor pays: values of the judgement."""

from __future__ import annotations

import msgspec

from vendor_verifier.records.estimate import Estimate


class Price(msgspec.Struct, frozen=True):
    """A vendor's prices per million tokens and per request, in ``currency``; ``rate`` is US dollars for one of it.

    ``cached`` falls back to ``input`` and ``reasoning`` to ``output``, as vendors bill them. ``source`` is where the
    price comes from.
    """

    input: float
    output: float
    cached: float | None = None
    reasoning: float | None = None
    request: float = 0.0
    currency: str = "USD"
    rate: float = 1.0
    source: str = "config"


class Money(msgspec.Struct, frozen=True):
    """The cost of a vendor's answers, in US dollars.

    ``wasted_usd`` is spent on retries of what succeeded in the end (``wasted_on_retries_usd``) and on what failed;
    ``per_answer_usd`` is what a record costs whose every attempt is used. ``unpriced`` counts attempts whose tokens are
    unknown: they may have been billed and are in no sum. ``reported_ratio`` = the vendor's own cost ÷ ours, over
    attempts with both; ``undiscounted_ratio`` the same with no token cached, ``None`` unless some were. ``total_usd``
    holds ``duplicates_usd`` too, of records that were made a second time after a worker was given up (``None`` without
    any). That is no answer and not the vendor's doing, so it is in no other figure. ``tokens`` are input and output of
    all priced attempts; ``monthly_usd`` is the cost of the buyer's own monthly volume, where it was said.
    """

    total_usd: float
    wasted_usd: float
    per_1000_requests_usd: float | None
    per_valid_call_usd: float | None
    requests: int
    valid_calls: int
    attempts: int
    unpriced: int
    reported_usd: float | None = None
    reported_ratio: float | None = None
    per_answer_usd: float | None = None
    wasted_on_retries_usd: float = 0.0
    undiscounted_ratio: float | None = None
    duplicates_usd: float | None = None
    tokens: int = 0
    monthly_usd: float | None = None


class BreakEven(msgspec.Struct, frozen=True):
    """The point at which the cheaper price of an answer is eaten by failures, retries and invalid calls.

    ``cheap`` asks less for an answer than ``dear``. ``per_answer`` = 1 − its price of an answer ÷ the other's, above 0;
    ``per_valid_call`` the same of a valid call, all attempts paid: the share of its valid calls that ``cheap`` may lose
    before both cost the same, below 0 when it is the dearer one already. ``mix``: output tokens per input token at
    which both price lists cost the same, ``None`` when one is cheaper at every mix.
    """

    cheap: str
    dear: str
    per_answer: float
    per_valid_call: Estimate
    mix: float | None = None
