"""A forecast in plain lines: the figures of each vendor, the totals, and the assumptions.

Each assumption stands beside the figure that rests on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from vendor_verifier.reports.escape import plain
from vendor_verifier.values.plan import EntryForecast, Forecast


def forecast_lines(forecast: Forecast) -> Iterator[str]:
    """One line a vendor, then totals, time, the drop of F1 that the run could show, and the assumptions."""
    for entry in forecast.entries:
        yield _entry_line(entry)
    yield f"in all: {forecast.requests:,} requests without retries (each at most {forecast.retries} more); " + _money(
        forecast
    )
    yield f"time: about {_duration(forecast.duration_s)}, vendors side by side, without retries and rate limits"
    yield from _limits(forecast)
    if forecast.detectable_drop is not None and forecast.samples_for_drop is not None:
        yield _power(forecast)
    yield _assumed(forecast)
    yield "nothing was sent"


def _entry_line(entry: EntryForecast) -> str:
    most = entry.output_ceiling_tokens
    at_once = f"{'at most ' if entry.is_open else ''}{entry.concurrency} at a time"
    words = [
        f"{entry.model} / {entry.label}" + (" (baseline)" if entry.is_baseline else ""),
        f"{entry.requests:,} requests, {at_once}, about {_duration(entry.duration_s)}",
        f"about {entry.input_tokens:,} tokens in and {entry.output_tokens:,} out",
        "out without a limit (no max_tokens)" if most is None else f"at most {most:,} out",
        _entry_money(entry),
    ]
    return plain("; ".join(words))


def _entry_money(entry: EntryForecast) -> str:
    if entry.price is None or entry.cost_usd is None:
        return "price not known (add `price:` to the entry)"
    most = "no ceiling" if entry.cost_ceiling_usd is None else f"at most {_usd(entry.cost_ceiling_usd)}"
    return f"about {_usd(entry.cost_usd)}, {most} (price: {entry.price.source})"


def _money(forecast: Forecast) -> str:
    priced = len(forecast.entries) - forecast.unpriced
    if not priced:
        return "the price is not known"
    words = f"about {_usd(forecast.cost_usd)}"
    if forecast.cost_ceiling_usd is not None:
        words += f", at most {_usd(forecast.cost_ceiling_usd)}"
    return words + (f", and {forecast.unpriced} vendor(s) whose price is not known" if forecast.unpriced else "")


def _limits(forecast: Forecast) -> Iterator[str]:
    if forecast.max_requests is not None:
        yield f"--max-requests ends the run after {forecast.max_requests:,} requests, retries included"
    if forecast.max_cost_usd is not None:
        yield f"--max-cost ends the run at about {_usd(forecast.max_cost_usd)}"


def _power(forecast: Forecast) -> str:
    assumed, shown = forecast.assumptions, forecast.detectable_drop or 0.0
    return (
        f"with {forecast.trigger_samples:,} samples you can see a drop of {100 * shown:.1f} points; "
        f"for {100 * assumed.drop:g} points send {forecast.samples_for_drop:,} "
        f"(F1, in four of five cases; assumed: the baseline agrees with itself at F1 {assumed.ceiling:g}, "
        f"{assumed.prevalence:.0%} of the samples call a tool; change with --ceiling, --prevalence, --drop)"
    )


def _assumed(forecast: Forecast) -> str:
    assumed = forecast.assumptions
    return (
        f"assumed: {assumed.bytes_per_token:g} bytes of messages and tools a token (an estimate, no tokenizer), "
        f"{assumed.answer_tokens:,} tokens (--answer-tokens) and {assumed.answer_s:g} s (--answer-seconds) an answer, "
        "nothing cached, conversations without tool calls"
    )


def _usd(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.005 or amount == 0 else f"${amount:.4f}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
