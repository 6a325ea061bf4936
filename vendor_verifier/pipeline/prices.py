"""The price of each entry: the config's first, else the list that ships with genai-prices; and the costs by it.

A price is only taken for the vendor itself, by address or exact name. A model's price elsewhere says nothing about a
reseller, and a server on this machine is a vendor's only where it goes by the name of one that ships with us.

The list's price is looked up when the run begins and stored in its manifest, so that the same records cost the same
whatever later lists state.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import to_builtins

from vendor_verifier.errors import Problem, ProblemsError, RunFolderError, UsageError
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.plan import SIMULATED, Entry, Plan
from vendor_verifier.registry import find_vendors
from vendor_verifier.resources import shipped
from vendor_verifier.run.budgets import CostOf
from vendor_verifier.scoring.money import Money, Price, cost_usd, money
from vendor_verifier.transport.proxies import is_loopback

if TYPE_CHECKING:
    from vendor_verifier.scoring.table import Frames


def price_of(entry: Entry, at: datetime) -> Price | None:
    """The price of an entry's tokens at the moment ``at``, or ``None`` when it is unknown.

    Raises:
        UsageError: the config's price is in another currency than USD and has no rate, or lacks input or output.
    """
    if entry.price is not None:
        return price_from_config(entry.price, f"{entry.model}: {entry.label}")
    return listed_price(entry.endpoint.model_id, entry.endpoint.base_url, entry.vendor, at)


def price_from_config(price: Mapping[str, Any], where: str) -> Price:
    """``price:`` of config.yaml as a value; a price per request alone makes tokens free.

    Raises:
        UsageError: a currency other than USD without its rate, or only one of input and output.
    """
    given = {name: value for name, value in price.items() if value is not None}
    currency = given.get("currency", "USD")
    if currency != "USD" and "rate" not in given:
        raise UsageError(f"{where}: price is in {currency}; add `rate:`, US dollars for one {currency}")
    if ("input" in given) != ("output" in given) or not {"input", "request"} & given.keys():
        raise UsageError(f"{where}: price needs both `input` and `output` per million tokens, or `request`")
    return Price(
        input=given.get("input", 0.0),
        output=given.get("output", 0.0),
        cached=given.get("cached"),
        reasoning=given.get("reasoning"),
        request=given.get("request", 0.0),
        currency=currency,
        rate=given.get("rate", 1.0),
    )


def listed_price(model_id: str, base_url: str, vendor: str, at: datetime) -> Price | None:
    """The list price of ``model_id`` at the vendor behind ``base_url``, else at the vendor called so.

    Where a price depends on the length of the prompt the lowest tier is taken and ``source`` says so.
    """
    if not _has_list_price(base_url, vendor):
        return None
    # Loaded only where it is needed, because it is slow to load.
    from genai_prices.data_snapshot import get_snapshot
    from genai_prices.types import TieredPrices

    snapshot = get_snapshot()
    for provider_id, url in ((None, base_url), (vendor, None)):
        try:
            provider, model = snapshot.find_provider_model(model_id, None, provider_id, url)
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


def _has_list_price(base_url: str, vendor: str) -> bool:
    if base_url.startswith(SIMULATED):
        return False
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:  # of a damaged manifest
        return True
    if not is_loopback(host):
        return True
    known = find_vendors().vendors.get(vendor)
    return known is not None and Path(known.source).parent == shipped("vendors")


def costs_of(plan: Plan) -> dict[tuple[str, str], CostOf]:
    """The cost function of each entry, from usage to US dollars; empty when the plan limits no cost.

    Raises:
        UsageError: a cost limit is set and the price of an entry is not known.
    """
    if plan.max_cost_usd is None:
        return {}
    costs = known_costs(plan)
    names = {(entry.model, entry.label) for entry in plan.entries if not entry.is_simulated}
    if unknown := sorted(names - costs.keys()):
        listed = ", ".join(f"{model}: {label}" for model, label in unknown)
        words = f"the price of {listed} is not known; add `price: {{input: …, output: …}}` to the entry"
        raise ProblemsError([Problem(words, key="--max-cost")])
    return costs


def known_costs(plan: Plan) -> dict[tuple[str, str], CostOf]:
    """By (model, label) the cost function from usage to US dollars, of entries whose price is known."""
    now = datetime.now(UTC)
    prices = {(entry.model, entry.label): price_of(entry, now) for entry in plan.entries}
    return {name: partial(cost_usd, price=price) for name, price in prices.items() if price is not None}


STORED = "listed_price"


def stored_price(entry: Entry, at: datetime) -> dict[str, Any]:
    """The manifest's key with the list price of ``entry``; ``None`` when the config states one or it is unknown."""
    if entry.price is not None:
        return {STORED: None}
    found = listed_price(entry.endpoint.model_id, entry.endpoint.base_url, entry.vendor, at)
    return {STORED: None if found is None else to_builtins(found)}


def run_prices(manifest: Manifest) -> dict[tuple[str, str], Price]:
    """The prices by (model, label) that a stored run is scored with.

    Raises:
        RunFolderError: a stored price is damaged.
    """
    prices: dict[tuple[str, str], Price] = {}
    for raw, entry in zip(manifest.raw["entries"], manifest.entries, strict=True):
        where = f"{entry.model}: {entry.label}"
        try:
            stated = raw.get("price")
            found = price_from_config(stated, where) if stated else msgspec.convert(raw.get(STORED), Price | None)
        except UsageError:
            continue  # reported before anything was sent
        except msgspec.ValidationError as error:
            raise RunFolderError(f"manifest.json: the {STORED} of {where} is damaged: {error}") from None
        if found is not None:
            prices[entry.key] = found
    return prices


def run_money(
    manifest: Manifest, frames: Frames, prices: Mapping[tuple[str, str], Price]
) -> dict[tuple[str, str], Money]:
    """The cost of every vendor with a known price by (model, label)."""
    score, found = manifest.score, {}
    for (model, label), price in prices.items():
        records, attempts = (
            part[(part["model"] == model) & (part["label"] == label)] for part in (frames.records, frames.attempts)
        )
        spent = money(
            records,
            attempts,
            price,
            policy=score.schema_policy,
            monthly_requests=score.monthly_requests,
            monthly_tokens=score.monthly_tokens,
        )
        if spent is not None:
            found[model, label] = spent
    return found
