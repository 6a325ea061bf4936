"""Makes the plan and the wires of its entries from the user's request; it sends nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vendor_verifier.config import Configuration, load_config
from vendor_verifier.config.problems import listed
from vendor_verifier.config.suite_options import (
    Flag,
    StatedOptions,
    TaskOptions,
    known_suite,
    split_options,
    stated_options,
)
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.pipeline.datasets import Dataset, check_choices, chosen_samples, missing_classes
from vendor_verifier.pipeline.gates import check_conditions, check_rank_metrics
from vendor_verifier.pipeline.load_profile import check_named_samples, places, read_load
from vendor_verifier.pipeline.request import RunRequest
from vendor_verifier.pipeline.simulated_vendors import rehearsed
from vendor_verifier.pipeline.suites import SuiteHooks, hooks_of
from vendor_verifier.registry import WIRES, Registry, find_vendors
from vendor_verifier.suites import SUITES, compares
from vendor_verifier.values.plan import Entry, LoadShape, Plan, Task
from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_completions import OpenAICompletions
from vendor_verifier.words import english

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
    """The vendor's own wire with its quirks, or the plain one when the config chose another protocol."""
    return vendor.wire if vendor.wire.name == entry.wire and entry.wire != RAW else wires[entry.wire]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything decided before the first request.

    ``datasets`` are by suite and whole; the plan holds the chosen samples. ``hooks`` are those of its evaluations;
    ``known_answers`` are handed to simulated vendors, if there are any.
    """

    plan: Plan
    datasets: Mapping[str, Dataset]
    configuration: Configuration
    registry: Registry
    wires: Mapping[str, Wire]
    hooks: Mapping[str, SuiteHooks] = field(default_factory=dict)
    known_answers: str = field(default="{}", repr=False)

    @property
    def secrets(self) -> frozenset[str]:
        """The secrets that must never be written anywhere."""
        return self.configuration.secrets.union(*(each.secrets for each in self.hooks.values()))


def prepare(request: RunRequest, environ: Mapping[str, str], *, require_keys: bool = True) -> Prepared:
    """Read and check everything the run needs.

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
    stated = _options(request, configuration)
    hooks = {
        name: hooks_of(known_suite(name)).prepare(request, stated.options.get(name, {}), environ)
        for name in dict.fromkeys(request.suites)
    }
    for each in hooks.values():
        request = each.request(request)
    datasets, own = _read_datasets(request, stated, hooks)
    with stated.placing():
        check_choices(datasets, {name: chosen for name, (chosen, _) in own.items()}, request.selection)
    tasks = [
        Task(name, chosen_samples(datasets[name], chosen, request.selection), options, chosen.timeout_seconds)
        for name, (chosen, options) in own.items()
    ]
    check_named_samples(load, tasks, request.load.replay_schedule)
    entries = configuration.entries
    for each in hooks.values():
        entries = each.entries(entries, request)
    entries = as_raw_completions(entries) if request.use_raw_completions else entries
    known, unknown = rehearsed(entries, tasks, request.seed)
    warnings = (
        *configuration.warnings,
        *_plugin_warnings(registry),
        *_own_concurrency(request, entries),
        *(words for dataset in datasets.values() for words in dataset.warnings),
        *missing_classes(tasks, datasets),
        *unknown,
    )
    plan = _plan(request, entries, tasks, load, warnings)
    wires = run_wires(entries, request.tokenizer_model)
    return Prepared(plan, datasets, configuration, registry, wires, hooks, known)


def _plan(
    request: RunRequest, entries: Sequence[Entry], tasks: Sequence[Task], load: LoadShape, warnings: tuple[str, ...]
) -> Plan:
    """The plan of a request for these entries, tasks and load."""
    # Without a suite that compares with the baseline there is no noise to measure.
    is_noisy = any(map(compares, request.suites)) and not load.plans_by_doing
    return Plan(
        entries=tuple(entries),
        tasks=tuple(tasks),
        repeat=request.repeat,
        baseline_repeats=request.baseline_repeats if is_noisy else 1,
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


def _options(request: RunRequest, configuration: Configuration) -> StatedOptions:
    """The options of the run's evaluations: its flags, laid over the configuration's.

    Raises:
        ProblemsError: all that are invalid or that none of them reads.
    """
    suites = tuple(dict.fromkeys(request.suites))
    for name in suites:
        known_suite(name)
    return stated_options(
        suites,
        configuration.suites,
        request.suite_options,
        _flags(request, suites),
        file=request.config_file,
        lines=configuration.suite_lines,
    )


def _flags(request: RunRequest, suites: Collection[str]) -> Iterator[Flag]:
    for option, value in request.shared_options.items():
        yield Flag(_flag_of(option), option, value)
    if request.test_file is not None:
        reader = _reader(suites, request.suite_options)
        yield Flag("--test-file-path", "test_file_path", str(request.test_file), (reader,))
    if request.dataset_format is not None:
        yield Flag("--dataset-format", "dataset_format", request.dataset_format)
    # These flags also have a use of their own, and replace the config's option of one evaluation.
    if request.states_timeout:
        yield Flag("--timeout", "timeout_seconds", None)
    if request.selection.limit is not None:
        yield Flag("--limit", "sample_size", None, may_idle=True)


def _flag_of(option: str) -> str:
    own = (kind.flags[option] for kind in SUITES if option in kind.flags)
    return next(own, f"--{option.replace('_', '-')}")


def _reader(suites: Collection[str], words: Collection[str]) -> str:
    """The evaluation that a file of samples for the whole run is meant for.

    Raises:
        ProblemsError: none reads one, or several do and the choice is ambiguous.
    """
    named = [name for name in suites if any(word.startswith(f"{name}.test_file_path=") for word in words)]
    able = [name for name in suites if not callable(known_suite(name).dataset)]
    left = [name for name in able if name not in named] or able
    usual = [name for name in left if compares(name)] or left
    if len(usual) == 1:
        return usual[0]
    if not left:
        words_ = f"the questions of {listed(suites)} are built in and take no file; leave it out"
    else:
        ways = " or ".join(f"--suite-option {name}.test_file_path=FILE" for name in left)
        words_ = f"{listed(left)} each read rows of their own; say whose they are with {ways}"
    raise ProblemsError([Problem(words_, key="--test-file-path")])


def _read_datasets(
    request: RunRequest, stated: StatedOptions, hooks: Mapping[str, SuiteHooks]
) -> tuple[dict[str, Dataset], dict[str, tuple[TaskOptions, dict[str, Any]]]]:
    """By evaluation its data set, and its options: the common ones and its own."""
    datasets: dict[str, Dataset] = {}
    options: dict[str, tuple[TaskOptions, dict[str, Any]]] = {}
    with stated.placing():
        for name, each in hooks.items():
            kind = known_suite(name)
            chosen, own = options[name] = split_options(kind, stated.options.get(name, {}))
            datasets[name] = each.dataset(kind, chosen, own, stated.typed(name), request)
    return datasets, options


def _own_concurrency(request: RunRequest, entries: Sequence[Entry]) -> list[str]:
    own = [entry for entry in entries if entry.concurrency not in (None, request.request_concurrency)]
    if request.request_concurrency is None or not own:
        return []
    words = ", ".join(f"{entry.model} / {entry.label} {entry.concurrency}" for entry in own)
    return [english("warn_own_concurrency", entries=words)]


def _plugin_warnings(registry: Registry) -> list[str]:
    return [english("warn_plugin", source=str(plugin.source), error=str(plugin.error)) for plugin in registry.broken]
