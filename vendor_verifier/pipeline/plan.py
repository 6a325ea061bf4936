"""Makes the plan of a run from its options, with the wires and prices of its entries; it sends nothing.

The config's price goes first, else the list that ships with genai-prices. A price is only taken for the vendor itself,
by address or exact name. A model's price elsewhere says nothing about a reseller, and a server on this machine has
none. It is stored in the manifest: the same records always cost the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from msgspec import structs

from vendor_verifier.config.load import Configuration, load_config
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.pipeline.suites import Evaluation, evaluations_of
from vendor_verifier.records.plan import Entry, Limits, LoadShape, Plan, Price, RetryRules
from vendor_verifier.redaction import Scrubber
from vendor_verifier.registry import WIRES
from vendor_verifier.run.queue import check_workers
from vendor_verifier.store import RunFolder, latest_run
from vendor_verifier.transport.connect import most_connections
from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_completions import OpenAICompletions

CHAT = "openai"
RAW = OpenAICompletions().name
# Default requests in flight per account: of a closed loop, and the most of an open one.
PLACES = 5
MOST_PLACES = 10_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything decided before the first request.

    ``options`` are those given, with the settings that evaluations bring. ``scrubber`` removes the secrets that must
    never be written anywhere.
    """

    options: RunOptions
    plan: Plan
    evaluations: Sequence[Evaluation]
    configuration: Configuration
    wires: Mapping[str, Wire]
    scrubber: Scrubber = field(repr=False)


