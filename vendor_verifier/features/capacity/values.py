"""Values of a capacity search: what was asked, levels, limits, the curve and how its search ended.

``None`` is "not measured", or "no such level".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.pipeline.options import (
    DASK_HANG_AFTER,
    DASK_LOCAL,
    DASK_SCHEDULER,
    EXECUTOR,
    INSECURE_CLUSTER,
    JUDGE,
    MODEL,
    OUTPUT,
    PACE,
    WHAT,
    RunOptions,
    flag,
    many,
    option,
)
from vendor_verifier.values.estimate import Estimate
from vendor_verifier.values.judgement import Threshold
from vendor_verifier.values.plan import Arrival, ExecutorChoice, ExecutorName, TransportName, WorkersWish

# The quantity raised from level to level: requests in flight, or requests started a second.
LoadKind = Literal["concurrency", "rate"]
# unloaded: the reference, asked twice; level: under load; afterwards: unloaded again, when something gave way.
Stage = Literal["unloaded", "level", "afterwards"]
# kept: the whole interval keeps the limit; met: the figure does, the interval reaches over; missed: the figure misses
# it, the interval reaches over; broken: the whole interval misses it; unmeasured: there is no figure.
LimitOutcome = Literal["kept", "met", "missed", "broken", "unmeasured"]
# client: something was missed or broken while our own process was the limit; cut: the level was not sent to its end.
LevelOutcome = Literal["holds", "undecided", "broken", "client", "cut"]
# edge: between a level that holds and one that does not; highest: every level up to the highest holds; client: nothing
# can be said above; unloaded: a limit is missed without any load; drifted: a limit is missed without load afterwards;
# workers: a level could not be measured, because workers of ours were lost; the others: the budget that ran out, or the
# cause of the stop.
EndReason = Literal[
    "edge", "highest", "client", "unloaded", "drifted", "requests", "cost", "time", "stopped", "interrupted", "workers"
]
# The subjects of limits, in the order in which causes are named: refusals explain failures, failures everything else.
Aspect = Literal["rate_limit", "success", "latency", "speed", "quality", "other"]


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """The bounds of a search: not above ``highest``, no finer than ``step`` of a level, within ``max_requests``.

    ``step`` is a share; levels of concurrency are whole numbers and never nearer than 1. ``samples`` is how many
    questions there are, ``per_place`` how many requests a level needs for each one in flight; ``more`` is how many
    times as many may be sent to a level that stays undecided. ``sweep`` are the levels, in rising order, where
    they are given and not looked for.
    """

    kind: LoadKind
    highest: float
    samples: int
    max_requests: int
    step: float = 0.1
    per_place: int = 4
    more: int = 3
    sweep: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """One level as the search sees it: how it came out, and how many requests it took in all."""

    level: float
    outcome: LevelOutcome
    requests: int


@dataclass(frozen=True, slots=True)
class Step:
    """Send ``repetitions`` of every sample at ``level``, after those it has had already."""

    level: float
    repetitions: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The search is over. ``capacity`` is the highest level that holds below every one that does not."""

    reason: EndReason
    capacity: float | None


@dataclass(frozen=True, slots=True)
class Session:
    """One session of sending at one level, with the facts that no record holds.

    ``name`` marks its records (``run``); ``repetitions`` are what it sent, from ``first_repetition`` on. ``lag_p99_ms``
    and ``core_share`` are of our own process, the worst of ``processes``, ``None`` where it was watched for too short;
    ``client_limited`` is what they mean: times are not the vendor's alone. ``cut`` is the reason for an early end,
    ``words`` its sentence. Where workers of ours were ``lost`` the load was another one, and nothing of it is judged.
    """

    name: str
    stage: Stage
    level: float
    first_repetition: int
    repetitions: int
    requests: int
    processes: int = 1
    lag_p99_ms: float | None = None
    core_share: float | None = None
    client_limited: bool = False
    cut: EndReason | None = None
    words: str | None = None
    lost: int = 0

    @property
    def is_aside(self) -> bool:
        """Whether the level was sent once more in its place."""
        return bool(self.lost) and self.cut is None


