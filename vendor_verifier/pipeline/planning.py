"""From what the user asked for to a plan: reads configuration and samples, sends nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vendor_verifier.config import Configuration, load_config
from vendor_verifier.config.suite_options import TaskOptions, known_suite, split_options, suite_options
from vendor_verifier.errors import DataError, Problem, ProblemsError
from vendor_verifier.loaders.base import LoadedSamples
from vendor_verifier.loaders.chat_requests import read_samples
from vendor_verifier.pipeline.request import RunRequest, Selection
from vendor_verifier.pipeline.wires import as_raw_completions, run_wires
from vendor_verifier.registry import Registry, find_vendors
from vendor_verifier.sample_files import file_digest, open_lines
from vendor_verifier.shipped import shipped
from vendor_verifier.suites import SuiteKind
from vendor_verifier.suites.schema import dataset_defects
from vendor_verifier.values.plan import Plan, Task
from vendor_verifier.values.sample import Sample
from vendor_verifier.wire.base import Wire


@dataclass(frozen=True, slots=True)
class Dataset:
    """A sample file as read: its name (no path), digest, samples, and what is wrong with it."""

    name: str
    sha256: str
    samples: tuple[Sample, ...]
    skipped: tuple[str, ...]
    defects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything decided before the first request. ``datasets`` are by suite, whole; the plan holds what was chosen."""

    plan: Plan
    datasets: Mapping[str, Dataset]
    configuration: Configuration
    registry: Registry
    wires: Mapping[str, Wire]


def prepare(request: RunRequest, environ: Mapping[str, str], *, require_keys: bool = True) -> Prepared:
    """Read everything the run needs.

    Raises:
        ConfigError: config.yaml or .env, all problems at once.
        ProblemsError: suites or their options.
        DataError: a sample file, all bad lines at once.
    """
    registry = find_vendors(request.vendor_paths)
    configuration = load_config(
        request.config_file,
        env_file=request.env_file,
        environ=environ,
        registry=registry,
        models=request.models,
        vendors=request.vendors,
        overrides=request.overrides,
        require_keys=require_keys,
    )
    _check_rank_metrics(request)
    options = suite_options(configuration.suites, request.suite_options)
    datasets: dict[str, Dataset] = {}
    tasks: list[Task] = []
    for name in dict.fromkeys(request.suites):
        kind = known_suite(name)
        chosen, own = split_options(kind, options.get(name, {}))
        datasets[name] = _dataset(kind, chosen, request)
        tasks.append(Task(name, _chosen(datasets[name], chosen, request), own, chosen.timeout_seconds))
    entries = as_raw_completions(configuration.entries) if request.use_raw_completions else configuration.entries
    plan = Plan(
        entries=entries,
        tasks=tuple(tasks),
        repeat=request.repeat,
        seed=request.seed,
        request_concurrency=request.request_concurrency,
        vendor_concurrency=request.vendor_concurrency,
        limits=request.limits,
        retry=request.retry,
        warnings=(*configuration.warnings, *_plugin_warnings(registry)),
    )
    return Prepared(plan, datasets, configuration, registry, run_wires(entries, request.tokenizer_model))


def _check_rank_metrics(request: RunRequest) -> None:
    """A score can only join the ranking if its evaluation takes part and has one."""
    able = [name for name in request.suites if known_suite(name).main is not None]
    for metric in request.score.rank_metrics:
        if metric not in able:
            words = (
                f"; of this run's evaluations {', '.join(able)} can" if able else "; no evaluation of this run has one"
            )
            raise ProblemsError([Problem(f"{metric!r} is no score that can rank{words}", key="--rank-metric")])


def _dataset(kind: SuiteKind, options: TaskOptions, request: RunRequest) -> Dataset:
    """The file of the suite's options; else the user's, for a single suite or the trigger suite; else the shipped."""
    path = shipped(kind.dataset)
    if options.test_file_path is not None:
        path = Path(options.test_file_path)
    elif request.test_file is not None and (len(set(request.suites)) == 1 or kind.main is None):
        path = request.test_file
    return read_dataset(path, skip_bad=request.skip_bad_samples)


def _chosen(dataset: Dataset, options: TaskOptions, request: RunRequest) -> tuple[Sample, ...]:
    """The samples that the suite's own options and the run's let through."""
    own = Selection(
        ids=options.sample_ids,
        difficulty=options.filter_difficulty,
        category=options.filter_category,
        tags=options.filter_tags,
        stratify_by=options.stratify_by,
        limit=options.sample_size,
    )
    samples = dataset.samples
    for selection in (own, request.selection):
        samples = samples[: selection.limit]
    if not samples:
        raise DataError([Problem("holds no sample to send that the filters let through", Path(dataset.name))])
    return samples


def read_dataset(path: Path, *, skip_bad: bool = False) -> Dataset:
    """Read a sample file."""
    loaded = load_samples(path, skip_bad=skip_bad)
    return Dataset(
        name=path.name,
        sha256=file_digest(path),
        samples=loaded.samples,
        skipped=tuple(str(replace(problem, file=Path(path.name))) for problem in loaded.skipped),
        defects=(*loaded.defects, *sample_defects(loaded.samples)),
    )


def sample_defects(samples: Iterable[Sample]) -> list[str]:
    """What is wrong with the samples themselves, each with the line it stands on."""
    return [
        f"line {sample.source.line}: {defect}" if sample.source else f"{sample.id}: {defect}"
        for sample in samples
        for defect in dataset_defects(sample)
    ]


def load_samples(path: Path, *, skip_bad: bool = False) -> LoadedSamples:
    """The samples of one file, plain or gzip."""
    return read_samples(open_lines(path), dataset=path.name, file=path, skip_bad=skip_bad)


def _plugin_warnings(registry: Registry) -> list[str]:
    return [f"vendor plugin {plugin.source} cannot be used: {plugin.error}" for plugin in registry.broken]
