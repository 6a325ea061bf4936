"""Makes the plan of a run from what was said; it sends nothing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from msgspec import structs

from vendor_verifier.config.load import Configuration, load_config
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import placing, stated_options
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.findings.gates import parse_gate, parse_slo, read_conditions
from vendor_verifier.pipeline.entries import asked_entries, run_wires
from vendor_verifier.pipeline.suites import Evaluation, check_rank_metrics, evaluations_of
from vendor_verifier.pipeline.task_results import run_folder
from vendor_verifier.records.manifest import ScoreRequest
from vendor_verifier.records.plan import Entry, Limits, LoadShape, Plan, RetryRules
from vendor_verifier.redaction import Scrubber
from vendor_verifier.run.queue import check_workers
from vendor_verifier.store import RunFolder, latest_run
from vendor_verifier.transport.connect import most_connections
from vendor_verifier.wire.base import Wire

_LIMITS = Limits()
# Default requests in flight per account: of a closed loop, and the most of an open one.
PLACES = 5
MOST_PLACES = 10_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything decided before the first request.

    ``options`` are what was said, with the settings that evaluations bring. ``score`` are the settings of scoring, the
    configuration's gates included. ``scrubber`` removes the secrets that must never be written anywhere.
    """

    options: RunOptions
    plan: Plan
    evaluations: Sequence[Evaluation]
    configuration: Configuration
    wires: Mapping[str, Wire]
    score: ScoreRequest
    scrubber: Scrubber = field(repr=False)


def prepare(options: RunOptions, environ: Mapping[str, str], *, require_keys: bool = True) -> Prepared:
    """Read and check everything the run needs.

    Raises:
        ConfigError: config.yaml or .env, all problems at once.
        ProblemsError: the shape of the load, suites or their options, the settings of the model.
        DataError: a sample file, all bad lines at once.
        UsageError: the workers cannot be used, or the wires lack something.
    """
    configuration = load_config(options, environ, require_keys=require_keys, further=_stated_problems)
    options = configuration.options
    load, score, question_seed = read_load(options), _score(options, configuration), _question_seed(options)
    stated, stated_at = stated_options(options.suites, configuration.suites, options, configuration.suite_places)
    with placing(stated_at):
        evaluations, warnings = evaluations_of(stated, options, configuration.variables, question_seed)
    for each in evaluations:
        if each.hooks.request_concurrency and not options.request_concurrency:
            options = options.model_copy(update={"request_concurrency": each.hooks.request_concurrency})
    entries = asked_entries(configuration.entries, options.max_cost, use_raw_completions=options.use_raw_completions)
    wires = run_wires(entries, options.tokenizer_model)
    warnings = [*configuration.warnings, *_warned_of(options, entries, configuration), *warnings]
    plan = _plan(options, entries, evaluations, load, warnings)
    if any(each.hooks.makes_questions for each in evaluations):
        plan = structs.replace(plan, question_seed=question_seed)
    secret = configuration.secrets.union(*(each.hooks.secrets for each in evaluations))
    return Prepared(options, plan, evaluations, configuration, wires, score, Scrubber(secret, plan.names))


def _warned_of(options: RunOptions, entries: Sequence[Entry], configuration: Configuration) -> Iterator[str]:
    """Warnings of plugins, and of entries that a flag does not reach."""
    for plugin in configuration.registry.broken:
        yield f"Vendor plugin {plugin.source} cannot be used: {plugin.error}"
    own = [entry for entry in entries if entry.concurrency not in (None, options.request_concurrency)]
    if options.request_concurrency is not None and own:
        words = ", ".join(f"{entry.model} / {entry.label} {entry.concurrency}" for entry in own)
        yield f"--request-concurrency does not apply to entries with a `concurrency:` of their own: {words}"


def _question_seed(options: RunOptions) -> int:
    """The seed of questions that are made anew: the one stated, that of the run to resume, or one that nobody knows."""
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
    is_noisy = any(each.kind.compares for each in evaluations) and not load.is_timed
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
    gates = {model: tuple(text for text, _ in stated) for model, stated in configuration.gates.items()}
    everybody = gates.pop(None, ())
    return ScoreRequest(
        options.undecided,
        options.schema_policy,
        options.rank_metric,
        (*everybody, *options.gate),
        options.baseline_f1,
        model_gates={str(model): (*everybody, *own, *options.gate) for model, own in gates.items()},
        slos=(*(text for text, _ in configuration.slos), *options.slo),
    )


def _stated_problems(configuration: Configuration) -> Iterator[Problem]:
    """All that is wrong with the load, gates, SLOs and options of evaluations, of the file and of the command line."""
    options = configuration.options
    gates = [*chain(*configuration.gates.values()), *((text, Problem("", key="--gate")) for text in options.gate)]
    slos = [*configuration.slos, *((text, Problem("", key="--slo")) for text in options.slo)]
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


def read_load(options: RunOptions) -> LoadShape:
    """The requested load shape."""
    if problems := list(_problems(options)):
        raise ProblemsError(problems)
    return LoadShape(
        request_rate=options.request_rate,
        arrival=options.arrival or "constant",
        ramp_up_s=options.ramp_up,
        warmup=options.warmup,
        duration_s=options.duration,
    )


def places(load: LoadShape, stated: int | None, entries: Sequence[Entry]) -> int:
    """Requests in flight per account: as stated, else 5, else in an open loop as many as this system has files for."""
    if stated is not None or not load.is_open:
        return PLACES if stated is None else stated
    accounts = len({entry.account for entry in entries}) or 1
    return max(1, min(MOST_PLACES, most_connections() // accounts))


def _problems(options: RunOptions) -> Iterator[Problem]:
    if options.arrival is not None and options.request_rate is None:
        words = "says how requests of a rate follow each other; add --request-rate, or leave it out"
        yield Problem(words, key="run.arrival")
    if options.duration is not None and options.repeat != 1:
        yield Problem("decides how often samples are asked; leave out --repeat", key="--duration")
    if options.duration is not None and options.incremental:
        words = "such a run is one stretch of time and cannot be gone on with; start a new one"
        yield Problem(words, key="--duration")