@dataclass(frozen=True, slots=True)
class LimitVerdict:
    """One limit held against one level. ``estimate`` is what was compared: value − ceiling, or value ÷ the figure
    without load, if the limit is relative."""

    threshold: Threshold
    aspect: Aspect
    outcome: LimitOutcome
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Point:
    """One level of the curve.

    ``requests_per_s`` are answered ones ÷ seconds from the first sending to the last end, ``tokens_per_s`` the output
    tokens of all of them, ``tps`` one answer's speed. ``in_flight`` is the mean over those seconds. ``f1`` compares
    with the vendor's own unloaded answers, over what was answered.
    """

    stage: Stage
    level: float
    requests: int
    succeeded: int
    rate_limited: int
    failures: Mapping[str, int]
    outcome: LevelOutcome
    limits: tuple[LimitVerdict, ...] = ()
    ttft_p50_ms: float | None = None
    ttft_p95_ms: float | None = None
    e2e_p50_ms: float | None = None
    tps: float | None = None
    seconds: float | None = None
    requests_per_s: float | None = None
    tokens_per_s: float | None = None
    in_flight: float | None = None
    f1: float | None = None
    schema_accuracy: float | None = None
    lag_p99_ms: float | None = None
    core_share: float | None = None
    client_limited: bool = False
    cut: EndReason | None = None

    @property
    def power(self) -> float | None:
        """Answers a second ÷ seconds of the median answer (Kleinrock, ICC 1979), over answers that came."""
        if self.requests_per_s is None or not self.e2e_p50_ms:
            return None
        return self.requests_per_s / (self.e2e_p50_ms / 1000)

    @property
    def missed(self) -> tuple[LimitVerdict, ...]:
        """The limits that the figures miss, the first cause first."""
        return tuple(limit for limit in self.limits if limit.outcome in ("missed", "broken"))


@dataclass(frozen=True, slots=True)
class Fall:
    """A figure that surely falls under load and stays within its limit: ``unloaded`` → ``loaded`` from ``level`` on."""

    metric: str
    level: float
    unloaded: float
    loaded: float


@dataclass(frozen=True, slots=True)
class VendorCapacity:
    """The capacity of one vendor. ``points``: the unloaded one, then the levels in rising order.

    ``gave_way`` are the limits missed at the lowest level that does not hold, ``broke_at``; ``notes`` say in words what
    else a reader must know. ``sittings``, a key of capacity.json, are the sessions in order. ``knee``: the level beyond
    which more load costs more time than it brings answers; None where no level tried lies beyond one.
    """

    model: str
    label: str
    vendor: str
    capacity: float | None
    reason: EndReason
    points: tuple[Point, ...] = ()
    broke_at: float | None = None
    gave_way: tuple[LimitVerdict, ...] = ()
    afterwards: Point | None = None
    requests: int = 0
    notes: tuple[str, ...] = ()
    sittings: tuple[Session, ...] = ()
    knee: float | None = None
    falls: tuple[Fall, ...] = ()


@dataclass(frozen=True, slots=True)
class CapacityReport:
    """Every vendor's curve, ready for any renderer. ``arrival`` is how requests of a rate follow each other."""

    run: str
    created_at: str
    version: str
    bounds: SearchBounds
    thresholds: tuple[Threshold, ...]
    seed: int
    vendors: tuple[VendorCapacity, ...]
    arrival: str | None = None
    at_least: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def kind(self) -> LoadKind:
        return self.bounds.kind


# The unloaded level is asked twice, so that a vendor's own noise is known.
UNLOADED_REPEATS = 2
# How often each place is filled at a level, or for how many seconds a rate is kept up.
FILLED: Mapping[LoadKind, int] = {"concurrency": 4, "rate": 10}


