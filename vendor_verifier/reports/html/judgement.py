"""The page's judgements, where a report has any: gates, findings, ties, causes of failures, money and break-evens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import get_args

from vendor_verifier.metrics import RANKED, is_share
from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html import tables
from vendor_verifier.reports.html.tables import Cell, Row, Section, Table, label, plain_table, words
from vendor_verifier.reports.judgement_text import Case, told_break_evens
from vendor_verifier.reports.words import Texts, findings_zh
from vendor_verifier.values.judgement import (
    BreakEven,
    Cause,
    Estimate,
    Finding,
    GateVerdict,
    ModelVerdict,
    RankingJudgement,
)
from vendor_verifier.values.score import ModelScore


def money_section(verdict: ModelVerdict, baseline: str | None, places: Mapping[str, int], t: Texts) -> Section | None:
    """The section, if any price is known."""
    if not verdict.money:
        return None
    lines = tuple(_break_even(each, case, t) for each, case in told_break_evens(verdict, baseline))
    parts = [_spent(verdict, places, t), *([_prices(verdict, places, t)] if verdict.prices else [])]
    return Section("money", t("money"), t("break_even_note") if lines else None, lines, tuple(parts))


def _spent(verdict: ModelVerdict, places: Mapping[str, int], t: Texts) -> Table:
    has_twice = any(spent.duplicates_usd is not None for spent in verdict.money.values())
    rows = (
        Row(
            label(name),
            tuple(
                tables.number(value)
                for value in (
                    spent.total_usd,
                    spent.wasted_on_retries_usd,
                    spent.wasted_usd - spent.wasted_on_retries_usd,
                    spent.per_1000_requests_usd,
                    spent.per_answer_usd,
                    spent.per_valid_call_usd,
                    spent.reported_usd,
                    spent.reported_ratio,
                    *([spent.duplicates_usd] if has_twice else []),
                )
            ),
            places.get(name),
        )
        for name, spent in sorted(verdict.money.items(), key=lambda item: places.get(item[0], 0))
    )
    keys = ["total", "retries", "failures", "per_1000", "answer", "call", "reported", "ratio"]
    keys += ["twice"] if has_twice else []
    return plain_table(t("money"), t("vendor"), [t(f"usd_{key}") for key in keys], rows)


def _prices(verdict: ModelVerdict, places: Mapping[str, int], t: Texts) -> Table:
    rows = (
        Row(
            label(name),
            (
                *map(tables.number, (price.input, price.cached, price.output, price.reasoning, price.request)),
                words(visible(price.currency, 8)),
                tables.number(price.rate),
                words(visible(price.source)),
            ),
            places.get(name),
        )
        for name, price in sorted(verdict.prices.items(), key=lambda item: places.get(item[0], 0))
    )
    keys = ("input", "cached", "output", "reasoning", "request", "currency", "rate", "source")
    titles = [t(f"price_{key}") for key in keys]
    return plain_table(t("prices"), t("vendor"), titles, rows, prose=(t("price_currency"), t("price_source")))


def _break_even(found: BreakEven, case: Case, t: Texts) -> str:
    real = found.per_valid_call
    return t(
        f"break_even_{case}",
        cheap=label(found.cheap),
        dear=label(found.dear),
        asked=_percent(found.per_answer),
        real=_percent(None if real.value is None else abs(real.value) if case == "eaten" else real.value),
        low=_percent(real.low),
        high=_percent(real.high),
    )


def _percent(share: float | None) -> str:
    return number_format.MISSING if share is None else f"{100 * share:.3g} %".replace("-", "−")


_MAX_PAIRS = 40


def judged_sections(model: ModelScore, verdict: ModelVerdict | None, t: Texts) -> list[Section]:
    """The sections that there is something for, in the page's order."""
    if verdict is None:
        return []
    places = {vendor.label: index for index, vendor in enumerate(model.vendors)}
    made = (
        _gates(verdict.gates, places, t),
        _findings(verdict.findings, places, t),
        _stability(verdict.ranking, places, t),
        _blame(verdict, places, t),
        money_section(verdict, model.baseline, places, t),
    )
    return [section for section in made if section is not None]


def estimate_of(verdict: ModelVerdict | None, name: str, metric: str) -> Estimate | None:
    """The interval of one vendor's metric, from wherever the verdict holds one."""
    if verdict is None:
        return None
    found = verdict.intervals.get(name, {}).get(metric)
    if found is None and verdict.ranking is not None:
        found = verdict.ranking.estimates.get(name, {}).get(metric)
    return found


