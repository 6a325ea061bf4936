"""What a report shows beside figures: samples of single requests, histograms and examples; bounded, nothing is scored.

The bounds are the report's: a page stays small enough to mail however long the run was. What was left out is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

MAX_POINTS = 400
MAX_EXAMPLES = 20
MAX_CASES = 2_000

# How an example went wrong: the request failed, an argument broke its schema, a call that the baseline did not make
# (or the reverse), or an evaluation scored it badly.
ExampleKind = Literal["failure", "arguments", "called", "not_called", "evaluation"]


@dataclass(frozen=True, slots=True)
class Point:
    """One record on the run's time line: ``t_s`` seconds after the run's first request; ``ok`` when it succeeded."""

    t_s: float
    ttft_ms: float | None
    tps: float | None
    ok: bool


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts between neighbouring ``edges`` (one more edge than counts, ascending, a constant ratio apart)."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """One record that went wrong, cut to what fits on a page.

    ``reason`` is the failure kind, the argument class or the evaluation's own word; ``pointer`` the JSON pointer of the
    violation inside the arguments; ``prompt`` the last message asked; ``source`` says where the sample came from.
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


@dataclass(frozen=True, slots=True)
class Case:
    """How one record ended: ``seconds`` spent in its requests (waits between attempts left out), None if none was sent.

    ``failure`` is None for a success, else the kind.
    """

    suite: str
    sample: str
    repetition: int
    seconds: float | None
    failure: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class VendorDetails:
    """One entry's share: at most ``MAX_POINTS`` points in time order, ``MAX_EXAMPLES`` examples, ``MAX_CASES`` cases.

    ``histograms`` are by metric name (``ttft_ms``, ``tps``). ``records`` is what the samples were drawn from,
    ``examples_found`` how many records would have made an example.
    """

    points: tuple[Point, ...] = ()
    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    cases: tuple[Case, ...] = ()
    records: int = 0
    examples_found: int = 0


@dataclass(frozen=True, slots=True)
class ReportDetails:
    """Details by model and label. ``started_at`` is the UTC wall time of the first request, ISO 8601."""

    models: Mapping[str, Mapping[str, VendorDetails]]
    started_at: str | None = None
