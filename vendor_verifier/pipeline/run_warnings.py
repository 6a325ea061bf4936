"""Warnings about the course of a run, from its manifest: what limits its figures, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from vendor_verifier.records.manifest import Manifest
from vendor_verifier.run.lag import MAX_CORE_SHARE, STALL_NS
from vendor_verifier.text import counted

_MOST_LAG_MS = STALL_NS / 1e6
# A single standstill of so long is named: a stopped process, a machine that slept.
_STANDSTILL_MS = 1_000.0


def run_warnings(manifest: Manifest) -> Iterator[str]:
    """One sentence for each thing that went otherwise than asked for."""
    yield from manifest.warnings
    if manifest.limit:
        yield f"The run ended early: {manifest.limit}."
    for label, reason in manifest.stopped.items():
        yield f"{label} was stopped: {reason}"
    for label, places in manifest.concurrency_lowered.items():
        yield (
            f"{label} limited our rate. Concurrency was lowered from {places.given} to {places.lowest} "
            f"({places.last} at the end)."
        )
    for executor in manifest.executors or ():
        for loss in executor.lost_sessions:
            yield f"Worker {loss.session} was lost ({loss.reason}). Other workers repeated its open requests."
    yield from _load_warnings(manifest)
    yield from _lag_warnings(manifest)
    if manifest.redacted:
        yield "Content is redacted: prompts and answers are shown as digests."
    for executor in manifest.executors or ():
        for run, labels in (executor.beside or {}).items():
            yield f"Run {run} used the same accounts at the same time ({', '.join(labels)}); they saw the load of both."
    for task in manifest.tasks:
        for skipped in task.skipped:
            yield f"Sample left out: {skipped}"


def _load_warnings(manifest: Manifest) -> Iterator[str]:
    """Warnings where the load was another than asked for, or the warm-up failed."""
    if manifest.ranks_by_schedule:
        yield "The concurrency limit delayed requests: avg_ttft_ms counts from the due time, ttft_ms from sending."
    for label, kept in (manifest.load or {}).items():
        if kept.held_back:
            yield f"{label}: {kept.held_back} requests started late because {kept.cap} were already in flight."
        elif (kept.lag_p99_ms or 0.0) > _MOST_LAG_MS:
            yield (
                f"{label}: requests started up to {kept.lag_p99_ms:.0f} ms late (p99). This machine was too busy for "
                "the rate; lower it."
            )
        if kept.warmup and kept.warmup_failed == kept.warmup:
            yield f"{label}: the whole warm-up failed ({counted(kept.warmup, 'request')})."


def _lag_warnings(manifest: Manifest) -> Iterator[str]:
    """Warnings where this machine was too busy to time answers well."""
    loop = manifest.event_loop
    if loop is None:
        return
    if (loop.max_ms or 0.0) > _STANDSTILL_MS:
        yield (
            f"This process stopped for up to {(loop.max_ms or 0.0) / 1000:.1f} s; requests in flight then are not "
            "timed, and no time limit counts it."
        )
    advice = "Use an idle machine, less load, or more --workers where there are cores for them."
    if loop.p99_ms is not None and loop.p99_ms > _MOST_LAG_MS:
        yield f"This machine was busy: times may be up to {loop.p99_ms:.0f} ms too long (p99). {advice}"
    if loop.core_share is not None and loop.core_share > MAX_CORE_SHARE:
        yield f"Sending used {loop.core_share:.0%} of a core; above {MAX_CORE_SHARE:.0%} times are too long. {advice}"
