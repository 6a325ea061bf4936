"""What ``--dry-run`` prints: the requests of a run, its time and its cost, before anything is sent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from vendor_verifier.cli.output import duration
from vendor_verifier.pipeline.estimate import (
    ANSWER_S,
    ANSWER_TOKENS,
    BYTES_PER_TOKEN,
    EntryForecast,
    Forecast,
    forecast,
)
from vendor_verifier.pipeline.manifest import stored_load
from vendor_verifier.pipeline.plan import Prepared
from vendor_verifier.records.manifest import load_text
from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.formats import usd
from vendor_verifier.text import counted

_WIDTH = 1_000
# Below this a verdict has too little evidence, see docs/verdict.md.
ENOUGH_SAMPLES = 150


def print_dry_run(prepared: Prepared, *, as_json: bool) -> None:
    """Print the estimate of a prepared run on stdout, as lines of text or as JSON.

    Raises:
        UsageError: a price of the config is invalid.
    """
    foreseen = forecast(prepared, datetime.now(UTC))
    if as_json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(foreseen), indent=2).decode() + "\n")
        return
    for line in _lines(prepared, foreseen):
        text = line.lstrip()
        sys.stdout.write(" " * (len(line) - len(text)) + plain(text, _WIDTH) + "\n")


def _lines(prepared: Prepared, foreseen: Forecast) -> Iterator[str]:
    """The tasks, two lines for each vendor, the totals and what they assume."""
    plan = prepared.plan
    for task in plan.tasks:
        dataset = prepared.datasets[task.suite]
        times = "as often as time allows" if plan.load.plans_by_doing else counted(plan.repeat, "time")
        yield f"{task.suite}: {counted(len(task.samples), 'sample')} of {dataset.name}, sent {times}"
    if (load := stored_load(plan.load)) is not None:
        yield f"load: {load_text(load)}"
    for entry, each in zip(plan.entries, foreseen.entries, strict=True):
        baseline = " (baseline)" if entry.is_baseline else ""
        key = f"key from {entry.key_name}" if entry.key_name else "no key"
        yield f"{entry.model} / {entry.label}{baseline}: {entry.endpoint.base_url}, {entry.endpoint.model_id}, {key}"
        at_once = f"at most {each.concurrency}" if each.is_open else str(each.concurrency)
        limit = "no limit" if each.output_ceiling_tokens is None else f"at most {each.output_ceiling_tokens:,}"
        requests = counted(f"{each.requests:,}", "request")
        yield f"  {requests}, {at_once} at a time, about {duration(each.duration_s)}, {_money(each)}"
        yield f"  about {each.input_tokens:,} tokens in and {each.output_tokens:,} out ({limit})"
    money = "unknown price"
    if foreseen.unpriced < len(foreseen.entries):
        more = f" and {counted(foreseen.unpriced, 'vendor')} without a known price" if foreseen.unpriced else ""
        money = f"about {usd(foreseen.cost_usd)}{more}" if foreseen.cost_usd else "free"
    requests = counted(f"{foreseen.requests:,}", "request")
    yield f"total: {requests}, up to {foreseen.retries} retries each, about {duration(foreseen.duration_s)}, {money}"
    if foreseen.max_requests is not None:
        yield f"--max-requests stops the run after {foreseen.max_requests:,} requests, retries included"
    if foreseen.max_cost_usd is not None:
        yield f"--max-cost stops the run at about {usd(foreseen.max_cost_usd)}"
    if foreseen.compared is None:
        has_baseline = any(entry.is_baseline for entry in plan.entries)
        what = "set --baseline-repeats 2" if has_baseline else "it needs a baseline (`is_baseline: true`)"
        yield f"verdict: no comparison; {what}"
    elif foreseen.compared < ENOUGH_SAMPLES:
        samples = counted(foreseen.compared, "sample")
        yield f"verdict: {samples} are too few to recommend a vendor; use {ENOUGH_SAMPLES} or more"
    yield (
        f"assumptions: {BYTES_PER_TOKEN:g} bytes a token; {ANSWER_TOKENS} tokens and {ANSWER_S:g} s an answer; "
        "no caching, no tool calls that lead to further requests"
    )
    yield "nothing was sent"


def _money(estimate: EntryForecast) -> str:
    if estimate.price is None or estimate.cost_usd is None:
        return "unknown price (add `price:` to the entry)"
    if estimate.price.source == "simulated":
        return "free"
    most = "no upper limit" if estimate.cost_ceiling_usd is None else f"at most {usd(estimate.cost_ceiling_usd)}"
    return f"about {usd(estimate.cost_usd)} ({most}; price: {estimate.price.source})"
