"""Makes the plan and the wires of its entries from what was said; it sends nothing."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from vendor_verifier.config.document import listed
from vendor_verifier.config.load import Configuration, load_config
from vendor_verifier.config.run_config import Flag, RunOptions
from vendor_verifier.config.suite_options import Places, SuiteOptions, placing, stated_options
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.findings.gates import parse_gate, parse_slo, read_conditions
from vendor_verifier.pipeline.datasets import Dataset, check_choices, chosen_samples, missing_classes
from vendor_verifier.pipeline.load_profile import places, read_load
from vendor_verifier.pipeline.prices import with_prices
from vendor_verifier.pipeline.simulated_vendors import known_answers
from vendor_verifier.pipeline.suites import SuiteHooks, check_rank_metrics, ready_suite
from vendor_verifier.pipeline.task_results import run_folder
from vendor_verifier.records.manifest import ScoreRequest
from vendor_verifier.records.plan import Entry, Limits, LoadShape, Plan, RetryRules, Task
from vendor_verifier.redaction import Scrubber
from vendor_verifier.registry import WIRES, Registry
from vendor_verifier.run.queue import check_workers
from vendor_verifier.store import RunFolder, latest_run
from vendor_verifier.suites import compares, known_suite
from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_completions import OpenAICompletions

_LIMITS = Limits()
CHAT = "openai"
RAW = OpenAICompletions().name


def as_raw_completions(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries with chat completions replaced by raw completions; other protocols have no such form.

    Raises:
        UsageError: none of them is asked for chat completions.
    """
    if not any(entry.wire in (CHAT, RAW) for entry in entries):
        raise UsageError("--use-raw-completions: no entry is asked for chat completions, which they would replace")
    return tuple(structs.replace(entry, wire=RAW) if entry.wire == CHAT else entry for entry in entries)


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

    ``options`` are what was said, with the settings that evaluations bring. ``datasets`` are by suite and whole; the
    plan holds the chosen samples. ``score`` are the settings of scoring, the configuration's gates included. ``hooks``
    are those of the plan's evaluations; ``known_answers`` are handed to simulated vendors, if there are any.
    """

    options: RunOptions
    plan: Plan
    datasets: Mapping[str, Dataset]
    configuration: Configuration
    registry: Registry
    wires: Mapping[str, Wire]
    score: ScoreRequest = field(default_factory=ScoreRequest)
    hooks: Mapping[str, SuiteHooks] = field(default_factory=dict)
    known_answers: str = field(default="{}", repr=False)

    @property
    def secrets(self) -> frozenset[str]:
        """The secrets that must never be written anywhere."""
        return self.configuration.secrets.union(*(each.secrets for each in self.hooks.values()))

    def scrubber(self) -> Scrubber:
        """What removes these secrets, and no name of the plan."""
        return Scrubber(self.secrets, self.plan.names)


def prepare(options: RunOptions, environ: Mapping[str, str], *, require_keys: bool = True) -> Prepared:
    """Read and check everything the run needs.

    Raises:
        ConfigError: config.yaml or .env, all problems at once.
        ProblemsError: the shape of the load, suites or their options, the settings of the model.
        DataError: a sample file or a schedule, all bad lines at once.
        UsageError: the workers cannot be used, or the wires lack something.
    """
    configuration = load_config(options, environ, require_keys=require_keys, further=_stated_problems)
    options = configuration.options
    load = read_load(options)
    score = _score(options, configuration)
    suites, places = _suite_options(options, configuration)
    question_seed = _question_seed(options)
    with placing(places):
        found = {
            name: known_suite(name).around().prepare(known_suite(name), each, options, environ, question_seed)
            for name, each in suites.items()
        }
        hooks = {name: hook for name, (hook, _) in found.items()}
        datasets = {name: dataset for name, (_, dataset) in found.items()}
        unfit = check_choices(datasets, suites, options)
    asked_for = [hook.request_concurrency for hook in hooks.values() if hook.request_concurrency]
    if asked_for and not options.request_concurrency:
        options = options.model_copy(update={"request_concurrency": asked_for[0]})
    chosen = {
        name: chosen_samples(known_suite(name), datasets[name], each.chosen, options) for name, each in suites.items()
    }
    tasks = [Task(name, chosen[name], each.own, each.chosen.timeout_seconds) for name, each in suites.items()]
    entries = configuration.entries
    entries = as_raw_completions(entries) if options.use_raw_completions else entries
    entries = with_prices(entries, options.max_cost)
    known = known_answers(entries, tasks)
    warned = _warned_of(options, entries, tasks, datasets)
    broken = configuration.registry.broken
    plugins = [f"Vendor plugin {plugin.source} cannot be used: {plugin.error}" for plugin in broken]
    warnings = (*configuration.warnings, *plugins, *unfit, *warned)
    notes = [
        words
        for task in tasks
        for words in hooks[task.suite].notes(ready_suite(task.suite, task.options, task.samples), task.samples)
    ]
    plan = _plan(options, entries, tasks, load, (*warnings, *notes))
    if any(hook.makes_questions for hook in hooks.values()):
        plan = structs.replace(plan, question_seed=question_seed)
    wires = run_wires(entries, options.tokenizer_model)
    return Prepared(options, plan, datasets, configuration, configuration.registry, wires, score, hooks, known)


def _warned_of(
    options: RunOptions, entries: Sequence[Entry], tasks: Sequence[Task], datasets: Mapping[str, Dataset]
) -> Iterator[str]:
    """Warnings of the samples and of how they are asked."""
    own = [entry for entry in entries if entry.concurrency not in (None, options.request_concurrency)]
    if options.request_concurrency is not None and own:
        words = ", ".join(f"{entry.model} / {entry.label} {entry.concurrency}" for entry in own)
        yield f"--request-concurrency does not apply to entries with a `concurrency:` of their own: {words}"
    for dataset in datasets.values():
        yield from dataset.warnings
    yield from missing_classes(tasks, datasets)
    for task in tasks:
        if options.limit is not None and options.limit < len(task.samples) and known_suite(task.suite).whole:
            yield f"{task.suite} asks all of its {len(task.samples)} questions: --limit does not apply to it"


def _question_seed(options: RunOptions) -> int:
    """The seed of questions that are made anew: the one stated, that of the run to resume, or one that nobody knows.

    Raises:
        RunFolderError: there is no run to resume, or it cannot be read.
    """
    if options.seed is not None:
        return options.seed
    if options.incremental:
        stored = RunFolder(run_folder(options.output_dir) or latest_run()).read_manifest().settings.question_seed
        if stored is not None:
            return stored
    # 53 bits: every reader of JSON keeps such a number whole.
    return secrets.randbits(53)


def _plan(
    options: RunOptions, entries: Sequence[Entry], tasks: Sequence[Task], load: LoadShape, warnings: tuple[str, ...]
) -> Plan:
    """The plan of what was said, for these entries, tasks and load."""
    # Without a suite that compares with the baseline there is no noise to measure.
    is_noisy = any(map(compares, options.suites)) and not load.plans_by_doing
    return Plan(
        entries=tuple(entries),
        tasks=tuple(tasks),
        repeat=options.repeat,
        baseline_repeats=options.baseline_repeats if is_noisy else 1,
        seed=options.seed or 0,
        request_concurrency=places(load, options.request_concurrency, entries),
        vendor_concurrency=options.vendor_concurrency,
        limits=Limits(
            total_s=options.timeout or _LIMITS.total_s,
            connect_s=options.connect_timeout,
            first_token_s=options.first_token_timeout,
            idle_s=options.idle_timeout,
        ),
        retry=RetryRules(options.retries),
        client=options.client,
        max_requests=options.max_requests,
        max_cost_usd=options.max_cost,
        redact_content=options.redact_content,
        load=load,
        warnings=warnings,
        workers=check_workers(options.workers, entries),
    )


def _score(options: RunOptions, configuration: Configuration) -> ScoreRequest:
    """The settings of scoring: the gates and SLOs of the configuration, those of a model, then those of the flags."""
    slos = tuple(slo.text for slo in configuration.slos)
    everybody = tuple(gate.text for gate in configuration.gates if gate.model is None)
    own = {gate.model: everybody for gate in configuration.gates if gate.model is not None}
    for gate in configuration.gates:
        if gate.model is not None:
            own[gate.model] = (*own[gate.model], gate.text)
    return ScoreRequest(
        options.undecided,
        options.schema_policy,
        options.rank_metric,
        (*everybody, *options.gate),
        options.baseline_f1,
        model_gates={model: (*gates, *options.gate) for model, gates in own.items()},
        slos=(*slos, *options.slo),
    )


def _stated_problems(configuration: Configuration) -> Iterator[Problem]:
    """All that is wrong with the load, gates, SLOs and options of evaluations, of the file and of the command line."""
    options = configuration.options
    gates = [*((gate.text, gate.place) for gate in configuration.gates), *_typed(options.gate, "--gate")]
    slos = [*((slo.text, slo.place) for slo in configuration.slos), *_typed(options.slo, "--slo")]
    for step in (
        lambda: read_load(options),
        lambda: check_rank_metrics(options.rank_metric, options.suites),
        lambda: read_conditions(gates, lambda text: parse_gate(text, options.suites)),
        lambda: read_conditions(slos, lambda text: [parse_slo(text)]),
        lambda: _suite_options(options, configuration),
    ):
        try:
            step()
        except ProblemsError as error:
            yield from error.problems


def _typed(texts: Sequence[str], flag: str) -> Iterator[tuple[str, Problem]]:
    return ((text, Problem("", key=flag)) for text in texts)


def _suite_options(options: RunOptions, configuration: Configuration) -> tuple[dict[str, SuiteOptions], Places]:
    """The options of the run's evaluations: its flags, laid over the configuration's, and where they were stated.

    Raises:
        ProblemsError: all that are invalid or that none of them reads.
    """
    for name in options.suites:
        known_suite(name)
    return stated_options(
        options.suites, configuration.suites, options.set, _flags(options), configuration.suite_places
    )


def _flags(options: RunOptions) -> Iterator[Flag]:
    yield from options.suite_flags()
    if options.test_file_path is not None:
        readers = _readers(options.suites, options.set)
        yield Flag("--test-file-path", "test_file_path", str(options.test_file_path), tuple(readers))
    if options.dataset_format is not None:
        yield Flag("run.dataset_format", "dataset_format", options.dataset_format)
    # These flags also have a use of their own, and replace the config's option of one evaluation.
    if options.timeout is not None:
        yield Flag("--timeout", "timeout_seconds", None)
    if options.limit is not None:
        yield Flag("--limit", "sample_size", None)


def _readers(suites: Collection[str], words: Collection[str]) -> list[str]:
    """The evaluations that read a file of samples for the whole run: that of triggering, else all that take one.

    Raises:
        ProblemsError: none reads one.
    """
    named = [name for name in suites if any(word.startswith(f"{name}.test_file_path=") for word in words)]
    able = [name for name in suites if not callable(known_suite(name).dataset)]
    left = [name for name in able if name not in named] or able
    if not left:
        words_ = f"the questions of {listed(suites)} are built in and take no file; leave it out"
        raise ProblemsError([Problem(words_, key="--test-file-path")])
    return [name for name in left if compares(name)] or left
