"""The estimate of ``--dry-run``: what the plan says; it needs neither key nor vendor."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import ProblemsError
from vendor_verifier.pipeline.estimate import Forecast, forecast
from vendor_verifier.pipeline.plan import asked_entries, listed_price, prepare
from vendor_verifier.records.plan import Entry, Price
from vendor_verifier.records.request import Endpoint

CONFIG = """\
some-model:
  vendors:
    - name: simulated
      label: priced
      model_id: some-model
      url: https://priced.invalid/v1
      api_key: ${PRICED_KEY}
      validator: openai
      price: {input: 1.0, output: 2.0, request: 0.01}
      is_baseline: true
    - name: simulated
      label: unknown
      model_id: no-such-model-anywhere
      url: https://unknown.invalid/v1
      validator: openai
"""


def _forecast(bench: Any, config: str = CONFIG, **changes: Any) -> Forecast:
    file = bench.write("config.yaml", config)
    options = {"config_file_path": file, "test_file_path": str(bench.samples(10)), "baseline_repeats": 1, **changes}
    return forecast(prepare(RunOptions(**options), {}, require_keys=False))


def test_requests_tokens_and_money_are_those_of_samples_repeats(bench: Any) -> None:
    """Requests, input by size, output by assumption, price of each; an unknown price is in no sum and said."""
    whole = _forecast(bench, repeat=2, max_tokens=1000, request_concurrency=4)
    found, unknown = whole.entries
    assert (found.requests, found.records, found.concurrency) == (20, 20, 4)
    assert found.output_tokens == 4_000
    size = len((bench.folder / "samples.jsonl").read_bytes())
    assert 0.5 * size < 2 * found.input_tokens < size
    fee = 20 * 0.01
    assert found.cost_usd == pytest.approx(fee + (found.input_tokens * 1.0 + 4_000 * 2.0) / 1e6)
    assert (unknown.price, unknown.cost_usd, whole.unpriced, whole.cost_usd) == (None, None, 1, found.cost_usd)
    assert found.duration_s == 5 * 5.0
    unpriced = _forecast(bench, CONFIG.replace("      price: {input: 1.0, output: 2.0, request: 0.01}\n", ""))
    assert (unpriced.unpriced, unpriced.cost_usd) == (2, None)
    assert [_forecast(bench, baseline_repeats=repeats).compared for repeats in (2, 1)] == [10, None]


def test_a_simulated_vendor_is_free_unless_a_price_is_stated(bench: Any) -> None:
    """A price in the config is meant, whoever answers."""
    text = CONFIG.replace("https://priced.invalid/v1", "sim://faithful")
    text = text.replace("https://unknown.invalid/v1", "sim://slow").replace("      api_key: ${PRICED_KEY}\n", "")
    priced, free = _forecast(bench, text).entries
    assert priced.price is not None
    assert free.price is not None
    assert (priced.price.source, free.price.source) == ("config", "simulated")
    assert (priced.cost_usd or 0) > 0.1
    assert free.cost_usd == 0
    text = CONFIG.replace("https://priced.invalid/v1", "sim://faithful")
    bench.write("config.yaml", text.replace("      price: {input: 1.0, output: 2.0, request: 0.01}\n", ""))
    assert "free and 1 vendor without" in bench("run", "--dry-run", "--test-file-path", bench.samples(4))[1]


def test_a_dry_run_reads_no_key_and_sends_nothing(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses that do not exist and a key that is not set: exit code 0, and what a buyer looks for."""
    monkeypatch.delenv("PRICED_KEY", raising=False)
    (bench.folder / "config.yaml").write_text(CONFIG)
    samples = bench.samples(300)
    code, out, err = bench("run", "--dry-run", "--test-file-path", samples, "--max-requests", "50")
    assert code == 0, err
    assert "some-model / priced (baseline): https://priced.invalid/v1 (openai), some-model, key from PRICED_KEY" in out
    assert "  300 requests, 5 at a time, about 5 min, unknown price (add `price:` to the entry)" in out
    assert "--max-requests stops the run after 50 requests" in out
    assert out.endswith("nothing was sent\n")
    assert not (bench.folder / "runs").exists()
    document = json.loads(bench("run", "--dry-run", "--test-file-path", samples, "--json")[1])
    assert [entry["price"] and entry["price"]["source"] for entry in document["entries"]] == ["config", None]


@pytest.mark.parametrize(
    ("load", "requests", "seconds"),
    [
        ({"request_rate": 5, "warmup": 2}, 12, 12 / 5 + 5),
        ({"request_rate": 5, "duration": 6, "ramp_up": 2}, 25, 6 + 5),
        ({"duration": 20}, 5 * 4, 20 + 5),
        ({"warmup": 5}, 15, 3 * 5),
    ],
)
def test_a_load_estimate_includes_uncounted_requests(
    bench: Any, load: dict[str, Any], requests: int, seconds: float
) -> None:
    """Rate × time, or as many as five at a time answer in it; tokens and money follow, and the time is the load's."""
    shaped = _forecast(bench, **load).entries[0]
    plain = _forecast(bench).entries[0]
    assert (shaped.requests, shaped.records) == (requests, requests)
    assert shaped.duration_s == pytest.approx(seconds)
    assert shaped.input_tokens == pytest.approx(plain.input_tokens * requests / 10, abs=1)


WHEN = datetime(2025, 11, 1, 12, tzinfo=UTC)


def entry(model_id: str, url: str, vendor: str, price: Price | None = None) -> Entry:
    is_local = "127.0.0.1" in url
    return Entry("m", vendor, vendor, Endpoint(url, model_id), "openai", "account", price=price, is_local=is_local)


def test_the_configs_price_wins() -> None:
    """Whatever the list says, what was agreed is what is paid; a limit on costs needs a price."""
    agreed = Price(9.0, 9.5)
    given, listed = asked_entries(
        [entry("gpt-4o", "https://api.openai.com/v1", "openai", price) for price in (agreed, None)], None
    )
    assert given.price == agreed
    assert listed.price is not None
    assert listed.price.source == "genai-prices: openai/gpt-4o"
    with pytest.raises(ProblemsError, match="the price of m: acme is not known"):
        asked_entries([entry("gpt-4o", "https://reseller.example/v1", "acme")], 3.0)


@pytest.mark.parametrize(
    ("model", "url", "vendor", "known"),
    [
        ("gpt-4o", "https://api.openai.com/v1", "anything", True),
        ("gpt-4o", "https://gateway.example/v1", "openai", True),
        ("gpt-4o", "https://reseller.example/v1", "acme", False),
        ("gpt-4o", "https://reseller.example/v1", "my-openai-proxy", False),
        ("gpt-4o", "http://127.0.0.1:4000/v1", "openai", False),
        ("no-such-model", "https://api.openai.com/v1", "openai", False),
    ],
)
def test_no_price_is_borrowed(model: str, url: str, vendor: str, known: bool) -> None:
    """A reseller or a server of one's own does not get the maker's price, nor an unknown model its neighbour's."""
    price = listed_price(entry(model, url, vendor), WHEN)
    assert (price is not None) == known
    assert price is None or price.output > price.input > 0
