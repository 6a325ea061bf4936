"""The judgement of a model as sections of a report: ties, ceiling, gates, findings, money, causes of failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec
from msgspec import structs

from vendor_verifier.metrics import is_share
from vendor_verifier.records.blame import Cause
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import Finding, ModelVerdict, PairedTest, RankingJudgement
from vendor_verifier.records.money import BreakEven
from vendor_verifier.records.score import ModelScore
from vendor_verifier.reports import number_format
from vendor_verifier.reports.escape import MAX_SENTENCE, visible
from vendor_verifier.reports.ranking import metric_title
from vendor_verifier.reports.tables import (
    Cell,
    Column,
    Item,
    Section,
    Table,
    count,
    estimate,
    field_columns,
    name,
    number,
    share,
    table,
    usd,
    words,
)
from vendor_verifier.words import Texts

_MARKDOWN, _PAGE = frozenset({"markdown"}), frozenset({"html"})
_WORST_FIRST = ("FAIL", "UNDECIDED", "PASS")
_MAX_PAIRS = 40
MAX_PAIRS = 12
# The price advantage holds per valid call too; it does not; or there are too few samples to decide.
Case = Literal["holds", "eaten", "open"]
Escape = Callable[[str], str]


class _Judged(msgspec.Struct, frozen=True):
    """A model's verdict with the vendors' ranking, the texts and the escaping that its sections need."""

    verdict: ModelVerdict
    baseline: str | None
    places: Mapping[str, int]
    t: Texts
    escape: Escape

    def items(self, found: Mapping[str, Any] | Sequence[Any]) -> list[Item]:
        """A row for each vendor, in the order of the ranking."""
        pairs = found.items() if isinstance(found, Mapping) else [(each.label, each) for each in found]
        ordered = sorted(pairs, key=lambda pair: self.places.get(pair[0], len(self.places)))
        return [Item(label, each, self.places.get(label)) for label, each in ordered]


def judged_sections(model: ModelScore, verdict: ModelVerdict | None, t: Texts, escape: Escape) -> list[Section]:
    """The sections that have content, in the page's order."""
    if verdict is None:
        return []
    places = {vendor.label: index for index, vendor in enumerate(model.vendors)}
    judged = _Judged(verdict, model.baseline, places, t, escape)
    made = (gates, findings, stability, noise, blame, money)
    return [section for make in made if (section := make(judged)) is not None]


def gates(judged: _Judged) -> Section | None:
    """Every gate of every vendor, those that fail first."""
    t, found = judged.t, judged.verdict.gates
    if not found:
        return None
    columns = (
        Column("gate", lambda gate: Cell(visible(str(gate.threshold)), kind="code"), prose=True),
        Column("outcome", lambda gate: _outcome(gate.outcome), prose=True),
        Column("measured_value", lambda gate: _gate_figure(gate), writers=_PAGE),
        Column("reason", lambda gate: words(gate.reason, MAX_SENTENCE), prose=True),
    )
    items = [Item(gate.label, gate, judged.places.get(gate.label)) for gate in found]
    ordered = sorted(items, key=lambda item: (_WORST_FIRST.index(item.about.outcome), item.vendor or 0))
    return Section("gates", t("gates"), tables=(table(t("gates"), t("vendor"), columns, ordered, t),))


def _outcome(outcome: str) -> Cell:
    return Cell(outcome, float(_WORST_FIRST.index(outcome)), css=f"gate-{outcome.lower()}")


def _gate_figure(gate: Any) -> Cell:
    return estimate(gate.estimate, is_share=is_share(gate.threshold.metric))


def findings(judged: _Judged) -> Section | None:
    """The section of findings, each with the numbers it rests on."""
    t = judged.t
    if not judged.verdict.findings:
        return None

    def statement(found: Finding) -> Cell:
        return words(visible(found.statement, MAX_SENTENCE) + evidence(found, t), 2 * MAX_SENTENCE)

    columns = [Column("findings", statement, prose=True)]
    items = [Item(found.label, found, judged.places.get(found.label)) for found in judged.verdict.findings]
    made = table(t("findings"), t("vendor"), columns, items, t)
    return Section("findings", t("findings"), t("findings_note"), tables=(made,))


def evidence(found: Finding, t: Texts) -> str:
    """The numbers that a finding rests on, in brackets; "" without any."""
    shown = [f"{name} {_figure(value)}" for name, value in found.evidence.items()]
    return t("evidence", numbers=t.joined(shown, "semicolon")) if shown else ""


def _figure(value: float | int | str) -> str:
    return f"{value:.4g}" if isinstance(value, float) else visible(str(value), 80)


