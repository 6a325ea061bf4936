"""The plan of a run: its entries, tasks, repetitions and limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import msgspec
from msgspec import structs

from vendor_verifier.records.request import BUDGETS, Amount, Count, Endpoint, Turn
from vendor_verifier.records.sample import Sample

# The client that sends: our own transport, or the official SDKs as an application would use them.
ClientName = Literal["direct", "sdk"]

# The arrival of an open loop's requests: at even intervals, or at random (a Poisson process).
Arrival = Literal["constant", "poisson"]

# An address of a simulated vendor, which is served when the run begins.
SIMULATED = "sim://"


class Price(msgspec.Struct, frozen=True):
    """A vendor's prices per million tokens and per request, in ``currency``; ``rate`` is US dollars for one of it. As
    vendors bill them, ``cached`` falls back to ``input`` and ``reasoning`` to ``output``. ``source`` is where the price
    comes from."""

    input: float
    output: float
    cached: float | None = None
    reasoning: float | None = None
    request: float = 0.0
    currency: str = "USD"
    rate: float = 1.0
    source: str = "config"


class Entry(msgspec.Struct, frozen=True):
    """One vendor endpoint under one unified model name: a line of the ranking. ``label`` is unique under its model.

    Entries of one ``account`` (origin and key, not revealed) share concurrency, pauses and pacing. ``parameters``
    override the sample's own. ``key_name`` is the variable the key came from, ``header_templates`` are headers as the
    config writes them (``Bearer ${NAME}``), so that another machine can fill in its own values. An entry ``is_local``
    whose vendor is on this machine.
    """

    model: str
    label: str
    vendor: str
    endpoint: Endpoint
    wire: str
    account: str
    is_baseline: bool = False
    provider: str | None = None
    key_name: str | None = None
    parameters: Mapping[str, Any] = {}
    concurrency: int | None = None
    price: Price | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    header_templates: Mapping[str, str] = {}
    is_local: bool = False

    @property
    def is_simulated(self) -> bool:
        """Whether it is a simulated vendor that is not served yet."""
        return self.endpoint.base_url.startswith(SIMULATED)


class Limits(msgspec.Struct, frozen=True):
    """Time limits of one attempt, in seconds."""

    total_s: float = 600
    connect_s: float = 10
    first_token_s: float = 120
    idle_s: float = 60


class RetryRules(msgspec.Struct, frozen=True):
    """The number of ``retries`` after the first attempt, and the longest single wait ``max_wait_s``."""

    retries: int = 3
    max_wait_s: float = 60.0


class LoadShape(msgspec.Struct, frozen=True):
    """The shape in which requests are offered to each entry; by default a fixed number at a time until all is asked.

    ``request_rate`` (per second) offers them at a fixed rate (an open loop), spaced by ``arrival``.
    ``ramp_up_s`` lets rate or places grow linearly. The first ``warmup`` requests are thrown away. ``duration_s`` asks
    again and again, counted from the end of the warm-up.
    """

    request_rate: Amount | None = None
    arrival: Arrival = "constant"
    ramp_up_s: Amount = 0
    warmup: Count = 0
    duration_s: Amount | None = None

    def __str__(self) -> str:
        """In words, such as ``50 requests per second (poisson) for 60 s``."""
        words = "fixed concurrency"
        if self.request_rate:
            words = f"{self.request_rate:g} requests per second ({self.arrival})"
        if self.duration_s is not None:
            words += f" for {self.duration_s:g} s"
        if self.ramp_up_s:
            words += f", ramp-up {self.ramp_up_s:g} s"
        return words + (f", {self.warmup} warm-up requests" if self.warmup else "")

    @property
    def is_open(self) -> bool:
        """Whether requests start when they are due, not when a place is free."""
        return self.request_rate is not None

    @property
    def is_shaped(self) -> bool:
        """Whether the load has any other shape than a closed loop over the plan."""
        return self != LoadShape()

    @property
    def is_timed(self) -> bool:
        """Whether time decides how often each sample is asked, so that it is known only afterwards."""
        return self.duration_s is not None


class Task(msgspec.Struct, frozen=True):
    """One evaluation of a run: the suite's name, the options it was given, and the samples it plays.

    ``timeout_s`` is its own limit for a whole attempt, where it has one.
    """

    suite: str
    samples: Sequence[Sample]
    options: Mapping[str, Any] = {}
    timeout_s: float | None = None


class Plan(msgspec.Struct, frozen=True):
    """A whole run, decided before anything is sent. ``vendor_concurrency`` None means all vendors at once.

    Baselines are asked everything ``baseline_repeats`` times if that is more than ``repeat``. ``question_seed`` is the
    one from which questions were made for this run. ``redact_content``: nothing that was asked or answered is stored,
    only digests. ``workers`` are the number of processes here, or a Dask scheduler's address; 1 is this process.
    """

    entries: tuple[Entry, ...]
    tasks: tuple[Task, ...]
    repeat: int = 1
    seed: int = 0
    question_seed: int | None = None
    request_concurrency: int = 5
    vendor_concurrency: int | None = None
    limits: Limits = msgspec.field(default_factory=Limits)
    retry: RetryRules = msgspec.field(default_factory=RetryRules)
    client: ClientName = "direct"
    warnings: tuple[str, ...] = ()
    max_requests: int | None = None
    max_cost_usd: float | None = None
    redact_content: bool = False
    baseline_repeats: int = 1
    load: LoadShape = msgspec.field(default_factory=LoadShape)
    workers: int | str = 1

    @property
    def names(self) -> frozenset[str]:
        """The words of the configuration for models, vendors and evaluations: no secrets, whatever the keys are."""
        found = {task.suite for task in self.tasks}
        for entry in self.entries:
            found |= {entry.model, entry.label, entry.vendor, entry.endpoint.model_id, entry.provider or ""}
        return frozenset(found)

    def repeat_of(self, entry: Entry) -> int:
        """The number of times ``entry`` is asked every sample."""
        return max(self.repeat, self.baseline_repeats) if entry.is_baseline else self.repeat


def as_asked(turn: Turn, entry: Entry) -> tuple[Turn, Endpoint]:
    """The turn with the entry's own parameters over the sample's, and its endpoint; what is examined is replaced by
    neither the parameters nor the body of the entry."""
    own = _without(entry.parameters, turn.fixed)
    # Gemini has its settings in one field.
    body = _without(entry.endpoint.body, (*turn.fixed, "generationConfig") if turn.fixed else ())
    # Several names of one limit: the body's, else the entry's, replaces the others.
    own = _without(own, () if set(BUDGETS).isdisjoint(body) else BUDGETS)
    asked = _without(turn.parameters, () if set(BUDGETS).isdisjoint([*own, *body]) else BUDGETS)
    return structs.replace(turn, parameters={**asked, **own}), replace(entry.endpoint, body=body)


def _without(settings: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in names}


# A model that answers in a chat is the tuned one, whether its name says so or not.
_TUNED = r"[-_](?:instruct|it)"
_VERSION = r"[-@](?:\d{3,8}|\d{4}-\d{2}-\d{2})|[-:](?:latest|preview|free|nitro|floor)"
_SAID_BESIDE = re.compile(rf"(?:{_TUNED})?(?:{_VERSION})*")


def same_model(asked: str, served: str) -> bool:
    """Whether a served name can be the asked one: without the maker's prefix, ``-instruct``, versions and dates may
    follow."""
    one, other = (name.lower().rpartition("/")[2] for name in (asked, served))
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and _SAID_BESIDE.fullmatch(long[len(short) :]) is not None
