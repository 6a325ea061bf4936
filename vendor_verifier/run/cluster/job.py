"""What travels to a worker: the job once, then blocks; no key and no expanded header ever does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from vendor_verifier.run.agenda import WorkItem
from vendor_verifier.scrub import Scrubber
from vendor_verifier.values.plan import Entry, Plan
from vendor_verifier.values.sample import Sample


@dataclass(frozen=True, slots=True)
class Job:
    """Everything a worker needs to know of a run but its blocks.

    ``sitting`` is the run's name with something of its own: whoever goes on at once must not meet what is left of the
    sitting before. ``plan`` holds no samples and entries without keys. ``suite_options`` are by suite. The paths are
    where the coordinator read its files; a worker that has the same files uses them, one that has not reads its
    environment only.
    """

    run: str
    sitting: str
    plan: Plan
    suite_options: Mapping[str, Mapping[str, Any]]
    config_file: Path
    env_file: Path | None = None
    vendor_paths: tuple[Path, ...] = ()
    tokenizer_model: str | None = None


@dataclass(frozen=True, slots=True)
class BlockItem:
    """One record to be made: places in the job's entries and in the block's samples."""

    entry: int
    suite: str
    sample: int
    repetition: int
    total_s: float | None


@dataclass(frozen=True, slots=True)
class Block:
    """Some of one entry's work as it travels."""

    number: int
    samples: tuple[Sample, ...]
    items: tuple[BlockItem, ...]


@dataclass(frozen=True, slots=True)
class Hello:
    """What a worker says of itself before it is used. ``wall_ns`` is its wall clock, to measure skew by.

    ``missing`` names variables that hold no value there, ``problem`` says why it cannot work at all.
    """

    identity: str
    name: str
    host: str
    version: str
    python: str
    distributed: str
    region: str | None
    wall_ns: int
    missing: tuple[str, ...] = ()
    problem: str | None = None


class Bench(Protocol):
    """A worker's side of a job, made there from its own files and environment."""

    @property
    def plan(self) -> Plan:
        """The job's plan with this machine's keys in its entries."""

    @property
    def scrubber(self) -> Scrubber: ...

    @property
    def region(self) -> str | None: ...

    def items(self, block: Block) -> Sequence[WorkItem]:
        """The block's work with its vendors, wires and suites."""


OpenBench = Callable[[Job], Bench]


@dataclass(frozen=True, slots=True)
class ClusterSide:
    """What runs on a worker and belongs to layers above this one; all are importable there by name.

    ``hello`` is given the job and the worker's identity and name, ``open_here`` a job with its keys and who hides them.
    """

    open_bench: OpenBench
    open_here: Callable[[Job, Scrubber], Bench]
    hello: Callable[[Job, str, str], Hello]


def without_secrets(entry: Entry) -> Entry:
    """The entry as it may travel: a worker puts in its own key and fills in the headers' templates."""
    headers = {name: text for name, text in entry.endpoint.headers.items() if name not in entry.header_templates}
    return replace(entry, endpoint=replace(entry.endpoint, key=None, headers=headers))


def travelling(plan: Plan) -> Plan:
    """The plan without samples and secrets."""
    return replace(plan, entries=tuple(without_secrets(entry) for entry in plan.entries), tasks=())


def pack(number: int, items: Sequence[WorkItem], entries: Sequence[Entry]) -> Block:
    """Work items as references into ``entries`` and the block's own samples."""
    entry_places = {(entry.model, entry.label): place for place, entry in enumerate(entries)}
    samples: dict[tuple[str, str], Sample] = {}
    for item in items:
        samples.setdefault((item.suite.name, item.sample.id), item.sample)
    places = {key: place for place, key in enumerate(samples)}
    return Block(
        number,
        tuple(samples.values()),
        tuple(
            BlockItem(
                entry_places[(item.line.entry.model, item.line.entry.label)],
                item.suite.name,
                places[(item.suite.name, item.sample.id)],
                item.repetition,
                item.total_s,
            )
            for item in items
        ),
    )
