"""The price of each entry: the config's first, else the list that ships with genai-prices.

A price is only taken for the vendor itself, by address or exact name. A model's price elsewhere says nothing about a
reseller, and a server on this machine has none. It is stored in the manifest: the same records always cost the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlsplit

from msgspec import structs

from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.records.plan import Entry, Plan, Price
from vendor_verifier.run.budgets import CostOf
from vendor_verifier.scoring.money import cost_usd
from vendor_verifier.transport.proxies import is_loopback


def with_prices(entries: Sequence[Entry], max_cost_usd: float | None) -> tuple[Entry, ...]:
    """The entries with the list's price where the config states none.

    Raises:
        ProblemsError: a cost limit is set and the price of an entry is not known.
    """
    now = datetime.now(UTC)
    priced = tuple(structs.replace(entry, price=entry.price or listed_price(entry, now)) for entry in entries)
    unknown = [f"{each.model}: {each.label}" for each in priced if each.price is None and not each.is_simulated]
    if unknown and max_cost_usd is not None:
        words = f"the price of {', '.join(unknown)} is not known; add `price: {{input: …, output: …}}` to the entry"
        raise ProblemsError([Problem(words, key="--max-cost")])
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
