"""A made-up run of many vendors for the report tests: seeded, of any size, with everything that can go wrong in it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from changing import replace
from manifests import some_manifest

from vendor_verifier.audit.choice import advise
from vendor_verifier.records.blame import BlameCounts
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.event import ToolCall, Usage
from vendor_verifier.records.judgement import (
    Blocks,
    Finding,
    Gap,
    GateVerdict,
    IrfInterval,
    ModelVerdict,
    NoiseFloor,
    PairedTest,
    RankingJudgement,
    RankInterval,
    Threshold,
)
from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.money import BreakEven, Money, Price
from vendor_verifier.records.record import Attempt, Failure, Record, Response, Timing, TurnRecord
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, Source, content_digest, numbered
from vendor_verifier.records.score import PlayedTask, Report
from vendor_verifier.scoring.report_samples import gather_details
from vendor_verifier.scoring.score_run import score_run
from vendor_verifier.suites.trigger import KeptCheckers, TriggerSuite

MODEL = "kimi-k2.5"
LABELS = (
    "moonshot",
    "fireworks (openrouter)",
    "together",
    "siliconflow",
    "novita (openrouter)",
    "packyapi",
    "yunwu",
    "atlascloud (openrouter)",
    "deepinfra",
    "a vendor with a remarkably long name that goes on",
)
_START = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
            "required": ["city"],
        },
    },
}


def samples(number: int) -> tuple[Sample, ...]:
    """Questions, two thirds of which call for the tool."""
    made = []
    for place in range(number):
        words = f"What will the weather be in city {place} over the next three days? " + "Please be exact. " * (
            place % 9
        )
        turn = Turn(({"role": "system", "content": "You help."}, {"role": "user", "content": words}), (_TOOL,))
        made.append(Sample(numbered(content_digest(turn), 1), turn, source=Source("weather.jsonl", place + 1)))
    return tuple(made)


def entries(labels: Sequence[str] = LABELS) -> tuple[EntryInfo, ...]:
    """The first label is the baseline's."""
    return tuple(
        EntryInfo(MODEL, label, "openrouter" if "(" in label else label, "moonshotai/kimi-k2.5", None, place == 0)
        for place, label in enumerate(labels)
    )


def records(labels: Sequence[str], asked: Sequence[Sample], seed: int = 7) -> Iterator[Record]:
    """One record per sample and label; the later a vendor stands, the slower and the worse it is."""
    dice = random.Random(seed)
    for place, sample in enumerate(asked):
        calls = place % 3 != 0
        for rank, label in enumerate(labels):
            moment = _START + timedelta(seconds=place * 1.7 + dice.random())
            turn = TurnRecord((_attempt(dice, rank, moment, calls, place),))
            yield Record("synthetic", MODEL, label, label, "trigger", sample.id, 0, (turn,))


def _attempt(dice: random.Random, rank: int, moment: datetime, calls: bool, place: int) -> Attempt:
    sent = moment.isoformat()
    drift = 1.0 + (0.8 if rank == 4 and place % 900 > 600 else 0.0)
    first = dice.lognormvariate(0, 0.35) * (320 + 170 * rank) * drift * 1e6
    if dice.random() < 0.004 * rank:
        kind = dice.choice(["timeout_total", "http_5xx", "rate_limited"])
        failure = Failure(kind, "headers", f"the vendor said: {kind} <script>alert({place})</script>", 500)  # type: ignore[arg-type]
        return Attempt(1, Timing(sent, int(first * 3)), None, failure)
    tokens = dice.randint(40, 220)
    seconds = tokens / (dice.lognormvariate(0, 0.2) * (140 - 11 * rank))
    last = int(first + seconds * 1e9)
    if dice.random() < 0.01 + 0.012 * rank:
        calls = not calls
    timing = Timing(sent, last, 0, None, int(first * 0.8), int(first * 0.9), int(first), int(first), last, (), 0.01)
    usage = Usage(900 + 40 * rank, tokens)
    return Attempt(1, timing, _response(dice, rank, calls, usage, place))


def _response(dice: random.Random, rank: int, calls: bool, usage: Usage, place: int) -> Response:
    if not calls:
        return Response(
            "I would rather talk about it. " * 6, finish_reason="stop", usage=usage, served_model="kimi-k2.5"
        )
    arguments = json.dumps({"city": f"city {place}", "days": 3})
    name = "get_weather"
    fate = dice.random()
    if fate < 0.006 * rank:
        arguments = json.dumps({"city": f"city {place}", "days": "three"})
    elif fate < 0.009 * rank:
        arguments = arguments[:-4]
    elif fate < 0.01 * rank:
        name = "get_wether"
    call = ToolCall(name, arguments, f"call_{place}")
    return Response("Let me look. " * 20, "", (call,), "tool_calls", "tool_calls", usage, "kimi-k2.5")


