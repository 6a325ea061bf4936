"""The user's request as values, before anything is read or checked against a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vendor_verifier.manifest import ScoreRequest
from vendor_verifier.values.plan import Arrival, ClientName, ExecutorChoice, Limits, RetryRules, TransportName
from vendor_verifier.words import Language

__all__ = ["LoadRequest", "RunRequest", "ScoreRequest", "Selection"]


@dataclass(frozen=True, slots=True)
class Selection:
    """The filters that choose the samples of every suite; empty means all.

    Words of one filter are alternatives, while all ``tags`` must match. ``limit`` takes a choice that keeps classes and
    categories, with ``head`` the first ones instead.
    """

    ids: tuple[str, ...] = ()
    difficulty: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    stratify_by: str | None = None
    limit: int | None = None
    head: bool = False


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """The flags of a load's shape as they were given; ``None`` and 0 mean not given. ``arrival`` needs a rate."""

    request_rate: float | None = None
    arrival: Arrival | None = None
    replay_schedule: Path | None = None
    ramp_up_s: float = 0.0
    warmup: int = 0
    cooldown: int = 0
    duration_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One call of the main job.

    ``test_file`` None means the shipped samples, ``env_file`` None the ``.env`` beside the
    config, ``output_dir`` None a new folder under ``runs/`` (or, when resuming, the latest one),
    ``request_concurrency`` None 5 and in an open loop no cap. ``stated`` names those of ``timeout`` and ``retries``
    that the user stated, even at their default: a job file or an option does not change them.
    """

    config_file: Path
    test_file: Path | None = None
    env_file: Path | None = None
    vendor_paths: tuple[Path, ...] = ()
    models: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    vendor_concurrency: int | None = None
    request_concurrency: int | None = None
    load: LoadRequest = field(default_factory=LoadRequest)
    retry: RetryRules = field(default_factory=RetryRules)
    limits: Limits = field(default_factory=Limits)
    suites: tuple[str, ...] = ("trigger",)
    suite_options: tuple[str, ...] = ()
    shared_options: Mapping[str, Any] = field(default_factory=dict)
    stated: frozenset[str] = frozenset()
    dataset_format: str | None = None
    selection: Selection = field(default_factory=Selection)
    repeat: int = 1
    baseline_repeats: int = 1
    seed: int = 0
    output_dir: Path | None = None
    incremental: bool = False
    redact_content: bool = False
    max_requests: int | None = None
    max_cost_usd: float | None = None
    skip_bad_samples: bool = False
    client: ClientName = "direct"
    executor: ExecutorChoice = field(default_factory=ExecutorChoice)
    transport: TransportName = "fast"
    calibrate: bool = False
    use_raw_completions: bool = False
    tokenizer_model: str | None = None
    language: Language = "en"
    score: ScoreRequest = field(default_factory=ScoreRequest)

    @property
    def states_timeout(self) -> bool:
        """Whether the user stated the time limit of a whole attempt."""
        return "timeout" in self.stated or self.limits.total_s != Limits().total_s

    @property
    def states_retries(self) -> bool:
        """Whether the user stated the number of retries."""
        return "retries" in self.stated or self.retry.retries != RetryRules().retries