def stability(judged: _Judged) -> Section | None:
    """The section on rank uncertainty: rank intervals, tie groups, and changes of the leader."""
    t, ranking = judged.t, judged.verdict.ranking
    if ranking is None:
        return None
    columns = (
        Column("irf", lambda one: estimate(one.irf)),
        Column("p_first", lambda one: structs.replace(share(one.p_first), wide=f"{one.p_first:.2f}")),
        Column("place_interval", lambda one: Cell(number_format.ranks(one.rank.low, one.rank.high))),
        *(_joint_ranks(ranking, metric, t) for metric in ranking.metrics),
    )
    made = table(t("stability_irf"), t("vendor"), columns, judged.items(ranking.irf), t)
    return Section("stability", t("stability"), None, tuple(_stability_lines(ranking, judged)), (made,))


def _joint_ranks(ranking: RankingJudgement, metric: str, t: Texts) -> Column:
    found = {each.label: each for each in ranking.joint if each.metric == metric}

    def cell(one: Any) -> Cell:
        known = found.get(one.label)
        return Cell(number_format.MISSING if known is None else number_format.ranks(known.low, known.high))

    return Column(metric, cell, t("rank_by", metric=metric_title(metric, t)))


def _stability_lines(ranking: RankingJudgement, judged: _Judged) -> Iterator[str]:
    t, escape = judged.t, judged.escape
    pairs = sorted(ranking.not_distinguishable)
    if pairs:
        named = [f"{escape(first)} ≈ {escape(second)}" for first, second in pairs[:_MAX_PAIRS]]
        yield t("not_distinguishable", pairs=t.joined(named))
    elif t.room == "wide":
        yield t("all_distinguishable")
    if (line := overlap_line(ranking, t, escape)) is not None:
        yield line[:1].upper() + line[1:]


def overlap_line(ranking: RankingJudgement, t: Texts, escape: Escape, most_left: float = 1.0) -> str | None:
    """The rows over which times were compared, for pairs with at most ``most_left`` of them; None without any."""
    cut = [
        each
        for each in ranking.overlaps
        if min(each.first_n / each.first_of, each.second_n / each.second_of) <= most_left
    ]
    parts = [
        t("list_and", names=f"{escape(each.first)} {number_format.of(each.first_n, each.first_of, t)}",
          last=f"{escape(each.second)} {number_format.of(each.second_n, each.second_of, t)}")
        for each in cut[:MAX_PAIRS]
    ]  # fmt: skip
    more = t("more_overlaps", count=len(cut) - MAX_PAIRS) if len(cut) > MAX_PAIRS else ""
    return t("overlap_line", pairs=t.joined(parts, "semicolon") + more) if cut else None


def noise(judged: _Judged) -> Section | None:
    """The section on the noise floor and each vendor's gap to it."""
    t, floor = judged.t, judged.verdict.noise_floor
    if floor is None:
        return None
    own = {"ceiling": floor.ceiling, "schema": floor.schema, "ttft_ratio": floor.ttft_ratio}
    columns = (
        Column("noise_delta", lambda gap: estimate(gap.delta, signed=True)),
        Column("noise_bias", lambda gap: _tested(gap.bias, gap.bias.p_mid)),
        Column("noise_excess", lambda gap: _tested(gap.excess, gap.excess.p_exact)),
    )
    made = table(t("noise"), t("vendor"), columns, judged.items(judged.verdict.gaps), t)
    lines = tuple(t(f"noise_{name}", interval=number_format.spread(found)) for name, found in own.items())
    return Section("noise", t("noise"), None, lines, (made,))


def _tested(test: PairedTest, p_value: float) -> Cell:
    return Cell(f"{test.first} : {test.second}, {p_value:.3g}")


def blame(judged: _Judged) -> Section | None:
    """The section on the causes of failures; None where there is nothing to show."""
    t, found = judged.t, judged.verdict.blame
    if not found or (t.room == "wide" and not any(counts.failed for counts in found.values())):
        return None
    causes: tuple[Cause, ...] = get_args(Cause)
    columns = (
        Column("failed", lambda counts: count(counts.failed), writers=_PAGE),
        *(Column(f"cause_{cause}", _caused(cause)) for cause in causes),
        Column("raw_rate", lambda counts: share(counts.raw)),
        Column("own_rate", lambda counts: share(counts.attributable)),
    )
    made = table(t("blame"), t("vendor"), columns, judged.items(found), t)
    return Section("blame", t("blame"), t("blame_note"), tables=(made,))