def _gates(gates: tuple[GateVerdict, ...], places: Mapping[str, int], t: Texts) -> Section | None:
    if not gates:
        return None
    order = {"FAIL": 0, "UNDECIDED": 1, "PASS": 2}
    rows = (
        Row(
            label(gate.label),
            (
                words(visible(str(gate.threshold))),
                Cell(gate.outcome, float(order[gate.outcome]), css=f"gate-{gate.outcome.lower()}"),
                tables.estimate(gate.estimate, rate=is_share(gate.threshold.metric)),
                words(visible(findings_zh.reason(gate) if t.language == "zh" else gate.reason)),
            ),
            places.get(gate.label),
        )
        for gate in sorted(gates, key=lambda gate: (order[gate.outcome], places.get(gate.label, 0)))
    )
    titles = (t("gate"), t("outcome"), t("measured_value"), t("reason"))
    table = plain_table(t("gates"), t("vendor"), titles, rows, prose=(t("gate"), t("outcome"), t("reason")))
    return Section("gates", t("gates"), tables=(table,))


def _findings(findings: tuple[Finding, ...], places: Mapping[str, int], t: Texts) -> Section | None:
    if not findings:
        return None
    rows = (Row(label(found.label), (words(_said(found, t)),), places.get(found.label)) for found in findings)
    table = plain_table(t("findings"), t("vendor"), (t("findings"),), rows, prose=(t("findings"),))
    return Section("findings", t("findings"), t("findings_note"), tables=(table,))


def _said(found: Finding, t: Texts) -> str:
    is_chinese = t.language == "zh"
    names = findings_zh.EVIDENCE if is_chinese else {}
    shown = [f"{visible(names.get(name, name), 60)} {_evidence(value)}" for name, value in found.evidence.items()]
    statement = findings_zh.statement(found) if is_chinese else found.statement
    return visible(statement) + (t("evidence", numbers=t("semicolon").join(shown)) if shown else "")


def _evidence(value: float | int | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else visible(str(value), 80)


def _stability(ranking: RankingJudgement | None, places: Mapping[str, int], t: Texts) -> Section | None:
    if ranking is None:
        return None
    rows = (
        Row(
            label(one.label),
            (
                tables.estimate(one.irf),
                tables.share(one.p_first),
                words(_ranks(one.rank.low, one.rank.high)),
                *(words(_rank_of(ranking, one.label, metric)) for metric in ranking.metrics),
            ),
            places.get(one.label),
        )
        for one in sorted(ranking.irf, key=lambda one: places.get(one.label, len(places)))
    )
    titles = (t("irf"), t("p_first"), t("place_interval"), *(metric_title(metric, t) for metric in ranking.metrics))
    table = plain_table(t("stability_irf"), t("vendor"), titles, rows)
    return Section("stability", t("stability"), None, tuple(_stability_lines(ranking, t)), (table,))


def _stability_lines(ranking: RankingJudgement, t: Texts) -> Iterator[str]:
    pairs = sorted(ranking.not_distinguishable)
    if pairs:
        named = [f"{label(first)} ≈ {label(second)}" for first, second in pairs[:_MAX_PAIRS]]
        yield t("not_distinguishable", pairs=t("comma").join(named))
    for cut in ranking.overlaps[:_MAX_PAIRS]:
        yield t(
            "overlap",
            first=label(cut.first), first_n=cut.first_n, first_of=cut.first_of,
            second=label(cut.second), second_n=cut.second_n, second_of=cut.second_of,
        )  # fmt: skip
    for change in ranking.leader_changes:
        leaders = t.listed([label(name) for name in change.leaders])
        yield t("leader_change", dropped=label(change.dropped), leaders=leaders)
    if ranking.pareto:
        yield t("pareto", labels=t.listed([label(name) for name in ranking.pareto], most=10))


def _rank_of(ranking: RankingJudgement, name: str, metric: str) -> str:
    found = next((one for one in ranking.joint if (one.label, one.metric) == (name, metric)), None)
    return number_format.MISSING if found is None else _ranks(found.low, found.high)


def _ranks(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return number_format.MISSING
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"


def metric_title(metric: str, t: Texts) -> str:
    """A metric's column title; a suite's own name where the catalogue has none."""
    return t(metric) if metric in RANKED else label(metric)


def _blame(verdict: ModelVerdict, places: Mapping[str, int], t: Texts) -> Section | None:
    if not verdict.blame:
        return None
    causes: tuple[Cause, ...] = get_args(Cause)
    rows = (
        Row(
            label(name),
            (
                tables.count(counts.failed),
                *(tables.count(counts.causes.get(cause, 0)) for cause in causes),
                tables.share(counts.raw),
                tables.share(counts.attributable),
            ),
            places.get(name),
        )
        for name, counts in sorted(verdict.blame.items(), key=lambda item: places.get(item[0], 0))
    )
    titles = (t("failed"), *(cause.replace("_", " ") for cause in causes), t("raw_rate"), t("own_rate"))
    return Section("blame", t("blame"), t("blame_note"), tables=(plain_table(t("blame"), t("vendor"), titles, rows),))
