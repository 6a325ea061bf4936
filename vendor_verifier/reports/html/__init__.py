"""report.html: one file that is complete in itself; the page's policy forbids it to load or send anything.

Text of strangers passes ``visible`` and then the template's or the drawing's escaping. Style and script are constant
and named by their digests in the policy. Without its script the page works, but its table of figures cannot be sorted.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from vendor_verifier.records.results import FACETS, Facet, Finding, Status, VendorResult
from vendor_verifier.records.sample import Sample
from vendor_verifier.reports import formats
from vendor_verifier.reports.escape import MAX_SENTENCE, visible
from vendor_verifier.reports.formats import Column, Table
from vendor_verifier.reports.html import svg
from vendor_verifier.reports.tables import BEST_FIRST, INCOMPLETE, ModelTables, by_verdict, conditions
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.text import counted

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_LISTED = 50
MOST_TEXT = 100_000
# Of a finding, of a vendor, and characters of a text.
EXAMPLES, MOST_EXAMPLES, EXCERPT = 3, 6, 400
SHORT: Mapping[formats.Format, formats.Format] = {
    formats.irf: formats.short_rate,
    formats.rate: formats.short_rate,
    formats.quantity: formats.short_quantity,
}
_EXCEPTIONS: tuple[Status, ...] = ("check", "differs", "down")


def render(scored: ScoredRun, tables: Mapping[str, ModelTables]) -> str:
    """The whole page, UTF-8-encodable."""
    report = scored.report
    models = [_model(f"m{place}", each) for place, each in enumerate(tables.values())]
    limits = not report.complete or any(model["choice"]["kind"] != "recommended" for model in models)
    return drawn(
        "page.html.j2",
        part("page.css"),
        part("page.js"),
        run=visible(report.run),
        models=models,
        facets=[formats.FACET_TITLES[name] for name in FACETS],
        facts=_facts(scored),
        warnings=_listed([*(() if report.complete else (INCOMPLETE,)), *report.warnings]),
        limits=limits,
        notes=[
            ("Run conditions", _listed(conditions(scored))),
            ("Data set", _listed(report.dataset)),
            ("Not run", _listed([f"{name}: {reason}" for name, reason in report.not_run.items()])),
        ],
    )


def part(name: str) -> str:
    """One of the constant texts of the pages."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(part), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["visible"] = lambda text: visible(
        text if isinstance(text, str) else json.dumps(text), MOST_TEXT
    )
    environment.globals.update(words=formats.STATUS_WORDS, symbols=svg.symbols())
    return environment


def drawn(template: str, style: str, script: str = "", *, form_action: str = "'none'", **content: Any) -> str:
    """A page made by one of the templates here, UTF-8-encodable; its policy allows this style and script, no more."""
    digests = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (style, script))
    allowed = "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; "
    policy = allowed.format(*digests) + f"form-action {form_action}"
    # Safe to mark: both are constant files of ours, and the policy allows exactly these bytes.
    constant = {"style": Markup(style), "script": Markup(script)}  # noqa: S704
    text: str = _templates().get_template(template).render(policy=policy, **constant, **content)
    return text


def _facts(scored: ScoredRun) -> list[str]:
    manifest, vendors = scored.manifest, sum(len(model.vendors) for model in scored.report.models.values())
    samples = sum(len(found) for found in scored.samples.values())
    facts = [f"Run {scored.report.run}", f"{counted(samples, 'sample')}, {counted(vendors, 'vendor')}"]
    if manifest.created_at:
        facts.append(f"{manifest.created_at[:10]} {manifest.created_at[11:16]} UTC")
    if manifest.tool is not None and manifest.tool.name:
        facts.append(f"{manifest.tool.name} {manifest.tool.version or ''}")
    return [visible(fact) for fact in facts]


def _sentence(text: str) -> str:
    return visible(text[:1].upper() + text[1:], MAX_SENTENCE)


def _listed(texts: Sequence[str]) -> list[str]:
    shown = [visible(text, MAX_SENTENCE) for text in texts[:MOST_LISTED]]
    return [*shown, f"and {len(texts) - MOST_LISTED} more"] if len(texts) > MOST_LISTED else shown


