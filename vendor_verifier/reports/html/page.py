"""report.html: one file that is complete in itself; the page's policy forbids it to load or send anything.

All text written by strangers passes ``visible`` (nothing hidden) and then the template's or the drawing's escaping.
Style and script are constant and named by their digests in the policy, so nothing injected into the page could run. The
page works without its script, but then it does not sort or filter.
"""

from __future__ import annotations

import base64
import hashlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.util import cache_from_source
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

import msgspec

from vendor_verifier.records.details import MAX_EXAMPLES, MAX_POINTS
from vendor_verifier.records.score import ModelScore, Report
from vendor_verifier.reports import number_format, sentences, vendor_tables
from vendor_verifier.reports.escape import MAX_SENTENCE, visible
from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.model_charts import model_charts
from vendor_verifier.reports.html.overview import figures, has_prices, matrix, notes, volume
from vendor_verifier.reports.html.vendor_details import vendor_views
from vendor_verifier.reports.judged import judged_sections
from vendor_verifier.reports.run_conditions import asked, clock_lines
from vendor_verifier.reports.tables import (
    Column,
    Section,
    Table,
    field_columns,
    measured,
    page_label,
    table,
    vendor_items,
)
from vendor_verifier.reports.verdicts import choice_line
from vendor_verifier.words import Texts

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.bccache import Bucket

# What a page of a few vendors stays below, and what forty vendors of ten models do.
MAX_BYTES, MOST_BYTES = 400_000, 3_000_000
_MAX_LISTED = 100
# Up to here all vendors of a model are seen at a glance; beyond, a filter helps.
_FEW_VENDORS = 8
# Up to here a first line a model can be large.
_FEW_MODELS = 3
# The sections of the judgement that even the smallest page has.
_NEEDED = ("gates", "blame")
_CHIEF = ("ttft_ms", "tps", "e2e_ms")


class _Measure(msgspec.Struct, frozen=True):
    """The amount a page holds of what can be left out: examples and points in time a vendor, tables, pictures."""

    examples: int
    points: int
    is_whole: bool = True
    is_drawn: bool = True


# Tried in turn until the page is small enough to be mailed; the last only for one that could hardly be opened.
_WHOLE = _Measure(MAX_EXAMPLES, MAX_POINTS)
_MEASURES = (_WHOLE, _Measure(12, 300), _Measure(8, 200), _Measure(5, 150), _Measure(2, 100), _Measure(0, 60))
_LAST_MEASURES = (_Measure(0, 0, is_whole=False), _Measure(0, 0, is_whole=False, is_drawn=False))


def render(report: Report, *, evidence_at: str | None = None) -> str:
    """The whole page, UTF-8-encodable. Beyond 400,000 bytes it holds fewer examples and points, beyond 3,000,000 fewer
    tables and pictures, and says so. With ``evidence_at``, the address of a page of all samples, examples lead there.
    """
    t, size, page = Texts(), 0, ""
    for measure in _MEASURES:
        # A page of very many vendors comes down to the smallest at once.
        if size < 3 * MAX_BYTES or measure is _MEASURES[-1]:
            page = _page(report, t, measure, evidence_at)
            size = len(page.encode())
        if size <= MAX_BYTES:
            return page
    for measure in _LAST_MEASURES:
        if size > MOST_BYTES:
            page = _page(report, t, measure, evidence_at)
            size = len(page.encode())
    return page