_AT_LEAST_1 = Number(gte=1)
_EXECUTOR = ExecutorChoice()
_POSITIVE = Number(gt=0)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CapacityOptions:
    """Everything ``capacity`` takes."""

    test_file_path: Annotated[
        str | None, option("Read samples from a file, hf://… or URL. [default: shipped]", WHAT)
    ] = None
    config_file_path: Annotated[Path, option("Read models and vendors from here.", WHAT)] = Path("config.yaml")
    env_file: Annotated[Path | None, option("Read API keys from here. [default: .env beside the config]", WHAT)] = None
    model: Annotated[tuple[str, ...], many("Ask for this model only (repeatable).", WHAT)] = ()
    vendor: Annotated[tuple[str, ...], many("Ask this vendor or label only (repeatable).", WHAT)] = ()
    vendor_path: Annotated[tuple[Path, ...], many("Load vendor plugins from this folder (repeatable).", WHAT)] = ()
    limit: Annotated[int, option("Ask only N samples, of all kinds.", WHAT, "--limit", "-n", check=_AT_LEAST_1)] = 50
    head: Annotated[bool, flag("Take the first --limit samples.", WHAT)] = False
    seed: Annotated[int, option("Order by this seed, and simulate by it.", WHAT)] = 0
    from_folder: Annotated[Path | None, option("Judge a stored search again; send nothing.", WHAT, "--from")] = None
    by: Annotated[LoadKind, option("Raise requests in flight, or begun a second.", PACE)] = "concurrency"
    arrival: Annotated[Arrival | None, option("Space a rate evenly or at random. [default: poisson]", PACE)] = None
    up_to: Annotated[float, option("Try no higher level.", PACE, check=_AT_LEAST_1)] = 64
    sweep: Annotated[str | None, option("Try exactly these levels: 1,2,4,8,16.", PACE)] = None
    step: Annotated[float, option("Come so near to the edge, 0.1 = 10 %.", PACE, check=Number(gt=0, lte=1))] = 0.1
    max_requests: Annotated[int, option("Send each vendor no more than N requests.", PACE, check=_AT_LEAST_1)] = 2000
    max_cost: Annotated[
        float | None, option("Stop when about so many US dollars are spent.", PACE, check=_POSITIVE)
    ] = None
    max_seconds: Annotated[float, option("Spend at most so many seconds a vendor.", PACE, check=_POSITIVE)] = 1800
    timeout: Annotated[float, option("End an attempt after so many seconds.", PACE, check=_POSITIVE)] = 600
    first_token_timeout: Annotated[
        float, option("Wait so many seconds for the first token.", PACE, check=_POSITIVE)
    ] = 120
    transport: Annotated[TransportName, option("Send by this HTTP client.", PACE)] = "fast"
    workers: Annotated[
        WorkersWish | None, option("Send levels from N processes here. [default: as many as it takes]", PACE)
    ] = None
    executor: Annotated[ExecutorName, EXECUTOR] = _EXECUTOR.name
    dask_scheduler: Annotated[str | None, DASK_SCHEDULER] = None
    dask_local: Annotated[int | None, DASK_LOCAL] = None
    dask_hang_after: Annotated[float, DASK_HANG_AFTER] = _EXECUTOR.hang_after_s
    insecure_cluster: Annotated[bool, INSECURE_CLUSTER] = False
    temperature: Annotated[
        float | None, option("Sample at this temperature, 0 to 2.", MODEL, check=Number(gte=0, lte=2))
    ] = None
    max_tokens: Annotated[int | None, option("Allow so many output tokens.", MODEL, check=_AT_LEAST_1)] = None
    slo: Annotated[tuple[str, ...], many('Hold a level to this: "avg_ttft_ms.p95 <= 2000".', JUDGE)] = ()
    at_least: Annotated[float | None, option("Exit 1 unless all bear this.", JUDGE, check=_POSITIVE)] = None
    output_dir: Annotated[
        Path | None,
        option("Write into this folder. [default: runs/<timestamp>-capacity]", OUTPUT, "--output-dir", "-o"),
    ] = None
    quiet: Annotated[bool, flag("Print no progress on stderr.", OUTPUT, "--quiet", "-q")] = False
    json: Annotated[bool, flag("Print capacity.json instead of tables.", OUTPUT)] = False

    def of_run(self) -> RunOptions:
        """The options that a search has in common with a run; rates and repetitions it sets itself."""
        return RunOptions(
            config_file_path=self.config_file_path,
            test_file_path=self.test_file_path,
            env_file=self.env_file,
            vendor_path=self.vendor_path,
            model=self.model,
            vendor=self.vendor,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            timeout=self.timeout,
            first_token_timeout=self.first_token_timeout,
            limit=self.limit,
            head=self.head,
            seed=self.seed,
            output_dir=self.output_dir,
            transport=self.transport,
            workers=self.workers,
            executor=self.executor,
            dask_scheduler=self.dask_scheduler,
            dask_local=self.dask_local,
            dask_hang_after=self.dask_hang_after,
            insecure_cluster=self.insecure_cluster,
            baseline_repeats=1,
        )
