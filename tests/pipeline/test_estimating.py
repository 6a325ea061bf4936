"""The estimate of ``--dry-run``: what the plan says; it needs neither key nor vendor."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.pipeline.estimate import Forecast, forecast
from vendor_verifier.pipeline.plan import prepare

NOW = datetime(2026, 1, 1, tzinfo=UTC)
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


def _forecast(bench: Any, **changes: Any) -> Forecast:
    (bench.folder / "config.yaml").write_text(CONFIG)
    if "test_file_path" not in changes:
        changes["test_file_path"] = bench.samples(10)
    changes = {"baseline_repeats": 1, **changes}
    options = RunOptions(config_file_path=Path("config.yaml"), **changes)
    return forecast(prepare(options, {}, require_keys=False), NOW)


def test_requests_tokens_and_money_are_those_of_samples_repeats(bench: Any) -> None:
    """10 samples, twice: requests, input by size, output by assumption, its ceiling by max_tokens, price of each."""
    found = _forecast(bench, repeat=2, max_tokens=1000, request_concurrency=4).entries[0]
    assert (found.requests, found.records, found.concurrency) == (20, 20, 4)
    assert (found.output_tokens, found.output_ceiling_tokens) == (4_000, 20_000)
    size = len((bench.folder / "samples.jsonl").read_bytes())
    assert 0.5 * size < 2 * found.input_tokens < size
    fee = 20 * 0.01
    assert found.cost_usd == pytest.approx(fee + (found.input_tokens * 1.0 + 4_000 * 2.0) / 1e6)
    assert found.cost_ceiling_usd == pytest.approx(fee + (found.input_tokens * 1.0 + 20_000 * 2.0) / 1e6)
    assert found.duration_s == 5 * 5.0


def test_the_baseline_is_asked_as_often_as_its_own_repeats_say(bench: Any) -> None:
    """Twice the requests, records and tokens of the others."""
    baseline, other = _forecast(bench, baseline_repeats=2).entries
    assert (baseline.requests, baseline.records, other.requests) == (20, 20, 10)
    assert baseline.input_tokens == 2 * other.input_tokens


def test_an_answer_is_never_supposed_longer_than_its_limit(bench: Any) -> None:
    """max_tokens below the assumption is what is counted."""
    found = _forecast(bench, max_tokens=50).entries[0]
    assert found.output_tokens == found.output_ceiling_tokens == 500


def test_probes_cost_cents_and_the_smallest_answer(bench: Any) -> None:
    """1,224 requests for one token, 16 over Responses, which takes no smaller budget; 67 probes with known answers."""
    (bench.folder / "config.yaml").write_text(CONFIG.replace("openai\n      price", "openai_responses\n      price"))
    options = RunOptions(config_file_path=Path("config.yaml"), suite=("probes",), baseline_repeats=1)
    responses, chat = forecast(prepare(options, {}, require_keys=False), NOW).entries
    assert (responses.requests, chat.requests) == (1_291, 1_291)
    assert responses.output_tokens - chat.output_tokens == 15 * 1_224
    assert responses.output_ceiling_tokens == chat.output_ceiling_tokens + 15 * 1_224
    assert chat.input_tokens < 150_000


def test_without_max_tokens_there_is_no_ceiling(bench: Any) -> None:
    """Unlimited is not zero: neither tokens nor money get a number."""
    found = _forecast(bench)
    assert found.entries[0].output_ceiling_tokens is None
    assert found.entries[0].cost_ceiling_usd is None
    assert found.cost_ceiling_usd is None


def test_an_unknown_price_is_said_and_never_taken_for_free(bench: Any) -> None:
    """It is counted as unpriced and leaves the sum without a ceiling."""
    found = _forecast(bench, max_tokens=50)
    assert (found.entries[1].price, found.entries[1].cost_usd, found.unpriced) == (None, None, 1)
    assert found.cost_usd == found.entries[0].cost_usd
    assert found.cost_ceiling_usd is None


def test_a_simulated_vendor_is_free_unless_a_price_is_stated(bench: Any) -> None:
    """A price in the config is meant, whoever answers."""
    text = CONFIG.replace("https://priced.invalid/v1", "sim://faithful")
    text = text.replace("https://unknown.invalid/v1", "sim://slow")
    (bench.folder / "config.yaml").write_text(text.replace("      api_key: ${PRICED_KEY}\n", ""))
    request = RunOptions(config_file_path=Path("config.yaml"), baseline_repeats=1, test_file_path=bench.samples(10))
    priced, free = forecast(prepare(request, {}, require_keys=False), NOW).entries
    assert priced.price is not None
    assert free.price is not None
    assert (priced.price.source, free.price.source) == ("config", "simulated")
    assert (priced.cost_usd or 0) > 0.1
    assert free.cost_usd == 0


def test_one_vendor_at_a_time_takes_the_sum_and_all_at_once(bench: Any) -> None:
    """Time follows --vendor-concurrency."""
    together, one_by_one = _forecast(bench), _forecast(bench, vendor_concurrency=1)
    assert one_by_one.duration_s == 2 * together.duration_s > 0


def test_conversations_are_counted_turn_by_turn(bench: Any) -> None:
    """An evaluation that asks more than once per sample makes more requests than records."""
    found = _forecast(bench, suite=("contract",), test_file_path=None).entries[0]
    assert found.requests >= found.records > 0
    assert _forecast(bench, suite=("contract",), test_file_path=None).compared is None


@pytest.mark.parametrize(("repeats", "compared"), [(2, 10), (1, None)])
def test_only_a_baseline_that_is_asked_twice_compares(bench: Any, repeats: int, compared: int | None) -> None:
    """Samples are compared with two answers of the baseline."""
    assert _forecast(bench, baseline_repeats=repeats).compared == compared


def test_a_dry_run_reads_no_key_and_sends_nothing(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses that do not exist and a key that is not set: exit code 0, and what a buyer looks for."""
    monkeypatch.delenv("PRICED_KEY", raising=False)
    (bench.folder / "config.yaml").write_text(CONFIG)
    samples = bench.samples(300)
    code, out, err = bench("run", "--dry-run", "--test-file-path", samples, "--max-requests", "50", "--max-cost", "3")
    assert code == 0, err
    assert "some-model / priced (baseline): https://priced.invalid/v1, some-model, key from PRICED_KEY" in out
    assert "  300 requests, 5 at a time, about 5 min, unknown price (add `price:` to the entry)" in out
    assert "--max-requests stops the run after 50 requests" in out
    assert out.endswith("nothing was sent\n")
    assert not (bench.folder / "runs").exists()


