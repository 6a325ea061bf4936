"""report.md's part about what can be said of the order: intervals, ceiling, gates, money, blame, findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from vendor_verifier.reports import markdown_tables as tables
from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import markdown
from vendor_verifier.reports.judgement_text import (
    Case,
    interval,
    leader_lines,
    order_line,
    overlap_line,
    ranks,
    told_break_evens,
)
from vendor_verifier.values.judgement import Blocks, BreakEven, Cause, ModelVerdict, RankingJudgement
from vendor_verifier.values.score import ModelScore

Part = tuple[str, list[str]]
_MAX_FINDINGS = 100


def parts(model: ModelScore, verdict: ModelVerdict | None) -> Iterator[Part]:
    """(title, lines) of every part that there is something for."""
    if verdict is None:
        return
    order = [vendor.label for vendor in model.vendors]
    if verdict.ranking is not None:
        yield "What can be said about the order", _order(verdict.ranking, order)
    if verdict.noise_floor is not None:
        yield "The baseline against itself", _noise(verdict, order)
    if verdict.gates:
        yield (
            "Gates",
            _table(
                ("Vendor", "Gate", "Outcome", "Why"),
                ((tables.label(g.label), f"`{g.threshold}`", g.outcome, markdown(g.reason)) for g in verdict.gates),
            ),
        )
    if verdict.money:
        yield "Money, US dollars", _money(verdict, order, model.baseline)
    if any(counts.failed for counts in verdict.blame.values()):
        note = "A sample failed when its request did, or when a call in its answer is invalid."
        yield "Whose fault failures were", [note, "", *_blame(verdict, order)]
    if verdict.findings:
        found = verdict.findings[:_MAX_FINDINGS]
        lines = [f"- {tables.label(each.label)}: {markdown(each.statement)} (`{each.name}`)" for each in found]
        if len(verdict.findings) > len(found):
            lines.append(f"- and {len(verdict.findings) - len(found)} more, in scores.json")
        yield "Findings", ["What was seen, not why: most have an innocent explanation.", "", *lines]


def _order(ranking: RankingJudgement, order: Sequence[str]) -> list[str]:
    rows = []
    joint = {(each.label, each.metric): ranks(each.low, each.high) for each in ranking.joint}
    for each in sorted(ranking.irf, key=lambda each: _place(order, each.label)):
        own = [joint.get((each.label, metric), number_format.MISSING) for metric in ranking.metrics]
        told = (interval(each.irf), f"{each.p_first:.2f}", ranks(each.rank.low, each.rank.high))
        rows.append((tables.label(each.label), *told, *own))
    titles = ("Vendor", "IRF", "P(rank 1)", "Rank", *(f"Rank by {tables.label(metric)}" for metric in ranking.metrics))
    sentence = order_line(ranking, tables.label).removeprefix("order: ")
    blocks = [] if ranking.blocks.enough else ["", _too_few(ranking.blocks)]
    return [
        f"{sentence[:1].upper()}{sentence[1:]}.",
        *(line for said in leader_lines(ranking, tables.label) for line in ("", said)),
        *blocks,
        *(["", f"{cut[:1].upper()}{cut[1:]}."] if (cut := overlap_line(ranking, tables.label)) is not None else []),
        "",
        *_table(titles, rows),
    ]


def _too_few(blocks: Blocks) -> str:
    return (
        f"Samples sent one after the other were alike: only {blocks.count} blocks of {blocks.size} count as "
        "independent, which is too few; the intervals are too narrow. Send more samples."
    )


def _noise(verdict: ModelVerdict, order: Sequence[str]) -> list[str]:
    floor = verdict.noise_floor
    assert floor is not None
    told = [
        f"- F1 of one run against another (the ceiling): {interval(floor.ceiling)}",
        f"- schema accuracy: {interval(floor.schema)}",
        f"- TTFT of the second run ÷ the first: {interval(floor.ttft_ratio)}",
    ]
    rows = [
        (
            tables.label(gap.label),
            interval(gap.delta, signed=True),
            f"{gap.bias.first} : {gap.bias.second}, {gap.bias.p_mid:.3g}",
            f"{gap.excess.first} : {gap.excess.second}, {gap.excess.p_mid:.3g}",
        )
        for gap in sorted(verdict.gaps, key=lambda gap: _place(order, gap.label))
    ]
    titles = ("Vendor", "Δ = F1 − ceiling", "Extra : missed calls, p", "Excess disagreement, p")
    return [*told, *(["", *_table(titles, rows)] if rows else [])]


def _money(verdict: ModelVerdict, order: Sequence[str], baseline: str | None) -> list[str]:
    rows, has_twice = [], any(spent.duplicates_usd is not None for spent in verdict.money.values())
    for name, spent in sorted(verdict.money.items(), key=lambda item: _place(order, item[0])):
        figures = (
            spent.total_usd, spent.wasted_on_retries_usd, spent.wasted_usd - spent.wasted_on_retries_usd,
            spent.per_1000_requests_usd, spent.per_answer_usd, spent.per_valid_call_usd, spent.reported_usd,
            spent.reported_ratio,
        )  # fmt: skip
        twice = (number_format.quantity(spent.duplicates_usd),) if has_twice else ()
        rows.append((tables.label(name), *map(number_format.quantity, figures), str(spent.unpriced), *twice))
    titles = ("Vendor", "All", "Of it on retries", "On failures", "1,000 requests", "An answer", "A valid call")
    last = ("As reported", "Reported ÷ computed", "Attempts without a price")
    lines = _table((*titles, *last, *(["Of all, on records made twice"] if has_twice else [])), rows)
    told = [_break_even(each, case) for each, case in told_break_evens(verdict, baseline)]
    if told:
        lines += ["", "When the cheaper price is eaten (1 − cost ÷ cost, of an answer and of a valid call):", "", *told]
    return [*lines, "", *_prices(verdict, order)]


def _break_even(found: BreakEven, case: Case) -> str:
    """A cheaper answer against what a valid call costs in the end."""
    cheap, dear, real = tables.label(found.cheap), tables.label(found.dear), found.per_valid_call
    assert real.value is not None
    ends = f" ({_percent(real.low)} … {_percent(real.high)})" if real.low is not None and real.high is not None else ""
    said = f"- {cheap} asks {_percent(found.per_answer)} less for an answer than {dear}"
    if case == "eaten":
        said += f"; a valid call costs {_percent(-real.value)} more{ends}: failures, retries and invalid calls ate it."
    elif case == "open":
        said += f"; whether a valid call is cheaper too is not known{ends}."
    else:
        said += (
            f" and {_percent(real.value)} less for a valid call{ends}; both cost the same when {cheap} loses "
            f"{_percent(real.value)} of its valid calls."
        )
    mix = found.mix
    return said + (f" The price lists meet at {mix:.3g} output tokens per input token." if mix is not None else "")


def _percent(share: float | None) -> str:
    return number_format.MISSING if share is None else f"{100 * share:.3g} %".replace("-", "−")


def _prices(verdict: ModelVerdict, order: Sequence[str]) -> list[str]:
    """What was reckoned with, in the vendor's own currency."""
    rows = [
        (
            tables.label(name),
            *map(number_format.quantity, (price.input, price.cached, price.output, price.reasoning, price.request)),
            markdown(price.currency),
            number_format.quantity(price.rate),
            markdown(price.source),
        )
        for name, price in sorted(verdict.prices.items(), key=lambda item: _place(order, item[0]))
    ]
    titles = ("Price per million tokens", "Input", "Cached", "Output", "Reasoning", "A request", "Currency", "In USD")
    return _table((*titles, "From"), rows)


def _blame(verdict: ModelVerdict, order: Sequence[str]) -> list[str]:
    causes: tuple[Cause, ...] = get_args(Cause)
    rows = [
        (
            tables.label(name),
            *(str(counts.causes.get(cause, 0)) for cause in causes),
            number_format.rate(counts.raw),
            number_format.rate(counts.attributable),
        )
        for name, counts in sorted(verdict.blame.items(), key=lambda item: _place(order, item[0]))
    ]
    return _table(("Vendor", *(cause.replace("_", " ") for cause in causes), "Raw rate", "Vendor-attributable"), rows)


def _place(order: Sequence[str], label: str) -> int:
    return order.index(label) if label in order else len(order)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_row(titles), _row(["---"] * len(titles)), *map(_row, rows)]


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"