def report(number: int = 60, labels: Sequence[str] = LABELS, *, judged: bool = True) -> Report:
    """The run scored and detailed, with hand-made judgements beside it."""
    asked, who = samples(number), entries(labels)
    tasks, heard = [PlayedTask("trigger", asked)], list(records(labels, asked))
    suites = {"trigger": TriggerSuite(checkers=KeptCheckers())}
    details = gather_details(who, ["trigger"])
    run = "20260304T050607Z-a1b2c3"
    scored = score_run(who, tasks, heard, suites=suites, repeat=1, run=run, complete=True, listener=details.take)
    manifest = some_manifest(tool={"name": "agent-vendor-verifier", "version": "1.2.3"})
    verdicts = {MODEL: verdict(scored)} if judged else {}
    advice = {MODEL: advise(scored.models[0], verdicts[MODEL])} if judged else {}
    return replace(scored, details=details.finished(), verdicts=verdicts, advice=advice, manifest=manifest)


def verdict(scored: Report) -> ModelVerdict:
    """Judgements with plausible numbers: nobody computed them."""
    model = scored.models[0]
    labels = tuple(vendor.label for vendor in model.vendors)
    intervals = {vendor.label: _around(vendor.metrics) for vendor in model.vendors}
    others = [vendor for vendor in model.vendors if not vendor.is_baseline]
    gate = Threshold("f1", ">=", -0.03, ceiling=True)
    gated = Estimate(-0.004, -0.02, 0.01)
    outcomes = ("PASS", "UNDECIDED", "FAIL")
    return ModelVerdict(
        ranking=_ranking(labels, intervals),
        noise_floor=NoiseFloor(2, Estimate(0.951, 0.938, 0.962, 2000)),
        gaps=tuple(
            Gap(
                one.label,
                Estimate((one.metrics["f1"] or 0) - 0.951, -0.04, 0.01, 2000),
                0.2,
                PairedTest(9, 4, 0.3, 0.2),
                PairedTest(5, 5, 1.0, 1.0),
            )
            for one in others
        ),
        gates=tuple(
            GateVerdict(one.label, gate, outcomes[place % 3], gated, "interval -0.02 … 0.01")  # type: ignore[arg-type]
            for place, one in enumerate(others)
        ),
        findings=(
            Finding("prompt_tokens_constant", labels[-1], "Every prompt is billed 31 tokens more.", {"median": 31}),
            Finding("served_model_changes", labels[0], "Asked for <b>kimi</b>, answered as two.", {"rows": 3}),
        ),
        intervals=intervals,
        money={
            label: Money(
                4.0 + place,
                0.1 * place,
                2.0 + 0.35 * place,
                0.003 + 0.0004 * place,
                2000,
                1300,
                2010,
                3,
                per_answer_usd=0.002 + 0.0003 * place,
                wasted_on_retries_usd=0.04 * place,
            )
            for place, label in enumerate(labels)
        },
        prices={
            label: Price(1.5 + place, 6.0, cached=0.15, currency="CNY", rate=0.14)
            if place % 2
            else Price(0.3, 1.2, source="genai-prices: moonshot/kimi-k2.5")
            for place, label in enumerate(labels)
        },
        break_evens=tuple(
            BreakEven(labels[0], other, 0.1 * place, Estimate(0.1 * place - 0.15, 0.1 * place - 0.2, 0.1 * place - 0.1))
            for place, other in enumerate(labels[1:], 1)
        ),
        blame={
            label: BlameCounts(2000, 9, {"vendor": 4, "network": 3, "rate_limit": 2}, 0.9955, 0.998) for label in labels
        },
    )


def _around(metrics: Mapping[str, float | None]) -> dict[str, Estimate]:
    return {
        name: Estimate(value, value * 0.98, min(value * 1.02, 1.0) if value <= 1 else value * 1.02, 2000)
        for name, value in metrics.items()
        if value is not None
    }


def _ranking(labels: tuple[str, ...], intervals: Mapping[str, Mapping[str, Estimate]]) -> RankingJudgement:
    metrics = ("f1", "success_rate", "schema_accuracy", "avg_tokens", "avg_ttft_ms", "tps")
    most = len(labels)
    ranks = tuple(
        RankInterval(label, metric, max(1, place), min(most, place + 2))
        for place, label in enumerate(labels)
        for metric in metrics
    )
    irf = tuple(
        IrfInterval(
            label,
            Estimate(0.9 - 0.05 * place, 0.86 - 0.05 * place, 0.93 - 0.05 * place),
            max(0.0, 0.7 - 0.3 * place),
            Estimate(place + 1, max(1, place), min(most, place + 2)),
        )
        for place, label in enumerate(labels)
    )
    return RankingJudgement(
        labels,
        metrics,
        2000,
        Blocks(10, 200, 8.0),
        intervals,
        ranks,
        ranks,
        (),
        {},
        irf,
        {},
        frozenset({labels[:2]} if most > 1 else ()),
    )