def test_a_dry_run_prints_json(bench: Any) -> None:
    """The same figures for programs."""
    (bench.folder / "config.yaml").write_text(CONFIG)
    code, out, _ = bench("run", "--dry-run", "--test-file-path", bench.samples(4), "--json")
    document = json.loads(out)
    assert code == 0
    assert [entry["label"] for entry in document["entries"]] == ["priced", "unknown"]
    assert document["entries"][1]["price"] is None


@pytest.mark.parametrize(
    ("load", "requests", "seconds"),
    [
        ({"request_rate": 5, "warmup": 2}, 12, 12 / 5 + 5),
        ({"request_rate": 5, "duration": 6, "ramp_up": 2}, 25, 6 + 5),
        ({"duration": 20}, 5 * 4, 20 + 5),
        ({"warmup": 5}, 15, 3 * 5),
    ],
)
def test_a_load_is_foretold_with_what_is_thrown_away(
    bench: Any, load: dict[str, Any], requests: int, seconds: float
) -> None:
    """Rate × time, or as many as five at a time answer in it; tokens and money follow, and the time is the load's."""
    shaped = _forecast(bench, **load).entries[0]
    plain = _forecast(bench).entries[0]
    assert (shaped.requests, shaped.records) == (requests, requests)
    assert shaped.duration_s == pytest.approx(seconds)
    assert shaped.input_tokens == pytest.approx(plain.input_tokens * requests / 10, abs=1)
