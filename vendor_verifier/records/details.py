"""A bounded sample of a run for those who look closer: points, histograms, examples, compared answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

MAX_POINTS, MAX_EXAMPLES, MAX_CASES, MAX_ANSWERS = 400, 20, 2_000, 400

# A failed request, arguments against the schema, a call unlike the baseline's, a bad score of an evaluation.
ExampleKind = Literal["failure", "arguments", "called", "not_called", "evaluation"]
# ``cut``: the answer broke off; ``unknown``: one of both was not asked, or cannot be judged.
Agreement = Literal["agrees", "differs", "failed", "cut", "unknown"]


class Point(msgspec.Struct, frozen=True):
    """One record on the run's time line: ``t_s`` seconds after the run's first request; ``ok`` when it succeeded."""

    t_s: float
    ttft_ms: float | None
    tps: float | None
    ok: bool


class Histogram(msgspec.Struct, frozen=True):
    """Counts between neighbouring ``edges`` (one more edge than counts, ascending, a constant ratio apart)."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


class Example(msgspec.Struct, frozen=True):
    """One record that went wrong, cut to what fits on a page.

    ``reason`` is the failure kind, the argument class or the evaluation's own word; ``pointer`` the JSON pointer of the
    violation inside the arguments; ``prompt`` the last message asked; ``source`` is the sample's origin.
    """

    kind: ExampleKind
    reason: str
    suite: str
    sample: str
    repetition: int
    prompt: str
    reply: str
    expected: str | None = None
    message: str | None = None
    pointer: str | None = None
    source: str | None = None
    attempts: int = 1


class Case(msgspec.Struct, frozen=True):
    """The outcome of one record; ``failure`` is None for a success, else the kind.

    ``seconds`` were spent in its requests (waits between attempts left out), None if none was sent.
    """

    suite: str
    sample: str
    repetition: int
    seconds: float | None
    failure: str | None = None
    message: str | None = None


class ComparedAnswer(msgspec.Struct, frozen=True):
    """An entry's first answer to a sample beside the baseline's; the baseline's second beside its own first.

    It ``agrees`` where both decide alike about calling a tool, or score alike in an evaluation. ``token_ratio`` is the
    tokens it reports ÷ those of the baseline's answer.
    """

    suite: str
    sample: str
    agreement: Agreement
    token_ratio: float | None = None


class VendorDetails(msgspec.Struct, frozen=True):
    """One entry's share: at most ``MAX_POINTS`` points in time order, ``MAX_EXAMPLES`` examples, ``MAX_CASES`` cases,
    and ``MAX_ANSWERS`` answers, of the same samples for every entry.

    ``histograms`` are by metric name; ``records`` is what samples were drawn from, ``examples_found`` all examples.
    """

    points: tuple[Point, ...] = ()
    histograms: Mapping[str, Histogram] = {}
    examples: tuple[Example, ...] = ()
    cases: tuple[Case, ...] = ()
    answers: tuple[ComparedAnswer, ...] = ()
    records: int = 0
    examples_found: int = 0


class ReportDetails(msgspec.Struct, frozen=True):
    """Details by model and label. ``started_at`` is the UTC wall time of the first request, ISO 8601."""

    models: Mapping[str, Mapping[str, VendorDetails]]
    started_at: str | None = None
