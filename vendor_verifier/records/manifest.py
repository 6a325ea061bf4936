"""The manifest of a run: its entries, tasks, settings, versions and end, without any secret.

It is checked here and nowhere else. Only keys that are read are described: unknown ones are kept and
written again, because a later version may know more. A key that an earlier version or an importer leaves out has a
default; a missing key that no run can do without is refused with its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

MANIFEST_SCHEMA = 1
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_Number = Annotated[float, Meta(ge=-(2**53), le=2**53)]
_Strings = list[str]
Undecided = Literal["missed", "exclude"]
SchemaPolicy = Literal["lenient", "strict"]
BaselineF1 = Literal["fixed", "self"]


class UnreadableManifest(ValueError):
    """A text is no manifest; the message states the reason and the place."""


class EntryInfo(msgspec.Struct, frozen=True):
    """The facts of an entry that scoring uses: a line of the ranking without its endpoint, key or limits.

    ``repeat`` is the number of times it was asked everything, ``None`` for the run's own number. ``begun`` is the
    number of records started where none was planned (by a duration or a schedule): the last repetition may be a part.
    ``cap``: times that rank count from when requests were due, as the cap held others back;
    ``None``: from sending (see :class:`Offered`).
    """

    model: str
    label: str
    vendor: str
    model_id: str
    provider: str | None = None
    is_baseline: bool = False
    repeat: int | None = None
    begun: int | None = None
    cap: int | None = None


class StoredEntry(msgspec.Struct):
    """One vendor's entry in the run. ``repeat``, ``begun`` and ``whole``: see :class:`EntryInfo`."""

    model: str
    label: str
    vendor: str
    model_id: str
    provider: str | None = None
    is_baseline: bool = False
    repeat: Annotated[int, Meta(ge=1, le=2**31)] | None = None
    begun: _Count | None = None
    concurrency: _Count | None = None
    url: str | None = None
    wire: str | None = None
    key_name: str | None = None
    account: str | None = None
    price: dict[str, float | str | None] | None = None
    parameters: dict[str, Any] = {}
    extra_body: dict[str, Any] | None = None
    extra_headers: _Strings = []

    @property
    def key(self) -> tuple[str, str]:
        """(model, label), which no other entry has."""
        return self.model, self.label


class StoredTask(msgspec.Struct):
    """One evaluation of the run; ``not_run`` are categories by task of a job, with the reason."""

    suite: str
    options: dict[str, Any]
    skipped: _Strings
    defects: _Strings
    count: _Count = 0
    file: str | None = None
    sha256: str | None = None
    not_run: dict[str, Any] = {}


class StoredLoad(msgspec.Struct):
    """The load shape; of a schedule only the number of requests and the length."""

    request_rate: _Number | None = None
    arrival: str | None = None
    ramp_up_s: _Number = 0
    warmup: _Count = 0
    duration_s: _Number | None = None
    schedule: dict[str, _Number] | None = None


class StoredSettings(msgspec.Struct):
    """The settings of sending: repetitions, seeds, concurrency and load.

    ``question_seed`` is the one from which the questions of this run were made; None where none were made.
    """

    repeat: Annotated[int, Meta(ge=1, le=2**31)]
    seed: int | None = None
    question_seed: int | None = None
    request_concurrency: _Count | None = None
    vendor_concurrency: _Count | None = None
    load: StoredLoad | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests were due by the clock."""
        return self.load is not None and bool(self.load.request_rate or self.load.schedule)


class ScoreRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of scoring.

    ``rank_metrics`` join the six of IRF (a suite's name means its main score). ``gates`` are thresholds or names
    of presets; ``model_gates`` replace them for models that have gates of their own. ``baseline_f1`` is the baseline's
    F1 in the ranking: 1.0 as published, or its own against its other runs. ``slos`` are thresholds for every single
    request. One of ``monthly_requests`` and ``monthly_tokens`` is the buyer's own volume, at which costs are shown.
    """

    undecided: Undecided = "missed"
    schema_policy: SchemaPolicy = "lenient"
    rank_metrics: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    baseline_f1: BaselineF1 = "fixed"
    model_gates: dict[str, tuple[str, ...]] = {}
    slos: tuple[str, ...] = ()
    monthly_requests: int | None = None
    monthly_tokens: int | None = None

    def gates_of(self, model: str) -> tuple[str, ...]:
        """The gates of the vendors of ``model``."""
        return self.model_gates.get(model, self.gates)


class Offered(msgspec.Struct):
    """One entry's offered load: requests started, delayed and warmed up, and our own lag.

    ``by_schedule``: a cap that the user set held some of them back, so that times of the run that rank count from when
    requests were due.
    """

    begun: _Count
    cap: _Count
    held_back: _Count
    warmup: _Count
    warmup_failed: _Count
    lag_p99_ms: _Number | None
    by_schedule: bool = False