def prepare(options: RunOptions, environ: Mapping[str, str], *, require_keys: bool = True) -> Prepared:
    """Read and check everything the run needs.

    Raises:
        ConfigError: config.yaml, .env or the options, all problems at once.
        ProblemsError: the samples that the options choose, or what is asked for and cannot be counted.
        DataError: a sample file, all bad lines at once.
        UsageError: the workers cannot be used, or the wires lack something.
    """
    configuration = load_config(options, environ, require_keys=require_keys)
    options, load = configuration.options, configuration.load
    question_seed = _question_seed(options)
    evaluations, warnings = evaluations_of(configuration.suites, options, configuration.variables, question_seed)
    for each in evaluations:
        if each.hooks.request_concurrency and not options.request_concurrency:
            options = options.model_copy(update={"request_concurrency": each.hooks.request_concurrency})
    entries = asked_entries(configuration.entries, options.max_cost, use_raw_completions=options.use_raw_completions)
    warnings = [*configuration.warnings, *_warned_of(options, entries, configuration), *warnings]
    concurrency = places(load, options.request_concurrency, entries)
    wires = run_wires(entries, options.tokenizer_model)
    plan = Plan(
        entries=entries,
        tasks=tuple(each.task for each in evaluations),
        repeat=options.repeat,
        baseline_repeats=configuration.baseline_repeats,
        seed=options.seed or 0,
        question_seed=question_seed if any(each.hooks.makes_questions for each in evaluations) else None,
        request_concurrency=concurrency,
        vendor_concurrency=options.vendor_concurrency,
        limits=Limits(
            total_s=options.timeout or Limits().total_s,
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
    scrubber = Scrubber(configuration.secrets.union(*(each.hooks.secrets for each in evaluations)), plan.names)
    return Prepared(options, plan, evaluations, configuration, wires, scrubber)


def _warned_of(options: RunOptions, entries: Sequence[Entry], configuration: Configuration) -> Iterator[str]:
    """Warnings of plugins, and of entries that a flag does not reach."""
    for source, error in configuration.registry.broken.items():
        yield f"Vendor plugin {source} cannot be used: {error}"
    own = [entry for entry in entries if entry.concurrency not in (None, options.request_concurrency)]
    if options.request_concurrency is not None and own:
        words = ", ".join(f"{entry.model} / {entry.label} {entry.concurrency}" for entry in own)
        yield f"--request-concurrency does not apply to entries with a `concurrency:` of their own: {words}"


def results_file(output: Path | None) -> Path | None:
    """The file of results that ``-o`` names: one that ends in ``.json`` and is not a folder; else None."""
    return output if output is not None and output.suffix == ".json" and not output.is_dir() else None


def run_folder(output: Path | None) -> Path | None:
    """The run folder that ``-o`` names, if it names one and no file of results."""
    return output if results_file(output) is None else None


def _question_seed(options: RunOptions) -> int:
    """The seed of generated questions: the given one, that of the run to resume, or a random one."""
    if options.seed is not None:
        return options.seed
    if options.incremental:
        stored = RunFolder(run_folder(options.output_dir) or latest_run()).read_manifest().settings.question_seed
        if stored is not None:
            return stored
    # 53 bits: every reader of JSON keeps such a number whole.
    return secrets.randbits(53)


def places(load: LoadShape, stated: int | None, entries: Sequence[Entry]) -> int:
    """Requests in flight per account: as stated, else 5, else in an open loop as many as this system has files for."""
    if stated is not None or not load.is_open:
        return PLACES if stated is None else stated
    accounts = len({entry.account for entry in entries}) or 1
    return max(1, min(MOST_PLACES, most_connections() // accounts))


def asked_entries(
    entries: Sequence[Entry], max_cost_usd: float | None, *, use_raw_completions: bool = False
) -> tuple[Entry, ...]:
    """The entries as they are asked: priced, and by raw in place of chat completions where that is wanted."""
    if use_raw_completions:
        if not any(entry.wire in (CHAT, RAW) for entry in entries):
            raise UsageError("--use-raw-completions: no entry uses chat completions, which they would replace")
        entries = [structs.replace(entry, wire=RAW) if entry.wire == CHAT else entry for entry in entries]
    now = datetime.now(UTC)
    priced = tuple(structs.replace(entry, price=entry.price or listed_price(entry, now)) for entry in entries)
    unknown = [f"{each.model}: {each.label}" for each in priced if each.price is None and not each.is_simulated]
    if unknown and max_cost_usd is not None:
        words = f"the price of {', '.join(unknown)} is not known; add `price: {{input: …, output: …}}` to the entry"
        raise ProblemsError([Problem(words, key="--max-cost")])
    for entry in priced:
        if entry.is_simulated and entry.wire != CHAT:
            raise UsageError(
                f"{entry.model} / {entry.label}: simulated vendors answer chat completions only; "
                f"remove `validator: {entry.wire}` or --use-raw-completions"
            )
    return priced


def listed_price(entry: Entry, at: datetime) -> Price | None:
    """The list price of the entry's model at the vendor behind its address, else at the vendor called so.

    Where a price depends on the length of the prompt the lowest tier is taken and ``source`` says so.
    """
    url = entry.endpoint.base_url
    if entry.is_local:
        return None
    # Loaded only where it is needed, because it is slow to load.
    from genai_prices.data_snapshot import get_snapshot
    from genai_prices.types import TieredPrices

    snapshot = get_snapshot()
    for provider_id, address in ((None, url), (entry.vendor, None)):
        try:
            provider, model = snapshot.find_provider_model(entry.endpoint.model_id, None, provider_id, address)
        except LookupError:
            continue
        if provider_id is not None and provider.id != provider_id:
            continue  # the list also matches parts of names, and "my-openai-proxy" is not OpenAI
        prices = model.get_prices(at)
        tiers = {name: getattr(prices, f"{name}_mtok") for name in ("input", "output", "cache_read")}
        flat = {name: price.base if isinstance(price, TieredPrices) else price for name, price in tiers.items()}
        if flat["input"] is None or flat["output"] is None:
            continue
        per_1000 = prices.requests_kcount
        tiered = any(isinstance(price, TieredPrices) for price in tiers.values())
        return Price(
            input=float(flat["input"]),
            output=float(flat["output"]),
            cached=None if flat["cache_read"] is None else float(flat["cache_read"]),
            request=0.0 if isinstance(per_1000, TieredPrices) else float(per_1000 or 0) / 1000,
            source=f"genai-prices: {provider.id}/{model.id}" + (", lowest tier" if tiered else ""),
        )
    return None


def run_wires(entries: Sequence[Entry], tokenizer_model: str | None) -> Mapping[str, Wire]:
    """The wires of a run by name."""
    if not any(entry.wire == RAW for entry in entries):
        if tokenizer_model is not None:
            raise UsageError(
                f"--tokenizer-model renders the prompts of raw completions, which no entry uses; add "
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
