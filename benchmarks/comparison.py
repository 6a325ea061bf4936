"""Product, raw limit and peers in turns at the same work; it says what it compares and leaves no failure out."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import cost
import summary
from environments import CannotInstall, prepared
from observing import Observation, observed
from peers.peer import Job, NotDone, Peer
from process_tree import Failed, measured

_LONGEST_S = 1200.0
PRODUCT, LIMIT = "**product**", "raw limit"
_PRODUCT_DOES = "whole command: asks, judges every call, stores, scores, reports"
_LIMIT_DOES = "bare asyncio protocol, parsed; no product around it"
Say = Callable[[str], None]
Measure = Callable[[int, int, int], cost.Cost]


@dataclass(slots=True)
class Subject:
    """What is measured, and seen so far: at its number of requests, and at a quarter of it to tell start-up from work.

    ``measure`` takes port, requests, concurrency.
    """

    name: str
    does: str
    requests: int
    measure: Measure
    posts: int = 1
    optional: bool = True
    seen: list[Observation] = field(default_factory=list)
    seen_quarter: list[Observation] = field(default_factory=list)
    failed: str | None = None


def peer_cost(peer: Peer, home: Path, uvloop: bool, port: int, requests: int, concurrency: int) -> cost.Cost:
    """Run a peer once in a folder of its own, and have it prove that it did the work.

    Raises:
        Failed: it ended with an error. NotDone: it ended well without having done the work.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cost.write_job(folder, port, requests)
        _write_bodies(folder)
        job = Job(home, folder, port, requests, concurrency, uvloop)
        used = measured(peer.command(job), folder, _LONGEST_S, peer.environ)
        try:
            peer.check(job)
        except (OSError, LookupError, ValueError) as unreadable:
            raise NotDone(f"its results cannot be read: {unreadable!r}") from unreadable
        return used


def _write_bodies(folder: Path) -> None:
    """The samples as whole requests, for peers that send what they are given."""
    common = {"model": cost.MODEL, "stream": True, "stream_options": {"include_usage": True}}
    with (folder / "samples.jsonl").open() as samples, (folder / "bodies.jsonl").open("w") as bodies:
        for line in samples:
            bodies.write(json.dumps({**common, **json.loads(line)}) + "\n")


def gather(peers: Sequence[Peer], scale: float, uvloop: bool, say: Say) -> tuple[list[Subject], dict[str, str]]:
    """Subjects by size, product and limit at every size that a peer is measured at; and why peers are missing."""
    subjects: list[Subject] = []
    missing: dict[str, str] = {}
    for peer in peers:
        say(f"installing {peer.title}")
        try:
            measure = functools.partial(peer_cost, peer, prepared(peer), uvloop)
        except CannotInstall as reason:
            missing[peer.title] = f"cannot be installed: {reason}"
            continue
        subjects.append(Subject(peer.title, peer.does, max(100, round(peer.requests * scale)), measure, peer.posts))
    for size in {one.requests for one in subjects} or {round(20_000 * scale)}:
        subjects.append(Subject(PRODUCT, _PRODUCT_DOES, size, cost.product, optional=False))
        subjects.append(Subject(LIMIT, _LIMIT_DOES, size, cost.raw, optional=False))
    return sorted(subjects, key=lambda one: -one.requests), missing


def take_turns(subjects: Sequence[Subject], port: int, concurrency: int, rounds: int, say: Say) -> None:
    """Measure all subjects once a round, every other round backwards, so that a drift of the machine meets all."""
    for turn in range(rounds):
        for subject in subjects if turn % 2 == 0 else reversed(subjects):
            if subject.failed is not None:
                continue
            try:
                subject.seen_quarter.append(_once(subject, port, subject.requests // 4, concurrency))
                subject.seen.append(_once(subject, port, subject.requests, concurrency))
            except (Failed, NotDone) as reason:
                if not subject.optional:
                    raise
                subject.failed = str(reason)
                say(f"{subject.name}: {reason}")
                continue
            us = subject.seen[-1].us_per_request
            say(f"round {turn + 1}/{rounds}  {subject.requests:6} × {subject.name}: {us:,.0f} µs")


def _once(subject: Subject, port: int, requests: int, concurrency: int) -> Observation:
    run = functools.partial(subject.measure, port, requests, min(requests, concurrency))
    return observed(port, requests, subject.posts, run)


def page(subjects: Sequence[Subject], missing: Mapping[str, str]) -> str:
    """The table of all that was measured, dearest last within a size, and a list of what was not."""
    whole = [one for one in subjects if one.failed is None]
    rows = [_row(one, whole) for one in sorted(whole, key=_place)]
    head = ["program", "requests", "CPU µs/request", "÷ product", "÷ raw limit", "one more: µs"]
    head += ["wall s", "peak MB", "what it does"]
    failed = {one.name: f"failed: {one.failed}" for one in subjects if one.failed is not None}
    skipped = [f"- {name}: {summary.without_places(why)}" for name, why in {**missing, **failed}.items()]
    return summary.table(head, rows) + ("\n\nSkipped:\n\n" + "\n".join(skipped) if skipped else "")


def _place(one: Subject) -> tuple[int, float]:
    return -one.requests, median(seen.us_per_request for seen in one.seen)


def _row(one: Subject, whole: Sequence[Subject]) -> list[object]:
    at_size = {other.name: other.seen for other in whole if other.requests == one.requests}
    ratios = [f"{summary.ratio(one.seen, at_size[name]):,.2f}" for name in (PRODUCT, LIMIT)]
    return [
        one.name, f"{one.requests:,}", summary.per_request(one.seen), *ratios,
        f"{summary.marginal_us(one.seen_quarter, one.seen):,.0f}",
        summary.wall_s(one.seen), summary.peak_mb(one.seen), one.does,
    ]  # fmt: skip
