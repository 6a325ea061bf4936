"""Makes the plan of a run from what was said; it sends nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from vendor_verifier.config.load import Configuration, load_config
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import placing, stated_options
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.findings.gates import parse_gate, parse_slo, read_conditions
from vendor_verifier.pipeline.entries import asked_entries, run_wires
from vendor_verifier.pipeline.load_shape import places, read_load
from vendor_verifier.pipeline.suites import Evaluation, check_rank_metrics, evaluations_of
from vendor_verifier.pipeline.task_results import run_folder
from vendor_verifier.records.manifest import ScoreRequest
from vendor_verifier.records.plan import Entry, Limits, LoadShape, Plan, RetryRules
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.queue import check_workers
from vendor_verifier.store import RunFolder, latest_run
from vendor_verifier.wire.base import Wire

_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything decided before the first request.

    ``options`` are what was said, with the settings that evaluations bring. ``score`` are the settings of scoring, the
    configuration's gates included.
    """

    options: RunOptions
    plan: Plan
    evaluations: Sequence[Evaluation]
    configuration: Configuration
    wires: Mapping[str, Wire]
    score: ScoreRequest = field(default_factory=ScoreRequest)

    @property
    def secrets(self) -> frozenset[str]:
        """The secrets that must never be written anywhere."""
        return self.configuration.secrets.union(*(each.hooks.secrets for each in self.evaluations))

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
    stated, places = stated_options(options.suites, configuration.suites, options, configuration.suite_places)
    question_seed = _question_seed(options)
    with placing(places):
        evaluations, warnings = evaluations_of(stated, options, environ, question_seed)
    for each in evaluations:
        if each.hooks.request_concurrency and not options.request_concurrency:
            options = options.model_copy(update={"request_concurrency": each.hooks.request_concurrency})
    entries = asked_entries(configuration.entries, options.max_cost, use_raw_completions=options.use_raw_completions)
    warnings = [*configuration.warnings, *_warned_of(options, entries, configuration), *warnings]
    plan = _plan(options, entries, evaluations, read_load(options), warnings)
    if any(each.hooks.makes_questions for each in evaluations):
        plan = structs.replace(plan, question_seed=question_seed)
    wires = run_wires(entries, options.tokenizer_model)
    return Prepared(options, plan, evaluations, configuration, wires, _score(options, configuration))


def _warned_of(options: RunOptions, entries: Sequence[Entry], configuration: Configuration) -> Iterator[str]:
    """Warnings of plugins, and of entries that a flag does not reach."""
    for plugin in configuration.registry.broken:
        yield f"Vendor plugin {plugin.source} cannot be used: {plugin.error}"
    own = [entry for entry in entries if entry.concurrency not in (None, options.request_concurrency)]
    if options.request_concurrency is not None and own:
        words = ", ".join(f"{entry.model} / {entry.label} {entry.concurrency}" for entry in own)
        yield f"--request-concurrency does not apply to entries with a `concurrency:` of their own: {words}"


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
    options: RunOptions,
    entries: tuple[Entry, ...],
    evaluations: Sequence[Evaluation],
    load: LoadShape,
    warnings: Sequence[str],
) -> Plan:
    """The plan of what was said, for these entries, evaluations and load."""
    # Without a suite that compares with the baseline there is no noise to measure.
    is_noisy = any(each.kind.compares for each in evaluations) and not load.plans_by_doing
    return Plan(
        entries=entries,
        tasks=tuple(each.task for each in evaluations),
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
        warnings=tuple(warnings),
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
        lambda: stated_options(options.suites, configuration.suites, options, configuration.suite_places),
    ):
        try:
            step()
        except ProblemsError as error:
            yield from error.problems


def _typed(texts: Sequence[str], flag: str) -> Iterator[tuple[str, Problem]]:
    return ((text, Problem("", key=flag)) for text in texts)
