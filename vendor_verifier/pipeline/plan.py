"""From what the user asked for to a plan and the wires of its entries: it sends nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vendor_verifier.config import Configuration, load_config
from vendor_verifier.config.env_file import read_variables
from vendor_verifier.config.suite_options import StatedOptions, TaskOptions, known_suite, split_options
from vendor_verifier.errors import UsageError
from vendor_verifier.pipeline.asked_options import asked_options
from vendor_verifier.pipeline.datasets import Dataset, check_choices, chosen_samples, missing_classes, suite_dataset
from vendor_verifier.pipeline.gates import check_conditions, check_rank_metrics
from vendor_verifier.pipeline.load_profile import check_named_samples, places, read_load
from vendor_verifier.pipeline.request import RunRequest
from vendor_verifier.pipeline.simulated_vendors import rehearsed
from vendor_verifier.registry import WIRES, Registry, find_vendors
from vendor_verifier.stats.ratio_table import TRIGGER
from vendor_verifier.suites import BFCL
from vendor_verifier.values.plan import Entry, LoadShape, Plan, Task
from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_completions import OpenAICompletions
from vendor_verifier.words import english

if TYPE_CHECKING:
    from vendor_verifier.suites.bfcl.job_file import Job


CHAT = "openai"
RAW = OpenAICompletions().name


def as_raw_completions(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries with chat completions replaced by raw completions; other protocols have no such form.

    Raises:
        UsageError: none of them is asked for chat completions.
    """
    if not any(entry.wire in (CHAT, RAW) for entry in entries):
        raise UsageError("--use-raw-completions: no entry is asked for chat completions, which they would replace")
    return tuple(replace(entry, wire=RAW) if entry.wire == CHAT else entry for entry in entries)


def run_wires(entries: Sequence[Entry], tokenizer_model: str | None) -> Mapping[str, Wire]:
    """The wires of a run by name.

    Raises:
        UsageError: raw completions without a chat template to render their prompts with, or the other way round.
    """
    if not any(entry.wire == RAW for entry in entries):
        if tokenizer_model is not None:
            raise UsageError(
                f"--tokenizer-model renders the prompts of raw completions, which no entry is asked for; add "
                f"--use-raw-completions or `validator: {RAW}`, or leave it out"
            )
        return WIRES
    if tokenizer_model is None:
        raise UsageError(
            "raw completions need --tokenizer-model: a local folder or hub name whose chat template renders the prompt"
        )
    from vendor_verifier.run.chat_template import load_renderer

    return {**WIRES, RAW: OpenAICompletions(render=load_renderer(tokenizer_model))}