def _model(id: str, tables: ModelTables) -> dict[str, Any]:
    model = tables.model
    order = [vendor for vendor in by_verdict(model) if not vendor.is_baseline]
    order += [vendor for vendor in model.vendors.values() if vendor.is_baseline]
    ids = {label: f"{id}v{place}" for place, label in enumerate(model.vendors)}
    advice, _, more = visible(model.choice.text, MAX_SENTENCE).partition(". ")
    return {
        "id": id,
        "name": visible(tables.name),
        "choice": {"kind": model.choice.kind, "text": advice, "more": more},
        "baseline": model.baseline,
        "vendors": [_vendor(ids[vendor.label], vendor, tables) for vendor in order],
        "figures": _figures(tables, ids),
        "panels": list(_panels(order, model.baseline, tables.records)),
        "scatter": _scatter(order, tables),
        "tables": [_shown(table) for table in tables.sections if table.title not in ("Findings", "95 % intervals")],
    }


def _vendor(id: str, vendor: VendorResult, tables: ModelTables) -> dict[str, Any]:
    """A vendor's row of the matrix and its part of the evidence."""
    verdict = vendor.verdict
    facets = {name: verdict.facets.get(name, Facet(status=verdict.status, reason="")) for name in FACETS}
    claims = [_claim(f"{id}-{name}", formats.FACET_TITLES[name], facet) for name, facet in facets.items()]
    told = {facet.reason for facet in facets.values()}
    own = [found for found in tables.found if found.vendor == vendor.label]
    examples = list(_examples(vendor.label, own, tables))
    failed = sum(vendor.failures.values())
    return {
        "id": id,
        "name": visible(vendor.label),
        "is_baseline": vendor.is_baseline,
        "is_wrong_model": facets["model"].status == "differs",
        "status": verdict.status,
        "reason": "" if verdict.status in ("matches", "reference") else _sentence(verdict.reason),
        "claims": claims,
        "summary": ", ".join(
            counted(number, word)
            for number, word in ((len(own), "finding"), (failed, "failure"), (len(examples), "example"))
            if number
        ),
        "about": visible(
            f"{vendor.vendor}, {vendor.model_id}: {vendor.succeeded} of {vendor.planned} requests answered"
            + (f"; {formats.tally(vendor.failures)}" if vendor.failures else "")
        ),
        "notes": [_sentence(found.text) for found in own if found.text not in told],
        "examples": examples,
    }


def _claim(id: str, title: str, facet: Facet) -> dict[str, Any]:
    found, numbers = facet.status in _EXCEPTIONS, []
    if found and facet.p_value is not None:
        ends = formats.interval(facet.low, facet.high)
        numbers = [f"p {formats.p_value(facet.p_value)}", *([f"95 % interval {ends}"] if ends else []), f"n {facet.n}"]
    return {
        "id": id,
        "facet": title,
        "status": facet.status,
        "text": _sentence(facet.reason),
        "numbers": " · ".join(numbers),
        "command": visible(facet.command) if found else "",
    }


def _figures(tables: ModelTables, ids: Mapping[str, str]) -> dict[str, Any]:
    """The table of figures by place, the baseline last: the verdict next to IRF, which orders and does not measure,
    and with 95 % intervals."""
    vendors, ranking = tables.model.vendors, tables.ranking
    rows = [(label, {**values, "price": _price(label, tables)}) for label, values in ranking.rows]
    price = Column("price", "100,000 requests", formats.usd)
    columns = [*(column for column in ranking.columns if column.key != "answered"), price]
    table = replace(ranking, rows=rows, columns=columns).without_empty
    shown = _shown(table)
    for head, column in zip(shown["heads"][1:], table.columns, strict=True):
        head["order"] = "ascending" if column.key == "place" else ""
    for row, (label, values) in zip(shown["rows"], rows, strict=True):
        vendor = vendors[label]
        row |= {"is_baseline": vendor.is_baseline, "link": ids[label]}
        for cell, column in zip(row["cells"], table.columns, strict=True):
            cell["value"] = formats.finite(values.get(column.key))
            if column.key == "verdict":
                cell |= {"status": vendor.verdict.status, "value": BEST_FIRST.index(vendor.verdict.status)}
            if column.key in vendor.intervals:
                cell["small"] = "–".join(map(SHORT[column.form], vendor.intervals[column.key]))
    shown["rows"].sort(key=lambda row: row["is_baseline"])
    if any(vendor.intervals for vendor in vendors.values()):
        shown["note"] += " Small figures are 95 % intervals."
    return shown


def _shown(table: Table) -> dict[str, Any]:
    """A table as the template draws it."""
    heads = [{"text": visible(table.head), "css": "", "order": ""}]
    heads += [
        {"text": visible(column.head), "css": "words" if column.form is str else "", "order": ""}
        for column in table.columns
    ]
    rows = [
        {
            "name": visible(name),
            "is_baseline": False,
            "link": None,
            "cells": [{"text": visible(text, 500), "value": None, "status": None, "small": ""} for text in texts],
        }
        for name, *texts in table.texts()
    ]
    return {"title": visible(table.title), "note": visible(table.note, MAX_SENTENCE), "heads": heads, "rows": rows}


