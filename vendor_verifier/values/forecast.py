"""What a run would take, before anything is sent: requests, tokens, money and time as plain values; nothing is counted
here. Tokens are estimates by size, never a tokenizer's.
"""

from __future__ import annotations

from dataclasses import dataclass

from vendor_verifier.values.judgement import Price


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What has to be supposed because nobody knows it yet.

    ``ceiling`` is the baseline's self-F1, ``prevalence`` the share (0..1) of samples with a call, ``drop`` the fall of
    F1 somebody wants to see. ``answer_tokens`` and ``answer_s`` are those of one answer.
    """

    bytes_per_token: float = 4.0
    answer_tokens: int = 200
    answer_s: float = 5.0
    ceiling: float = 0.95
    prevalence: float = 0.5
    drop: float = 0.02


@dataclass(frozen=True, slots=True)
class EntryForecast:
    """One line of the ranking.

    ``requests`` are without retries. ``output_ceiling_tokens`` is what the requests' own ``max_tokens`` allow, ``None``
    when one of them has no limit; so is ``cost_ceiling_usd`` then, or when the ``price`` is not known. ``concurrency``
    is only the most of an open loop, ``is_open``.
    """

    model: str
    label: str
    is_baseline: bool
    records: int
    requests: int
    concurrency: int
    input_tokens: int
    output_tokens: int
    output_ceiling_tokens: int | None
    duration_s: float
    price: Price | None = None
    cost_usd: float | None = None
    cost_ceiling_usd: float | None = None
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Forecast:
    """A whole run. ``detectable_drop`` (of F1, 0..1) and ``samples_for_drop`` are ``None`` where no trigger samples are
    asked; ``cost_usd`` sums the entries whose price is known, ``unpriced`` counts the others."""

    entries: tuple[EntryForecast, ...]
    assumptions: Assumptions
    requests: int
    retries: int
    duration_s: float
    cost_usd: float
    cost_ceiling_usd: float | None
    unpriced: int
    trigger_samples: int = 0
    detectable_drop: float | None = None
    samples_for_drop: int | None = None
    max_requests: int | None = None
    max_cost_usd: float | None = None
