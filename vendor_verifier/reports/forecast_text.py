"""A forecast in plain lines: the figures of each vendor, the totals, and the assumptions.

Each assumption stands beside the figure that rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from vendor_verifier.reports.escape import plain
from vendor_verifier.values.plan import EntryForecast, Forecast
from vendor_verifier.words import Texts


def forecast_lines(forecast: Forecast) -> Iterator[str]:
    """One line a vendor, then totals, time, the drop of F1 that the run could show, and the assumptions."""
    t = Texts()
    for entry in forecast.entries:
        yield _entry_line(entry, t)
    yield t("forecast_all", requests=f"{forecast.requests:,}", retries=forecast.retries, money=_money(forecast, t))
    yield t("forecast_time", time=_duration(forecast.duration_s, t))
    if forecast.processes > 1:
        counts = {"processes": forecast.processes, "timed": forecast.timed_streams}
        yield t("forecast_processes", streams=f"{forecast.streams:,}", **counts)
    yield from _limits(forecast, t)
    if forecast.trigger_samples:
        yield t("forecast_uncompared") if forecast.detectable_drop is None else _power(forecast, t)
    yield _assumed(forecast, t)
    yield t("forecast_nothing_sent")


def _entry_line(entry: EntryForecast, t: Texts) -> str:
    most, vendor = entry.output_ceiling_tokens, f"{entry.model} / {entry.label}"
    work = [
        t("forecast_requests", requests=f"{entry.requests:,}"),
        t("forecast_at_once_most" if entry.is_open else "forecast_at_once", count=entry.concurrency),
        t("forecast_about", amount=_duration(entry.duration_s, t)),
    ]
    words = [
        t("forecast_baseline", vendor=vendor) if entry.is_baseline else vendor,
        t.joined(work, "clause"),
        t("forecast_tokens", input=f"{entry.input_tokens:,}", output=f"{entry.output_tokens:,}"),
        t("forecast_out_unlimited") if most is None else t("forecast_out_most", tokens=f"{most:,}"),
        _entry_money(entry, t),
    ]
    return plain(t.joined(words, "semicolon"))


def _entry_money(entry: EntryForecast, t: Texts) -> str:
    if entry.price is None or entry.cost_usd is None:
        return t("forecast_no_price")
    ceiling = entry.cost_ceiling_usd
    most = t("forecast_no_ceiling") if ceiling is None else t("forecast_most", amount=_usd(ceiling))
    return t("forecast_cost", cost=_usd(entry.cost_usd), most=most, source=entry.price.source)


def _money(forecast: Forecast, t: Texts) -> str:
    if forecast.unpriced == len(forecast.entries):
        return t("forecast_unpriced_all")
    ceiling = forecast.cost_ceiling_usd
    words = [
        t("forecast_about", amount=_usd(forecast.cost_usd)),
        None if ceiling is None else t("forecast_most", amount=_usd(ceiling)),
        t("forecast_and_unpriced", count=forecast.unpriced) if forecast.unpriced else None,
    ]
    return t.joined(words, "clause")


def _limits(forecast: Forecast, t: Texts) -> Iterator[str]:
    if forecast.max_requests is not None:
        yield t("forecast_max_requests", count=f"{forecast.max_requests:,}")
    if forecast.max_cost_usd is not None:
        yield t("forecast_max_cost", cost=_usd(forecast.max_cost_usd))


def _power(forecast: Forecast, t: Texts) -> str:
    assumed, shown, needed = forecast.assumptions, forecast.detectable_drop or 0.0, forecast.samples_for_drop
    drop = f"{100 * assumed.drop:g}"
    return t(
        "forecast_power",
        seen=t("forecast_seen" if shown < 1 else "forecast_unseen", shown=f"{100 * shown:.1f}"),
        needed=t("forecast_never", drop=drop) if needed is None else t("forecast_needed", drop=drop, n=f"{needed:,}"),
        samples=f"{forecast.trigger_samples:,}",
        count=forecast.compared,
        ceiling=f"{assumed.ceiling:g}",
        prevalence=f"{assumed.prevalence:.0%}",
    )


def _assumed(forecast: Forecast, t: Texts) -> str:
    assumed = forecast.assumptions
    return t(
        "forecast_assumed",
        bytes=f"{assumed.bytes_per_token:g}",
        tokens=f"{assumed.answer_tokens:,}",
        seconds=f"{assumed.answer_s:g}",
    )


def _usd(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.005 or amount == 0 else f"${amount:.4f}"


def _duration(seconds: float, t: Texts) -> str:
    if seconds < 120:
        return t("time_s", count=f"{seconds:.0f}")
    return t("time_min", count=f"{seconds / 60:.0f}") if seconds < 7200 else t("time_h", count=f"{seconds / 3600:.1f}")