def _caused(cause: Cause) -> Callable[[Any], Cell]:
    return lambda counts: count(counts.causes.get(cause, 0))


def money(judged: _Judged) -> Section | None:
    """The section on costs: spending, prices and the break-even of pairs of vendors; None without prices."""
    t, verdict = judged.t, judged.verdict
    if not verdict.money:
        return None
    made = [_spent(judged), _break_evens(judged), _prices(judged)]
    return Section("money", t("money"), t("break_even_note"), tables=tuple(each for each in made if each.items))


def _spent(judged: _Judged) -> Table:
    t, found = judged.t, judged.verdict.money
    columns = [
        Column("usd_total", lambda spent: usd(spent.total_usd)),
        Column("usd_retries", lambda spent: usd(spent.wasted_on_retries_usd)),
        Column("usd_failures", lambda spent: usd(spent.wasted_usd - spent.wasted_on_retries_usd)),
        Column("usd_per_1000", lambda spent: usd(spent.per_1000_requests_usd)),
        Column("usd_answer", lambda spent: _of_1000(spent.per_answer_usd)),
        Column("usd_call", lambda spent: _of_1000(spent.per_valid_call_usd)),
        Column("usd_reported", lambda spent: usd(spent.reported_usd)),
        Column("usd_ratio", lambda spent: number(spent.reported_ratio)),
        Column("unpriced", lambda spent: count(spent.unpriced), writers=_MARKDOWN),
    ]
    if any(spent.monthly_usd is not None for spent in found.values()):
        columns.append(Column("usd_month", lambda spent: usd(spent.monthly_usd), writers=_MARKDOWN))
    if any(spent.duplicates_usd is not None for spent in found.values()):
        columns.append(Column("usd_twice", lambda spent: usd(spent.duplicates_usd)))
    return table(t("money"), t("vendor"), columns, judged.items(found), t)


def _of_1000(each_usd: float | None) -> Cell:
    return usd(None if each_usd is None else 1000 * each_usd)


def _prices(judged: _Judged) -> Table:
    """The table of the prices used, in the vendor's own currency."""
    t = judged.t
    kinds = ("input", "cached", "output", "reasoning", "request")
    columns = (
        *(structs.replace(column, key=f"price_{column.key}", title=None) for column in field_columns(kinds)),
        Column("price_currency", lambda price: words(price.currency, 8), prose=True),
        Column("price_rate", lambda price: number(price.rate)),
        Column("price_source", lambda price: words(price.source), prose=True),
    )
    return table(t("prices"), t("price_of"), columns, judged.items(judged.verdict.prices), t)


def _break_evens(judged: _Judged) -> Table:
    """The table of cheaper prices that hold or are eaten: the baseline against each other vendor, or where it has no
    price the vendor that asks least for an answer.
    """
    t, found = judged.t, judged.verdict.break_evens
    named = {name for each in found for name in (each.cheap, each.dear)}
    spent = judged.verdict.money
    cheapest = min(named, key=lambda name: (spent[name].per_answer_usd or 0.0, name), default=None)
    against = judged.baseline if judged.baseline in named else cheapest
    columns = (
        Column("break_even_dear", lambda each: name(each.dear), prose=True),
        Column("break_even_answer", lambda each: _percent(each.per_answer)),
        Column("break_even_call", lambda each: _left(each.per_valid_call)),
        Column("break_even_case", lambda each: Cell(t(f"break_even_{case_of(each)}")), prose=True),
        Column("break_even_mix", lambda each: number(each.mix), writers=_MARKDOWN),
    )
    pairs = [each for each in found if against in (each.cheap, each.dear)]
    items = [Item(each.cheap, each, judged.places.get(each.cheap)) for each in pairs]
    return table(t("break_evens"), t("break_even_cheap"), columns, items, t)


def _percent(share: float | None) -> Cell:
    return Cell(number_format.percent(share), number_format.finite(share))


def _left(found: Estimate) -> Cell:
    """The part of a cheaper price that is left per valid call, with its interval."""
    ends = None
    if found.low is not None and found.high is not None:
        ends = f"{number_format.percent(found.low)} … {number_format.percent(found.high)}"
    value = number_format.percent(found.value)
    return Cell(value, number_format.finite(found.value), ends, value if ends is None else f"{value} ({ends})")


def case_of(found: BreakEven) -> Case:
    """The case of a break-even, by the interval of the advantage left per valid call."""
    real = found.per_valid_call
    if real.low is not None and real.low > 0:
        return "holds"
    return "eaten" if real.high is not None and real.high < 0 else "open"