def wire_of(entry: Entry, vendor: Vendor, wires: Mapping[str, Wire]) -> Wire:
    """A vendor's own wire carries its quirks; the plain one serves when the config chose another protocol."""
    return vendor.wire if vendor.wire.name == entry.wire and entry.wire != RAW else wires[entry.wire]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything decided before the first request. ``datasets`` are by suite, whole; the plan holds what was chosen.
    ``rest_keys`` are for the live services of rest rows, secret; ``known_answers`` are what simulated vendors are
    told, if there are any."""

    plan: Plan
    datasets: Mapping[str, Dataset]
    configuration: Configuration
    registry: Registry
    wires: Mapping[str, Wire]
    rest_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    known_answers: str = field(default="{}", repr=False)


def prepare(request: RunRequest, environ: Mapping[str, str], *, require_keys: bool = True) -> Prepared:
    """Read everything the run needs.

    Raises:
        ConfigError: config.yaml or .env, all problems at once.
        ProblemsError: the shape of the load, suites or their options.
        DataError: a sample file or a schedule, all bad lines at once.
    """
    load = read_load(request.load, repeat=request.repeat, incremental=request.incremental, executor=request.executor)
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
    check_rank_metrics(request.score.rank_metrics, request.suites)
    check_conditions(request.score, request.suites, configuration.gates, configuration.slos)
    stated = asked_options(request, configuration)
    request, job = _with_job(request, stated)
    rest_keys = _rest_keys(request, environ)
    datasets, own = _read_datasets(request, stated, rest_keys, job)
    with stated.placing():
        check_choices(datasets, {name: chosen for name, (chosen, _) in own.items()}, request.selection)
    tasks = [
        Task(name, chosen_samples(datasets[name], chosen, request.selection), options, chosen.timeout_seconds)
        for name, (chosen, options) in own.items()
    ]
    check_named_samples(load, tasks, request.load.replay_schedule)
    entries = configuration.entries if job is None else _job_settings(configuration.entries, job, request)
    entries = as_raw_completions(entries) if request.use_raw_completions else entries
    known_answers, unknown = rehearsed(entries, tasks, request.seed)
    warnings = (
        *configuration.warnings,
        *_plugin_warnings(registry),
        *_own_concurrency(request, entries),
        *_not_run(datasets),
        *missing_classes(tasks, datasets),
        *unknown,
    )
    plan = _plan(request, entries, tasks, load, warnings)
    wires = run_wires(entries, request.tokenizer_model)
    return Prepared(plan, datasets, configuration, registry, wires, rest_keys, known_answers)


def _plan(
    request: RunRequest, entries: Sequence[Entry], tasks: Sequence[Task], load: LoadShape, warnings: tuple[str, ...]
) -> Plan:
    """What was asked for, put to these entries and samples."""
    return Plan(
        entries=tuple(entries),
        tasks=tuple(tasks),
        repeat=request.repeat,
        # Without the suite that compares with the baseline there is no noise to measure.
        baseline_repeats=request.baseline_repeats if TRIGGER in request.suites and not load.plans_by_doing else 1,
        seed=request.seed,
        request_concurrency=places(load, request.request_concurrency, entries),
        vendor_concurrency=request.vendor_concurrency,
        limits=request.limits,
        retry=request.retry,
        client=request.client,
        max_requests=request.max_requests,
        max_cost_usd=request.max_cost_usd,
        redact_content=request.redact_content,
        transport=request.transport,
        load=load,
        warnings=warnings,
    )


def _read_datasets(
    request: RunRequest, stated: StatedOptions, rest_keys: Mapping[str, str], job: Job | None
) -> tuple[dict[str, Dataset], dict[str, tuple[TaskOptions, dict[str, Any]]]]:
    """By evaluation its samples, and its options: those of every evaluation, and its own."""
    datasets: dict[str, Dataset] = {}
    options: dict[str, tuple[TaskOptions, dict[str, Any]]] = {}
    with stated.placing():
        for name in dict.fromkeys(request.suites):
            kind = known_suite(name)
            chosen, own = options[name] = split_options(kind, stated.options.get(name, {}))
            if name == BFCL:
                # Two score modules that no other evaluation needs, here and below.
                from vendor_verifier.features.bfcl.dataset import bfcl_dataset

                datasets[name] = bfcl_dataset(
                    own, chosen, rest_keys, job=job, typed=stated.typed(name), skip_bad=request.skip_bad_samples
                )
            else:
                datasets[name] = suite_dataset(kind, chosen, request)
    return datasets, options


def _with_job(request: RunRequest, stated: StatedOptions) -> tuple[RunRequest, Job | None]:
    path = stated.options.get(BFCL, {}).get("job") if BFCL in request.suites else None
    if path is None:
        return request, None
    from vendor_verifier.features.bfcl.job import read_job_file, with_job

    job = read_job_file(Path(path))
    return with_job(request, job), job


def _job_settings(entries: Sequence[Entry], job: Job, request: RunRequest) -> tuple[Entry, ...]:
    from vendor_verifier.features.bfcl.job import with_job_settings

    return with_job_settings(entries, job, request.overrides)


def _own_concurrency(request: RunRequest, entries: Sequence[Entry]) -> list[str]:
    own = [entry for entry in entries if entry.concurrency not in (None, request.request_concurrency)]
    if request.request_concurrency is None or not own:
        return []
    words = ", ".join(f"{entry.model} / {entry.label} {entry.concurrency}" for entry in own)
    return [english("warn_own_concurrency", entries=words)]


def _plugin_warnings(registry: Registry) -> list[str]:
    return [english("warn_plugin", source=str(plugin.source), error=str(plugin.error)) for plugin in registry.broken]


def _not_run(datasets: Mapping[str, Dataset]) -> list[str]:
    if not any(dataset.not_run for dataset in datasets.values()):
        return []
    from vendor_verifier.features.bfcl.dataset import not_run_lines

    return [line for dataset in datasets.values() for line in not_run_lines(dataset.not_run)]


def _rest_keys(request: RunRequest, environ: Mapping[str, str]) -> dict[str, str]:
    """Keys of the services that BFCL's rest rows call, as far as they are set."""
    if BFCL not in request.suites:
        return {}
    from vendor_verifier.suites.bfcl.executable import KEY_NAMES

    variables = read_variables(request.config_file, request.env_file, environ)
    found = {name: variables.get(name) for name in KEY_NAMES}
    return {name: value for name, value in found.items() if value}
