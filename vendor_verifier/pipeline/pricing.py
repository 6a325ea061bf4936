"""Which price each entry of a run is reckoned at, and what its answers cost at that price; it judges no vendor.

The config's price stands first. The list's is looked up when the run begins and kept in its manifest, so that the same
records cost the same whatever later lists say; only runs that kept none are reckoned at the list of today.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from vendor_verifier.compare.columns import Columns
from vendor_verifier.compare.money import cost_ratios, money
from vendor_verifier.compare.ratios import Unit
from vendor_verifier.compare.trials import Trials
from vendor_verifier.errors import RunFolderError, UsageError
from vendor_verifier.pipeline.auditing import Audit
from vendor_verifier.pipeline.simulation import SCHEME
from vendor_verifier.prices import listed_price, price_from_config
from vendor_verifier.values.judgement import Money, Price
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.score import VendorScore

STORED = "listed_price"
_GOOD_CALLS = ("valid", "empty_arguments", "valid_in_dialect")


def told_price(entry: Entry, at: datetime) -> dict[str, Any]:
    """What a manifest keeps of the list's price of ``entry``: ``None`` when the config states one or nobody knows."""
    if entry.price is not None or entry.endpoint.base_url.startswith(SCHEME):
        return {STORED: None}
    found = listed_price(entry.endpoint.model_id, entry.endpoint.base_url, entry.vendor, at)
    return {STORED: None if found is None else asdict(found)}


def prices_of(
    model: str, labels: Iterable[str], entries: Mapping[tuple[str, str], Mapping[str, Any]], manifest: Mapping[str, Any]
) -> Iterator[tuple[str, Price]]:
    """Label → price, for those whose price is known; ``entries`` are the manifest's.

    Raises:
        RunFolderError: a stored price is damaged.
    """
    at = _moment(manifest.get("created_at"))
    for label in labels:
        price = _price(entries.get((model, label), {}), f"{model}: {label}", at)
        if price is not None:
            yield label, price


def _price(entry: Mapping[str, Any], where: str, at: datetime) -> Price | None:
    if entry.get("price"):
        try:
            return price_from_config(entry["price"], where)
        except UsageError:
            return None  # said before anything was sent
    if STORED in entry:
        try:
            return msgspec.convert(entry[STORED], Price | None)
        except msgspec.ValidationError as error:
            raise RunFolderError(f"manifest.json: the {STORED} of {where} is damaged: {error}") from None
    url = str(entry.get("url") or "")
    if not url or url.startswith(SCHEME):
        return None
    return listed_price(str(entry.get("model_id") or ""), url, str(entry.get("vendor") or ""), at)


def with_costs(trials: Trials, columns: Columns, audit: Audit, price: Price | None) -> Trials:
    """The same with what its answers cost, if its price is known."""
    if price is None:
        return trials
    valid: dict[Unit, int] = {}
    for (_, sample, repetition), facts, _ in columns.rows.entries():
        good = sum(each in _GOOD_CALLS for each in facts.classes)
        valid[sample, repetition] = valid.get((sample, repetition), 0) + good
    costs = cost_ratios(audit.attempts, price, valid, valid)
    return replace(trials, ratios={**trials.ratios, **costs})


def money_of(vendor: VendorScore, audit: Audit, price: Price | None) -> Money | None:
    """What one vendor's answers cost, if its price is known and it gave any."""
    if price is None or not vendor.recorded:
        return None
    schema = vendor.schema
    valid = schema.valid_strict if schema.policy == "strict" else schema.valid_lenient
    return money(
        audit.attempts, price, requests=vendor.recorded, valid_calls=valid, duplicates=audit.duplicated_attempts
    )


def _moment(told: object) -> datetime:
    """When the run began, for prices that change; an unreadable time is the oldest there is."""
    try:
        found = datetime.fromisoformat(str(told))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
