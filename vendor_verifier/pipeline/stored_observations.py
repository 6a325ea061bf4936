"""Reads a stored run into the statistics' input: one Trials per entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import structs

from vendor_verifier.config.suite_options import known_suite
from vendor_verifier.errors import RunFolderError
from vendor_verifier.gates.thresholds import REQUEST_METRICS
from vendor_verifier.pipeline.manifest import stored_manifest
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.records.manifest import EntryInfo, Manifest, ScoreRequest
from vendor_verifier.records.sample import Samples
from vendor_verifier.records.score import PlayedTask
from vendor_verifier.scoring.collect import Tables, collect
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.ranked_times import mean_values
from vendor_verifier.stats.ratio_table import JUDGED_MEANS, MEANS, Trials, trials_of
from vendor_verifier.store import RunFolder


class StoredTrials(msgspec.Struct, frozen=True):
    """The trials of a run.

    ``planned``: suite → sample ids. ``trials`` and ``baselines`` by model; ``requests``: (model, label) → metric →
    values of single requests. ``scores``: suites whose main score is a metric of the trials.
    """

    manifest: Manifest
    planned: Mapping[str, tuple[str, ...]]
    scores: tuple[str, ...]
    trials: Mapping[str, tuple[Trials, ...]] = msgspec.field(default_factory=dict)
    baselines: Mapping[str, str] = msgspec.field(default_factory=dict)
    requests: Mapping[tuple[str, str], Mapping[str, Sequence[float]]] = msgspec.field(default_factory=dict)

    @property
    def score(self) -> ScoreRequest:
        """The settings of its scoring."""
        return self.manifest.score

    @property
    def samples(self) -> tuple[str, ...]:
        """Every planned sample once, in the order of the suites."""
        return tuple(dict.fromkeys(sample for ids in self.planned.values() for sample in ids))


class _Requests(Mapping[str, Sequence[float]]):
    """The values of single requests by metric, gathered only when read, which is rare."""

    def __init__(self, table: ObservationTable) -> None:
        self._table = table

    def __getitem__(self, metric: str) -> Sequence[float]:
        return mean_values(self._table, metric, REQUEST_METRICS[metric])

    def __iter__(self) -> Iterator[str]:
        return iter(REQUEST_METRICS)

    def __len__(self) -> int:
        return len(REQUEST_METRICS)


def read_trials(folder: RunFolder) -> StoredTrials:
    """Score the records of a run one by one; samples of suites outside the ranking (feature checks) are left out.

    All times count from sending, whatever the run ranked by, as only those of any two runs can be compared.

    Raises:
        RunFolderError: not a readable run folder.
    """
    manifest = stored_manifest(folder)
    stored = [task for task in manifest.tasks if not known_suite(task.suite).apart]
    if not stored:
        raise RunFolderError(f"{folder.path} names no evaluation that could be compared")
    samples = {task.suite: folder.read_samples(task.suite) for task in stored}
    suites = {task.suite: ready_suite(task.suite, task.options, samples[task.suite], folder) for task in stored}
    infos, tables = [structs.replace(info, cap=None) for info in manifest.infos], Tables()
    played = {suite: PlayedTask(suite, found) for suite, found in samples.items()}
    # Unreadable lines were already reported when the run was scored.
    records = folder.read_records(lambda _line, _reason: None)
    collect(tables, infos, played, records, suites, manifest.settings.repeat)
    for info in infos:
        if info.provider:
            tables.rows[info.model, info.label].set_misrouted_aside(info.provider)
    whole = manifest.status in ("finished", "imported")
    return trials_in(manifest, tables.rows, samples, complete=whole)


def trials_in(
    manifest: Manifest,
    tables: Mapping[tuple[str, str], ObservationTable],
    samples: Mapping[str, Samples],
    *,
    complete: bool,
) -> StoredTrials:
    """The trials of a run whose records are counted; ``samples`` by suite, without suites outside the ranking."""
    infos, score, repeat = manifest.infos, manifest.score, manifest.settings.repeat
    planned = {suite: tuple(found.ids) for suite, found in samples.items()}
    main = {suite: name for suite in planned if (name := known_suite(suite).ranks_by)}
    each = sum(task.count for task in manifest.tasks)
    trials: dict[str, list[Trials]] = {}
    for info in infos:
        own = tables[info.model, info.label]
        if len(own):
            found = trials_of(
                info.label,
                own,
                planned,
                repeat=info.repeat or repeat,
                complete=complete,
                policy=score.schema_policy,
                main=main,
                begun=info.begun,
                each=each,
                means=_means(score, info),
            )
            trials.setdefault(info.model, []).append(found)
    return StoredTrials(
        manifest=manifest,
        planned=planned,
        scores=tuple(main),
        trials={model: tuple(found) for model, found in trials.items()},
        baselines={info.model: info.label for info in reversed(infos) if info.is_baseline},
        requests={key: _Requests(found) for key, found in tables.items()},
    )


def _means(score: ScoreRequest, info: EntryInfo) -> list[str]:
    """The means that are always judged or that a gate names; one too many, by a name within another's, does no harm.

    Where times that rank count from the schedule, their own metrics too: the noise of the baseline is told by those.
    """
    named = " ".join(score.gates_of(info.model)) + (" ttft_ms" if info.cap is not None else "")
    return [metric for metric in MEANS if metric in JUDGED_MEANS or metric in named]