def _panels(order: Sequence[VendorResult], baseline: str | None, records: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The distribution of TTFT of each vendor next to the baseline's, on one axis."""
    groups = records[records["ttft_ms"] > 0].groupby("label", observed=True)["ttft_ms"]
    times = {str(label): part.to_numpy() for label, part in groups if len(part) > 1}
    if not times:
        return
    span = svg.time_span(list(times.values()))
    for vendor in order:
        own = times.get(vendor.label)
        if own is None or (vendor.label == baseline and len(times) > 1):
            continue
        p50, p95 = np.quantile(own, [0.5, 0.95])
        name = visible(vendor.label)
        speed = vendor.verdict.facets.get("speed")
        is_exception = speed is not None and speed.status in _EXCEPTIONS
        label = f"Distribution of the TTFT of {name}"
        drawing = svg.ttft_panel(own, times.get(baseline or ""), span, label, is_exception=is_exception)
        yield {"name": name, "figures": f"p50 {p50:.3g} ms, p95 {p95:.3g} ms", "drawn": drawing}


def _scatter(order: Sequence[VendorResult], tables: ModelTables) -> Markup | None:
    """Quality over price; None with fewer than two vendors whose price is known."""
    metrics = {"f1": "F1", "schema_accuracy": "schema accuracy", "success_rate": "success rate"}
    metric = next((each for each in metrics if sum(v.metric(each) is not None for v in order) > 1), "success_rate")
    points = []
    for vendor in order:
        price, quality = _price(vendor.label, tables), formats.finite(vendor.metric(metric))
        if price is not None and quality is not None:
            words = formats.STATUS_WORDS[vendor.verdict.status]
            title = f"{visible(vendor.label)}: {words}, {formats.usd(price)}, {formats.rate(quality)}"
            points.append(svg.Point(visible(vendor.label, 22), vendor.verdict.status, price, quality, title))
    return svg.price_quality(points, "US dollars for 100,000 requests", metrics[metric]) if len(points) > 1 else None


def _price(label: str, tables: ModelTables) -> float | None:
    """US dollars for 100,000 requests."""
    money = tables.scored.money.get((tables.name, label))
    return None if money is None or money.per_1000_requests_usd is None else 100 * money.per_1000_requests_usd


def _examples(label: str, found: Sequence[Finding], tables: ModelTables) -> Iterator[dict[str, Any]]:
    """The samples that show the findings, most telling first, with the answers of the baseline and the vendor."""
    facets: dict[str, str] = {}
    for finding in found:
        for name in finding.samples[:EXAMPLES]:
            facets.setdefault(name, formats.FACET_TITLES[finding.facet])
    scored, model = tables.scored, tables.name
    is_own = (scored.records["model"] == model) & (scored.records["label"] == label)
    rows = scored.records.loc[is_own & scored.records["sample"].isin(facets), ["sample", "suite", "ok", "failure"]]
    rows = rows.sort_values("ok", kind="stable").drop_duplicates("sample").set_index("sample")
    for name, facet in [item for item in facets.items() if item[0] in rows.index][:MOST_EXAMPLES]:
        suite, is_failed = str(rows.at[name, "suite"]), not rows.at[name, "ok"]
        sample = scored.samples[suite].named(name)
        parts = [("Prompt", "" if sample is None else prompt_of(sample))]
        for title, each in (("Baseline", tables.model.baseline), ("Vendor", label)):
            kept = scored.texts.kept.get((model, each or ""), {}).get((suite, name), {})
            answer = next(iter(kept.values()), None)
            if each == label and is_failed:
                parts.append((title, f"failed: {rows['failure'].astype(str)[name]}"))
            elif answer is not None:
                parts.append((title, " ".join(filter(None, [answer.calls.replace("\0", " "), answer.text]))))
        if len(parts) > 1:
            shown = [(title, visible(text, EXCERPT)) for title, text in parts]
            yield {"title": facet, "where": visible(f"{suite} {name}"), "parts": shown}


def prompt_of(sample: Sample) -> str:
    """The last user message as text."""
    spoken = [message for message in sample.turn.messages if message.get("role") == "user"] or sample.turn.messages[-1:]
    content = spoken[-1].get("content") if spoken else ""
    return content if isinstance(content, str) else json.dumps(content)
