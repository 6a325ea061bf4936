"""Forecasts a prepared run: requests, tokens, cost and time. It sends nothing.

Conversations are played against a partner who always ends its turn with a short text, so a model that calls tools makes
more requests than forecast.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from vendor_verifier.pipeline.plan import Prepared
from vendor_verifier.records.plan import Entry, Plan, Price, as_asked
from vendor_verifier.records.record import Attempt, Response, Usage
from vendor_verifier.records.request import BUDGETS, Turn
from vendor_verifier.reports.formats import usd
from vendor_verifier.run.load import foreseen as foreseen_records
from vendor_verifier.scoring.money import cost_usd
from vendor_verifier.suites import next_asked
from vendor_verifier.text import counted, times
from vendor_verifier.wire.base import json_bytes

# Assumptions about what is not measured yet: the length and time of an answer.
BYTES_PER_TOKEN = 4.0
ANSWER_TOKENS = 200
ANSWER_S = 5.0
# Below this a verdict may have too little evidence, see docs/verdict.md.
ENOUGH_SAMPLES = 250
_SHORT_ANSWER = Attempt(1, response=Response(text="ok", finish_reason="stop"))
_FREE = Price(0.0, 0.0, source="simulated")


class EntryForecast(msgspec.Struct, frozen=True):
    """One line of the ranking.

    ``requests`` are without retries. ``cost_usd`` is None when the ``price`` is not known. ``concurrency`` is only the
    most of an open loop, ``is_open``.
    """

    model: str
    label: str
    is_baseline: bool
    records: int
    requests: int
    concurrency: int
    input_tokens: int
    output_tokens: int
    duration_s: float
    price: Price | None = None
    cost_usd: float | None = None
    is_open: bool = False


class Forecast(msgspec.Struct, frozen=True):
    """A whole run.

    ``cost_usd`` sums the entries with a known price (None without any), ``unpriced`` counts the others. ``compared``
    samples are compared with a baseline that is asked twice; None without one.
    """

    entries: tuple[EntryForecast, ...]
    requests: int
    retries: int
    duration_s: float
    cost_usd: float | None
    unpriced: int
    compared: int | None = None
    max_requests: int | None = None
    max_cost_usd: float | None = None


def forecast(prepared: Prepared) -> Forecast:
    """The forecast of the plan, vendor by vendor."""
    plan = prepared.plan
    questions = list(_questions(prepared))
    samples = sum(len(task.samples) for task in plan.tasks)
    entries = tuple(_entry(entry, plan, samples, questions) for entry in plan.entries)
    compared = [sample.id for each in prepared.evaluations if each.kind.compares for sample in each.task.samples]
    costs = [entry.cost_usd for entry in entries if entry.cost_usd is not None]
    is_asked_twice = any(entry.is_baseline for entry in plan.entries) and max(plan.repeat, plan.baseline_repeats) > 1
    return Forecast(
        entries=entries,
        requests=sum(entry.requests for entry in entries),
        retries=plan.retry.retries,
        duration_s=_duration_s(plan, entries),
        cost_usd=math.fsum(costs) if costs else None,
        unpriced=sum(entry.price is None for entry in entries),
        compared=len(compared) if compared and is_asked_twice else None,
        max_requests=plan.max_requests,
        max_cost_usd=plan.max_cost_usd,
    )


def _questions(prepared: Prepared) -> Iterator[tuple[int, Turn]]:
    """Every request that one round over all samples makes to one vendor: the bytes of its text, and its turn."""
    for each in prepared.evaluations:
        for sample in each.task.samples:
            play, answer = each.suite.play(sample), None
            with suppress(StopIteration):
                while True:
                    turn = next_asked(play, answer, lambda _step: ())
                    yield len(json_bytes({"messages": turn.messages, "tools": turn.tools})), turn
                    answer = _SHORT_ANSWER


def _answer_s(entry: Entry) -> float:
    """The seconds that an answer of this vendor is taken to last."""
    return 0.25 if entry.is_simulated else ANSWER_S


def _entry(entry: Entry, plan: Plan, samples: int, questions: Sequence[tuple[int, Turn]]) -> EntryForecast:
    rounds = _rounds(plan, entry, samples)
    requests, concurrency = round(rounds * len(questions)), entry.concurrency or plan.request_concurrency
    inputs = round(rounds * sum(math.ceil(size / BYTES_PER_TOKEN) for size, _ in questions))
    asked = [as_asked(turn, entry)[0].parameters for _, turn in questions]
    limits = [[each for name in BUDGETS if isinstance(each := stated.get(name), int) and each > 0] for stated in asked]
    outputs = round(rounds * sum(min([ANSWER_TOKENS, *own]) for own in limits))
    price = _FREE if entry.is_simulated and entry.price is None else entry.price
    paced_s = [
        60 * amount / per_minute
        for amount, per_minute in ((requests, entry.requests_per_minute), (inputs + outputs, entry.tokens_per_minute))
        if per_minute
    ]
    return EntryForecast(
        model=entry.model,
        label=entry.label,
        is_baseline=entry.is_baseline,
        records=round(rounds * samples),
        requests=requests,
        concurrency=concurrency,
        is_open=plan.load.is_open,
        input_tokens=inputs,
        output_tokens=outputs,
        duration_s=max(_offered_s(plan, requests, concurrency, _answer_s(entry)), *paced_s, 0.0),
        price=price,
        cost_usd=None if price is None else cost_usd(Usage(inputs, output=outputs), price, requests),
    )


def _rounds(plan: Plan, entry: Entry, samples: int) -> float:
    """The number of rounds over all samples for this entry, with discarded requests; a fraction where time decides."""
    if not plan.load.is_shaped or not samples:
        return plan.repeat_of(entry)
    records = foreseen_records(plan.load, plan.repeat_of(entry) * samples)
    if records is None:
        places = entry.concurrency or plan.request_concurrency
        records = places * math.ceil((plan.load.duration_s or 0.0) / _answer_s(entry))
    return (plan.load.warmup + records) / samples


def _offered_s(plan: Plan, requests: int, concurrency: int, answer_s: float) -> float:
    """Seconds that the load shape takes: the stated time, or the time of the last request, and its answer."""
    load = plan.load
    if load.duration_s is not None:
        return load.duration_s + answer_s
    if load.request_rate is not None:
        return requests / load.request_rate + load.ramp_up_s / 2 + answer_s
    return math.ceil(requests / concurrency) * answer_s


def _duration_s(plan: Plan, entries: Sequence[EntryForecast]) -> float:
    """Seconds of the whole run: accounts run in parallel as far as allowed, entries of one account in sequence."""
    accounts: dict[str, float] = {}
    for entry, foreseen in zip(plan.entries, entries, strict=True):
        accounts[entry.account] = accounts.get(entry.account, 0.0) + foreseen.duration_s
    at_once = plan.vendor_concurrency or len(accounts) or 1
    return max([*accounts.values(), math.fsum(accounts.values()) / at_once], default=0.0)


def forecast_lines(prepared: Prepared, foreseen: Forecast) -> Iterator[str]:
    """The forecast in words: the tasks, three lines for each vendor, the totals and what they assume."""
    plan = prepared.plan
    for each in prepared.evaluations:
        often = "as often as time allows" if plan.load.is_timed else times(plan.repeat)
        yield f"{each.kind.name}: {counted(len(each.task.samples), 'sample')} of {each.dataset.name}, sent {often}"
        if skipped := each.dataset.skipped:
            yield f"  left out: {counted(len(skipped), 'unreadable sample')} (first: {skipped[0]})"
    if plan.load.is_shaped:
        yield f"load: {plan.load}"
    is_paced = plan.load.is_timed and not plan.load.is_open
    answer_s = max(map(_answer_s, plan.entries), default=ANSWER_S)
    pace = f" (more, at more cost, if answers take less than {answer_s:g} s)" if is_paced else ""
    for entry, own in zip(plan.entries, foreseen.entries, strict=True):
        baseline = " (baseline)" if entry.is_baseline else ""
        key = f"key from {entry.key_name}" if entry.key_name else "no key"
        address = f"{entry.endpoint.base_url} ({entry.wire})"
        yield f"{entry.model} / {entry.label}{baseline}: {address}, {entry.endpoint.model_id}, {key}"
        at_once = f"at most {own.concurrency}" if own.is_open else str(own.concurrency)
        requests = counted(f"{own.requests:,}", "request") + pace
        yield f"  {requests}, {at_once} at a time, about {_duration(own.duration_s)}, {_money(own)}"
        yield f"  about {own.input_tokens:,} tokens in and {own.output_tokens:,} out"
    money = "unknown price"
    if foreseen.cost_usd is not None:
        more = f" and {counted(foreseen.unpriced, 'vendor')} without a known price" if foreseen.unpriced else ""
        money = (f"about {usd(foreseen.cost_usd)}" if foreseen.cost_usd else "free") + more
    requests = counted(f"{foreseen.requests:,}", "request") + pace
    yield f"total: {requests}, up to {foreseen.retries} retries each, about {_duration(foreseen.duration_s)}, {money}"
    if foreseen.max_requests is not None:
        yield f"--max-requests stops the run after {foreseen.max_requests:,} requests, retries included"
    if foreseen.max_cost_usd is not None:
        yield f"--max-cost stops the run at about {usd(foreseen.max_cost_usd)}"
    is_compared = any(each.kind.compares for each in prepared.evaluations)
    if is_compared and not any(entry.is_baseline for entry in plan.entries):
        yield "verdict: no comparison; it needs a baseline (`is_baseline: true`)"
    elif is_compared and plan.load.is_timed:
        yield "verdict: answers can be compared only if there is time to ask the baseline its samples twice"
    elif is_compared and foreseen.compared is None:
        yield "verdict: no comparison; it takes --repeat 2"
    elif foreseen.compared is not None and foreseen.compared < ENOUGH_SAMPLES:
        samples = counted(foreseen.compared, "sample")
        yield f"verdict: {samples} may be too few to recommend a vendor; it takes 125 to 250, more for more vendors"
    yield (
        f"assumptions: {BYTES_PER_TOKEN:g} bytes a token; {ANSWER_TOKENS} tokens and {answer_s:g} s an answer; "
        "no caching, no tool calls that lead to further requests"
    )
    yield "nothing was sent"


def _money(estimate: EntryForecast) -> str:
    if estimate.price is None or estimate.cost_usd is None:
        return "unknown price (add `price:` to the entry)"
    if estimate.price.source == "simulated":
        return "free"
    return f"about {usd(estimate.cost_usd)} (price: {estimate.price.source})"


def _duration(seconds: float) -> str:
    """``38 s``, ``2 min 5 s`` or ``1 h 02 min``."""
    hours, rest = divmod(round(seconds), 3600)
    if hours:
        return f"{hours} h {rest // 60:02} min"
    minutes, rest = divmod(rest, 60)
    return " ".join([f"{minutes} min"] * (minutes > 0) + [f"{rest} s"] * (rest > 0 or not minutes))
