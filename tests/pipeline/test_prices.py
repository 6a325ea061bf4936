"""The config's price wins, the list speaks for the vendor itself only, and no price is made up."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from vendor_verifier.errors import UsageError
from vendor_verifier.pipeline.prices import listed_price, price_from_config, price_of
from vendor_verifier.records.plan import Entry
from vendor_verifier.records.request import Endpoint

WHEN = datetime(2025, 11, 1, 12, tzinfo=UTC)


def entry(model_id: str, url: str, vendor: str, price: dict[str, Any] | None = None) -> Entry:
    return Entry("m", vendor, vendor, Endpoint(url, model_id), "openai", "account", price=price)


def test_the_configs_price_wins() -> None:
    """Whatever the list says, what was agreed is what is paid."""
    found = price_of(entry("gpt-4o", "https://api.openai.com/v1", "openai", {"input": 9.0, "output": 9.5}), WHEN)
    assert found is not None
    assert (found.input, found.output, found.source) == (9.0, 9.5, "config")


def test_the_list_knows_the_vendor_by_address_or_name() -> None:
    """The same model by its own address and by its vendor's name, with the source told."""
    by_url = listed_price("gpt-4o", "https://api.openai.com/v1", "anything", WHEN)
    by_name = listed_price("gpt-4o", "https://gateway.example/v1", "openai", WHEN)
    assert by_url == by_name
    assert by_url is not None
    assert by_url.output > by_url.input > 0
    assert "genai-prices: openai/gpt-4o" in by_url.source


@pytest.mark.parametrize(
    ("model", "url", "vendor"),
    [
        ("gpt-4o", "https://reseller.example/v1", "acme"),
        ("gpt-4o", "https://reseller.example/v1", "my-openai-proxy"),
        ("no-such-model", "https://api.openai.com/v1", "openai"),
    ],
)
def test_no_price_is_borrowed(model: str, url: str, vendor: str) -> None:
    """A reseller does not get the maker's price, nor an unknown model its neighbour's."""
    assert listed_price(model, url, vendor, WHEN) is None


def test_a_server_on_this_machine_is_priced_by_a_known_name_only() -> None:
    """A gateway to a vendor goes by the vendor's name; a model of one's own costs what the config says."""
    by_name = listed_price("gpt-4o", "http://127.0.0.1:4000/v1", "openai", WHEN)
    assert by_name == listed_price("gpt-4o", "https://api.openai.com/v1", "openai", WHEN)
    assert by_name is not None
    assert listed_price("gpt-4o", "http://localhost:8000/v1", "mistral", WHEN) is None


def test_the_list_is_not_loaded_where_it_has_nothing_to_say() -> None:
    """Loading it costs more than a small run: not for a server on this machine."""
    code = (
        "import sys; from datetime import datetime; from vendor_verifier.pipeline.prices import listed_price;"
        "assert listed_price('m', 'http://[::1]:8000/v1', 'mine', datetime.now()) is None;"
        "sys.exit(str(found) if (found := {'genai_prices', 'pydantic', 'httpx2'} & set(sys.modules)) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_price_in_yuan_needs_its_rate() -> None:
    """Without the rate the sum would be wrong by a factor of seven; the message says what to add."""
    with pytest.raises(UsageError, match=r"m: v: price is in CNY; add `rate:`"):
        price_from_config({"input": 1.5, "output": 7.5, "currency": "CNY"}, "m: v")
    found = price_from_config({"input": 1.5, "output": 7.5, "currency": "CNY", "rate": 0.14, "cached": None}, "m: v")
    assert (found.currency, found.rate, found.cached) == ("CNY", 0.14, None)


def test_half_a_price_is_refused() -> None:
    """Input without output would make answers free; a price per request alone is a whole one."""
    for half in ({"input": 1.0}, {"output": 1.0}, {"cached": 1.0}):
        with pytest.raises(UsageError, match="needs both"):
            price_from_config(half, "m: v")
    assert price_from_config({"request": 0.01}, "m: v").request == 0.01