class Loss(msgspec.Struct):
    """A worker that was lost before the end."""

    session: str
    reason: str


class StoredExecutor(msgspec.Struct):
    """The executor of one session; ``beside``: concurrent runs that asked the same accounts, with labels.

    ``workers`` are the processes or machines that sent, none where it was the command itself; ``cores`` are those here.
    """

    name: str | None = None
    cores: _Count | None = None
    workers: list[Any] = []
    lost_sessions: list[Loss] = []
    beside: dict[str, _Strings] | None = None


class StoredLoop(msgspec.Struct):
    """The event loop's lag and its share of a core."""

    p99_ms: _Number | None = None
    max_ms: _Number | None = None
    core_share: _Number | None = None


class Lowered(msgspec.Struct):
    """The concurrency of an account that was lowered because of the vendor's rate limit."""

    given: _Count
    lowest: _Count
    last: _Count


class Tool(msgspec.Struct):
    """The program that made the run."""

    name: str | None = None
    version: str | None = None


class Manifest(msgspec.Struct, kw_only=True):
    """A manifest as typed values, with ``raw`` as it is stored."""

    run: str
    entries: list[StoredEntry]
    tasks: list[StoredTask]
    settings: StoredSettings
    schema: int = MANIFEST_SCHEMA
    created_at: str | None = None
    status: str = ""
    score: ScoreRequest = ScoreRequest()
    identity: dict[str, Any] | None = None
    warnings: _Strings = []
    stopped: dict[str, str] = {}
    resent: dict[str, _Count] | None = None
    redacted: bool = False
    limit: str | None = None
    concurrency_lowered: dict[str, Lowered] = {}
    event_loop: StoredLoop | None = None
    load: dict[str, Offered] | None = None
    executors: list[StoredExecutor] | None = None
    tool: Tool | None = None
    packages: dict[str, str | None] | None = None
    raw: dict[str, Any] = msgspec.field(name="as stored", default_factory=dict)

    def changed(self, **keys: Any) -> Manifest:
        """The manifest with other values of some stored keys."""
        # A sentence of the catalogue is a str with attributes that are not stored: it is stored as plain text.
        return manifest_of({**self.raw, **msgspec.to_builtins(keys, enc_hook=str)})

    @property
    def suites(self) -> tuple[str, ...]:
        """The names of its evaluations."""
        return tuple(task.suite for task in self.tasks)

    @property
    def is_by_doing(self) -> bool:
        """Whether the number of requests was not planned: the run lasted a stated time, or followed a schedule."""
        load = self.settings.load
        return load is not None and (load.duration_s is not None or bool(load.schedule))

    @property
    def infos(self) -> tuple[EntryInfo, ...]:
        """The entries as scoring takes them."""
        names = [name for name in EntryInfo.__struct_fields__ if name != "cap"]
        return tuple(
            EntryInfo(**{name: getattr(entry, name) for name in names}, cap=self._cap(entry)) for entry in self.entries
        )

    def _cap(self, entry: StoredEntry) -> int | None:
        """The cap on an entry's requests in flight where times that rank count from the schedule."""
        load = self.load or {}
        if not self.ranks_by_schedule:
            return None
        name = f"{entry.model}: {entry.label}"
        return max(1, load[name].cap if name in load else max(each.cap for each in load.values()))

    @property
    def ranks_by_schedule(self) -> bool:
        """Whether times rank by what was waited from when requests were due: for all of the run, as like is compared
        with like."""
        return any(offered.by_schedule for offered in (self.load or {}).values())


def manifest_of(raw: Mapping[str, Any]) -> Manifest:
    """The manifest with these keys.

    Raises:
        UnreadableManifest: a key is missing or has a wrong value; with the place.
    """
    try:
        manifest = msgspec.convert(raw, Manifest)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UnreadableManifest(f"is damaged, or no run of this tool: {error}") from None
    if manifest.schema > MANIFEST_SCHEMA:
        raise UnreadableManifest(
            f"is of schema {manifest.schema}, newer than this program's {MANIFEST_SCHEMA}; use a newer version"
        )
    manifest.raw = dict(raw)
    return manifest


def load_text(load: Mapping[str, Any]) -> str:
    """A stored load shape in words, such as ``50 requests per second (poisson) for 60 s``."""
    schedule = load.get("schedule")
    if schedule:
        words = f"a schedule of {schedule['count']:g} requests in {schedule['last_s']:g} s"
    elif load.get("request_rate"):
        words = f"{load['request_rate']:g} requests per second ({load['arrival']})"
    else:
        words = "fixed concurrency"
    if load.get("duration_s") is not None:
        words += f" for {load['duration_s']:g} s"
    if load.get("ramp_up_s"):
        words += f", ramp-up {load['ramp_up_s']:g} s"
    return words + (f", {load['warmup']} warm-up requests" if load.get("warmup") else "")
