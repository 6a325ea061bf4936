"""The manifest of a run: its entries, tasks, settings, versions and end, without any secret.

It is written and read as these structs; a key that is missing, or has a wrong value, is refused with its place.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from vendor_verifier.records.plan import Limits, LoadShape, Price, RetryRules
from vendor_verifier.records.request import Count

_Repeat = Annotated[int, Meta(ge=1, le=2**31)]
_Number = Annotated[float, Meta(ge=-(2**53), le=2**53)]
Undecided = Literal["missed", "exclude"]
SchemaPolicy = Literal["lenient", "strict"]
BaselineF1 = Literal["fixed", "self"]


class EntryInfo(msgspec.Struct, frozen=True):
    """One vendor's entry in the run: a line of the ranking. ``repeat`` is the number of times it was asked everything,
    ``begun`` the number of records started where none was planned."""

    model: str
    label: str
    vendor: str
    model_id: str
    provider: str | None = None
    is_baseline: bool = False
    repeat: _Repeat | None = None
    begun: Count | None = None
    concurrency: Count | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    url: str | None = None
    wire: str | None = None
    key_name: str | None = None
    account: str | None = None
    price: Price | None = None
    parameters: dict[str, Any] = {}
    extra_body: dict[str, Any] = {}
    extra_headers: list[str] = []

    @property
    def key(self) -> tuple[str, str]:
        """(model, label), which no other entry has."""
        return self.model, self.label

    @property
    def name(self) -> str:
        """Its key in the manifest's tables, such as ``model: label``."""
        return f"{self.model}: {self.label}"


class StoredTask(msgspec.Struct, frozen=True):
    """One evaluation of the run. ``asked`` is a digest of the ids of its samples, ``source`` the address of its
    ``file``. ``not_run`` are categories by task of a job, with the reason."""

    suite: str
    options: dict[str, Any] = {}
    skipped: list[str] = []
    defects: list[str] = []
    count: Count = 0
    asked: str = ""
    file: str | None = None
    sha256: str | None = None
    source: str | None = None
    not_run: dict[str, dict[str, str]] = {}
    job: dict[str, Any] = {}


class StoredSettings(msgspec.Struct, frozen=True):
    """The settings of sending. ``question_seed`` is the one from which the questions of this run were made; None where
    none were made. ``stated`` are the settings that the user gave."""

    repeat: _Repeat
    baseline_repeats: _Repeat | None = None
    seed: int | None = None
    question_seed: int | None = None
    client: str | None = None
    request_concurrency: Count | None = None
    vendor_concurrency: Count | None = None
    load: LoadShape | None = None
    limits: Limits | None = None
    retry: RetryRules | None = None
    max_requests: Count | None = None
    max_cost_usd: _Number | None = None
    stated: dict[str, Any] = {}

    @property
    def is_open(self) -> bool:
        """Whether requests were due by the clock."""
        return self.load is not None and self.load.is_open


class ScoreRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of scoring.

    ``rank_metrics`` join the six of IRF (a suite's name means its main score). ``gates`` are thresholds or names
    of presets; ``model_gates`` replace them for models that have gates of their own. ``baseline_f1`` is the baseline's
    F1 in the ranking: 1.0 as published, or its own against its other runs. ``slos`` are thresholds for every single
    request.
    """

    undecided: Undecided = "missed"
    schema_policy: SchemaPolicy = "lenient"
    rank_metrics: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    baseline_f1: BaselineF1 = "fixed"
    model_gates: dict[str, tuple[str, ...]] = {}
    slos: tuple[str, ...] = ()

    def gates_of(self, model: str) -> tuple[str, ...]:
        """The gates of the vendors of ``model``."""
        return self.model_gates.get(model, self.gates)


class LoadReport(msgspec.Struct):
    """The load offered to one entry: ``begun`` plays in ``repetitions`` of the samples, without the warm-up.
    ``held_back`` of them found ``cap`` others in flight when due. ``lag_p99_ms`` is from due to sent, None in a closed
    loop."""

    begun: Count = 0
    repetitions: Count = 0
    cap: Count = 0
    held_back: Count = 0
    warmup: Count = 0
    warmup_failed: Count = 0
    lag_p99_ms: _Number | None = None


class LoopReport(msgspec.Struct, frozen=True):
    """The lag of the event loop, None where not watched for long enough. ``core_share`` is CPU ÷ wall seconds."""

    p99_ms: _Number | None = None
    max_ms: _Number | None = None
    core_share: _Number | None = None


class Loss(msgspec.Struct, frozen=True):
    """A worker that was lost before the end."""

    session: str
    reason: str


class Executor(msgspec.Struct, frozen=True):
    """The executor of one session: ``workers`` sent, none where it was the command itself; ``refused`` could not."""

    name: str | None = None
    cores: Count | None = None
    workers: list[dict[str, Any]] = []
    refused: list[str] = []
    lost_sessions: list[Loss] = []
    error: str | None = None


class Tool(msgspec.Struct, frozen=True):
    """The program that made the run."""

    name: str | None = None
    version: str | None = None


class Manifest(msgspec.Struct, kw_only=True, frozen=True):
    """The manifest. ``load``, ``stopped`` and ``concurrency_lowered`` are by the entry's ``name``.

    ``concurrency_lowered`` is what an account was given, the lowest, and that at the end, where a vendor limited our
    rate. ``ranks_by_schedule``: times that rank count from when requests were due. ``imported`` are name and digest of
    other people's files, by label.
    """

    schema: Literal[1] = 1
    run: str
    tool: Tool | None = None
    python: str | None = None
    platform: str | None = None
    packages: dict[str, str | None] = {}
    created_at: str | None = None
    finished_at: str | None = None
    status: str = ""
    entries: list[EntryInfo]
    tasks: list[StoredTask]
    settings: StoredSettings
    score: ScoreRequest = ScoreRequest()
    warnings: list[str] = []
    stopped: dict[str, str] = {}
    redacted: bool = False
    limit: str | None = None
    concurrency_lowered: dict[str, tuple[Count, Count, Count]] = {}
    event_loop: LoopReport | None = None
    load: dict[str, LoadReport] | None = None
    ranks_by_schedule: bool = False
    executors: list[Executor] = []
    imported: dict[str, dict[str, str]] = {}

    @property
    def suites(self) -> tuple[str, ...]:
        """The names of its evaluations."""
        return tuple(task.suite for task in self.tasks)

    @property
    def is_by_doing(self) -> bool:
        """Whether the number of requests was not planned: the run lasted a stated time."""
        load = self.settings.load
        return load is not None and load.is_timed
