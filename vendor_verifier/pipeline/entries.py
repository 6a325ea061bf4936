"""The entries of a run as they are asked: their wires and their prices.

The config's price goes first, else the list that ships with genai-prices. A price is only taken for the vendor itself,
by address or exact name. A model's price elsewhere says nothing about a reseller, and a server on this machine has
none. It is stored in the manifest: the same records always cost the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlsplit

from msgspec import structs

from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.records.plan import Entry, Plan, Price
from vendor_verifier.registry import WIRES
from vendor_verifier.run.budgets import CostOf
from vendor_verifier.scoring.money import cost_usd
from vendor_verifier.transport.proxies import is_loopback
from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_completions import OpenAICompletions

CHAT = "openai"
RAW = OpenAICompletions().name


def asked_entries(
    entries: Sequence[Entry], max_cost_usd: float | None, *, use_raw_completions: bool = False
) -> tuple[Entry, ...]:
    """The entries as they are asked: priced, and with raw in place of chat completions if so it was said."""
    if use_raw_completions:
        if not any(entry.wire in (CHAT, RAW) for entry in entries):
            raise UsageError("--use-raw-completions: no entry is asked for chat completions, which they would replace")
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
    if entry.is_simulated or is_loopback(urlsplit(url).hostname or ""):
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


def costs_of(plan: Plan) -> dict[tuple[str, str], CostOf]:
    """By (model, label) the cost function from usage to US dollars, of entries whose price is known."""
    return {
        (entry.model, entry.label): partial(cost_usd, price=entry.price)
        for entry in plan.entries
        if entry.price is not None
    }


def run_wires(entries: Sequence[Entry], tokenizer_model: str | None) -> Mapping[str, Wire]:
    """The wires of a run by name."""
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