def policy(style: str, script: str = "", *, asks_its_server: bool = False) -> str:
    """The content security policy that allows these two texts, questions to its own server if so said, nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'" + ("; connect-src 'self'" if asks_its_server else "")
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def part(name: str) -> str:
    """One of the constant texts of the pages."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    """The templates here; what they compile to is kept where Python keeps compiled modules, if it may keep any."""
    from jinja2 import Environment, FileSystemBytecodeCache, FunctionLoader, StrictUndefined

    class Compiled(FileSystemBytecodeCache):
        # Where Python can keep nothing it compiles anew at every start, too; a file may have been cut off.
        def load_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError, EOFError, UnpicklingError):
                super().load_bytecode(bucket)

        def dump_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):
                super().dump_bytecode(bucket)

    environment = Environment(
        loader=FunctionLoader(part),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=None if sys.dont_write_bytecode else Compiled(str(Path(cache_from_source(__file__)).parent)),
    )
    environment.filters["label"] = page_label
    return environment


def drawn(
    template: str,
    t: Texts,
    script: str = "",
    *,
    style: str | None = None,
    asks_its_server: bool = False,
    **content: Any,
) -> str:
    """A page made by one of the templates here, UTF-8-encodable; ``style`` None is that of the reports."""
    from markupsafe import Markup

    style = part("page.css") if style is None else style
    text: str = (
        _templates()
        .get_template(template)
        .render(
            t=t,
            policy=policy(style, script, asks_its_server=asks_its_server),
            # Safe to mark: both are constant files of ours, and the policy allows exactly these bytes.
            style=Markup(style),  # noqa: S704
            script=Markup(script),  # noqa: S704
            icon=charts.icon,
            shapes=charts.shapes,
            **content,
        )
    )
    return text


def _page(report: Report, t: Texts, measure: _Measure, evidence_at: str | None) -> str:
    return drawn("page.html.j2", t, part("page.js"), evidence_at=evidence_at, **_content(report, t, measure))


def _content(report: Report, t: Texts, measure: _Measure) -> dict[str, Any]:
    models = [model for model in report.models if model.vendors]
    left_out = []
    if measure is not _WHOLE and report.details is not None:
        left_out = [t("excerpts_cut" if measure.is_whole else "much_left_out")]
    return {
        "run": page_label(report.run),
        "meta": _meta(report, t),
        "choices": [(f"m{place}", *_choice(model, report, t)) for place, model in enumerate(models)],
        "has_few_models": len(models) <= _FEW_MODELS,
        "incomplete": None if report.complete else sentences.cautions(report, t)[0],
        "warnings": _listed(report.warnings, t),
        "models": [_model(position, model, report, t, measure) for position, model in enumerate(models)],
        "dataset": _listed(report.dataset, t),
        "method": [*_method(report, t), *left_out],
    }


def _choice(model: ModelScore, report: Report, t: Texts) -> tuple[str, str]:
    """The advice on a model in a sentence, and its kind as a class."""
    advice = report.advice.get(model.model)
    kind = "unjudged" if advice is None else advice.choice.kind.replace("_", "-")
    return choice_line(model, report, t, page_label), f"choice-{kind}"


def _meta(report: Report, t: Texts) -> list[str]:
    lines = [asked(report, t)]
    if report.details is not None and report.details.started_at is not None:
        lines.append(t("started", when=_minute(report.details.started_at)))
    tool = report.manifest.tool
    if tool is not None and tool.name and tool.version:
        lines.append(t("made_by", tool=page_label(tool.name), version=page_label(tool.version)))
    return lines


def _minute(moment: str) -> str:
    """``2026-03-04 05:06 UTC`` of an ISO 8601 time in UTC."""
    return f"{moment[:10]} {moment[11:16]} UTC"


def _listed(texts: Sequence[str], t: Texts) -> list[str]:
    shown = [visible(text, MAX_SENTENCE) for text in texts[:_MAX_LISTED]]
    return [*shown, t("and_more", n=len(texts) - _MAX_LISTED)] if len(texts) > _MAX_LISTED else shown


def _model(position: int, model: ModelScore, report: Report, t: Texts, measure: _Measure) -> dict[str, Any]:
    verdict = report.verdicts.get(model.model)
    details = report.details.models.get(model.model, {}) if report.details is not None else {}
    judged = [each for each in judged_sections(model, verdict, t, page_label) if each.id != "findings"]
    if measure.is_whole:
        sections = [*judged, *_speed_sections(model, t)]
    else:
        sections = [each for each in judged if each.id in _NEEDED]
    return {
        "id": f"m{position}",
        "name": page_label(model.model),
        "matrix": matrix(model, report.advice.get(model.model), t),
        "figures": figures(model, report, t),
        "volume": volume(report) if has_prices(model, report) else None,
        "has_filter": len(model.vendors) > _FEW_VENDORS,
        "notes": notes(model, report, t),
        "charts": model_charts(model, verdict, details, t, measure.points) if measure.is_drawn else [],
        "sections": sections,
        "suites": [_suite(model, suite, t) for suite in number_format.suites_of(model)],
        "vendors": vendor_views(model, report, t, measure.examples),
        "is_whole": measure.is_whole,
    }


def _suite(model: ModelScore, suite: str, t: Texts) -> tuple[str, list[Table]]:
    """An evaluation's title with the tables of its scores and, where it checks features, of the checks."""
    scores = [vendor.suites[suite] for vendor in model.vendors if suite in vendor.suites]
    values = [vendor_tables.suite_values(model, suite, t)] if any(score.values for score in scores) else []
    checks = [vendor_tables.check_matrix(model, suite, t)] if any(score.checks for score in scores) else []
    return t("evaluation", name=page_label(suite)), [*values, *checks]


def _speed_sections(model: ModelScore, t: Texts) -> list[Section]:
    """A table for each metric that a vendor measured, the chief ones in sight; then the regions, if there are any."""
    made = {name: _percentiles(name, model, t) for name in number_format.SPEED_METRICS}
    known = {name: found for name, found in made.items() if found.items}
    chief = tuple(found for name, found in known.items() if name in _CHIEF)
    others = tuple(found for name, found in known.items() if name not in _CHIEF)
    regions = vendor_tables.regions(model, t)
    return [
        *([Section("latency", t("latency"), t("latency_note"), tables=chief, folded=others)] if known else []),
        *([Section("regions", t("regions"), t("regions_note"), tables=(regions,))] if regions.items else []),
    ]


def _percentiles(name: str, model: ModelScore, t: Texts) -> Table:
    columns = [Column("n", lambda found: measured(found, t)), *field_columns(number_format.PERCENTILES)]
    found = vendor_items(model.vendors, lambda vendor: vendor.distributions.get(name))
    title = number_format.speed_title(name)
    return table(title, title, columns, (item for item in found if item.about.n or item.about.stalled), t)


def _method(report: Report, t: Texts) -> list[str]:
    names = t.joined(name for name in report.rank_metrics if name.isidentifier())
    return [
        t("method_irf", k=report.k, metrics=names),
        t("method_success"),
        t("method_f1", undecided=t(f"undecided_{report.undecided}")),
        t("method_schema", policy=report.schema_policy),
        t("method_tokens"),
        t("method_ttft_by_schedule" if report.manifest.ranks_by_schedule else "method_ttft"),
        t("method_tps"),
        *map(visible, clock_lines(report, t)),
        *sentences.usual_lines(report, t),
        t("method_place"),
        t("method_missing"),
        *([t("method_contents")] if report.details is not None else []),
    ]


def plain_page(
    title: str,
    verdicts: Sequence[str],
    meta: Sequence[str],
    sections: Sequence[Section],
    t: Texts,
    method: Sequence[str] = (),
) -> str:
    """A page of sections below each other, without a script."""
    return drawn("plain_page.html.j2", t, title=title, verdicts=verdicts, meta=meta, sections=sections, method=method)
