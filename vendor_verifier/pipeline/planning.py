"""From what the user asked for to a plan: reads configuration and samples, sends nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vendor_verifier.config import Configuration, load_config
from vendor_verifier.errors import DataError, Problem
from vendor_verifier.loaders.base import LoadedSamples
from vendor_verifier.loaders.chat_requests import read_samples
from vendor_verifier.pipeline.request import RunRequest
from vendor_verifier.registry import Registry, find_vendors
from vendor_verifier.sample_files import file_digest, open_lines
from vendor_verifier.shipped import shipped
from vendor_verifier.suites.schema import dataset_defects
from vendor_verifier.values.plan import Plan
from vendor_verifier.values.sample import Sample

DEFAULT_SAMPLES = "datasets/samples.jsonl"


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
    """Everything decided before the first request."""

    plan: Plan
    dataset: Dataset
    configuration: Configuration
    registry: Registry


def prepare(request: RunRequest, environ: Mapping[str, str], *, require_keys: bool = True) -> Prepared:
    """Read everything the run needs.

    Raises:
        ConfigError: config.yaml or .env, all problems at once.
        DataError: the sample file, all bad lines at once.
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
    dataset = read_dataset(request.test_file, skip_bad=request.skip_bad_samples)
    samples = dataset.samples[: request.limit] if request.limit is not None else dataset.samples
    if not samples:
        raise DataError([Problem("holds no sample to send", request.test_file or Path(DEFAULT_SAMPLES))])
    plan = Plan(
        entries=configuration.entries,
        samples=samples,
        repeat=request.repeat,
        seed=request.seed,
        request_concurrency=request.request_concurrency,
        vendor_concurrency=request.vendor_concurrency,
        limits=request.limits,
        retry=request.retry,
        warnings=(*configuration.warnings, *_plugin_warnings(registry)),
    )
    return Prepared(plan, dataset, configuration, registry)


def read_dataset(test_file: Path | None, *, skip_bad: bool = False) -> Dataset:
    """Read a sample file, by default the shipped one."""
    path = test_file or shipped(DEFAULT_SAMPLES)
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
