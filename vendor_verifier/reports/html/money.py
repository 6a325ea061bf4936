"""The page's part about money: what was spent, when a cheaper price is eaten, and the prices reckoned with."""

from __future__ import annotations

from collections.abc import Mapping

from vendor_verifier.reports import cells
from vendor_verifier.reports.break_even_lines import Case, told_break_evens
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html import tables
from vendor_verifier.reports.html.section import Section
from vendor_verifier.reports.html.tables import Row, Table, label, plain_table, words
from vendor_verifier.reports.html.texts import Texts
from vendor_verifier.values.judgement import BreakEven
from vendor_verifier.values.verdict import ModelVerdict


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
    return cells.MISSING if share is None else f"{100 * share:.3g} %".replace("-", "−")
