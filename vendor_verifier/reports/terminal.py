"""The result of a run on a screen: at most 25 lines, and columns that fit; no word is broken.

What does not fit is in report.md, next to the page that the last line names.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from vendor_verifier.records.results import FACETS, WORST_FIRST, ModelResult, Status, VendorResult
from vendor_verifier.reports import formats
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.reports.formats import COLOURS, FACET_TITLES, STATUS_MEANINGS, STATUS_SIGNS, Format, Meaning
from vendor_verifier.reports.tables import ModelTables, by_verdict, suites_of
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.text import counted, listed

if TYPE_CHECKING:
    from rich.text import Text

WIDTH, MOST_LINES = 100, 25
_MOST_WARNINGS = 4
_LABEL_LENGTH, _LABEL_WIDTH, _COMMAND_LENGTH = 60, 24, 1_000
_FACET_HEADS = {"model": "model", "tool_calls": "tools", "bill": "bill", "reliability": "rel.", "speed": "speed"}
_FIGURES: tuple[tuple[str, str, Format], ...] = (
    ("f1", "F1", formats.short_rate),
    ("schema_accuracy", "schema", formats.short_rate),
    ("avg_ttft_ms", "TTFT ms", formats.short_quantity),
    ("tps", "tok/s", formats.short_quantity),
    ("avg_tokens", "tokens", formats.short_quantity),
    ("irf", "IRF", formats.short_rate),
)
# What a narrow screen does without, the first one first.
_DROPPED_FIRST = "tokens,IRF,schema,tok/s,TTFT ms,TTFT ms avg,F1,success,speed,rel.,bill,tools,model".split(",")

Line = list[tuple[str, Meaning | None]]
"""The parts of a line with the meaning that colours them."""


class GridColumn(NamedTuple):
    """A column of the screen's table: heading, cells with their meanings, and the side to which they are aligned."""

    head: str
    cells: Sequence[tuple[str, Meaning | None]]
    left: bool = False


class Reason(NamedTuple):
    """Why vendors have their verdict; ``facet`` is "" for the whole vendor, ``further`` is not the main reason."""

    further: bool
    status: Status
    facet: str
    text: str


def lines(scored: ScoredRun, width: int = WIDTH, folder: str | None = None, shown: Collection[str] = ()) -> list[str]:
    """The screen without colours; ``folder`` is that of the run, ``shown`` are warnings that were printed before."""
    return ["".join(text for text, _ in line).rstrip() for line in _screen(scored, width, folder, shown)]


def render(scored: ScoredRun, width: int = WIDTH, folder: str | None = None, shown: Collection[str] = ()) -> Text:
    """The same with colours, to be printed without cropping, so that the terminal itself breaks a long command."""
    from rich.text import Text

    parts = [
        Text.assemble(*((text, COLOURS[meaning] if meaning else "") for text, meaning in line))
        for line in _screen(scored, width, folder, shown)
    ]
    return Text("\n").join(parts)


def _line(text: str, meaning: Meaning | None = None) -> Line:
    return [(text, meaning)]


def label(text: str) -> str:
    """A name that a stranger wrote, in one line without anything that a terminal obeys."""
    return plain(text, _LABEL_LENGTH)


def _screen(scored: ScoredRun, width: int, folder: str | None, shown: Collection[str]) -> list[Line]:
    report = scored.report
    models = {name: model for name, model in report.models.items() if model.vendors}
    where = folder or f"runs/{report.run}"
    if not models:
        return [_line("Nothing was measured: the run has no vendors.", "title"), *_where(where, None, width)]
    end = [*_warnings(scored, shown, width), *_gates(scored, width)]
    worst = next((labels[0] for model in models.values() for labels in reasons(model).values()), None)
    end += _where(where, worst, width)
    found: list[Line] = []
    # A narrower screen needs more lines for the same sentences.
    room = round(MOST_LINES * max(1.0, WIDTH / width)) - len(end)
    kept = list(models) if len(models) <= room else list(models)[: room - 1]
    if len(kept) < len(models):
        end.insert(0, _line(f"… {counted(len(models) - len(kept), 'more model')} in report.md", "aside"))
        room -= 1
    for place, name in enumerate(kept):
        found += _model(ModelTables(scored, name), width, (room - len(found)) // (len(kept) - place))
    return [*found, *end]


def _model(tables: ModelTables, width: int, room: int) -> list[Line]:
    """The lines of one model, ``room`` of them at most: the choice, the table, and reasons in what is left."""
    scored, name, model = tables.scored, tables.name, tables.model
    text = plain(model.choice.text, MAX_SENTENCE)
    if len(scored.report.models) > 1 and name not in model.choice.text:
        text = f"{label(name)}: {text}"
    found = [_line(line, "title") for line in _wrapped(text, width)]
    against = reasons(model)
    if room < len(found) + 4:
        return found if len(found) <= room else [_line(_cut(text, width), "title")]
    found.append(_line(_subject(tables, width), "aside"))
    vendors = by_verdict(model)
    # A few reasons are worth more than the last vendors.
    most = max(1, room - len(found) - 1 - min(len(against), room // 5))
    kept = vendors if len(vendors) <= most else vendors[: most - 1]
    found += _grid([vendor.label for vendor in kept], _columns(tables, kept), width)
    if len(kept) < len(vendors):
        found.append(_line(f"… {counted(len(vendors) - len(kept), 'more vendor')} in report.md", "aside"))
    if scored.manifest.settings.is_open:
        found += _further_times(tables, width, room - len(found) - min(len(against), 4))
    return [*found, *_reasons(against, width, room - len(found))]


def _subject(tables: ModelTables, width: int) -> str:
    """``model · 315 samples · baseline deepseek · 2026-11-24 15:15``."""
    scored, baseline = tables.scored, tables.model.baseline
    asked = counted(sum(len(samples) for samples in scored.samples.values()), "sample")
    if scored.manifest.is_by_doing:
        numbers = sorted(v.planned for v in tables.model.vendors.values())
        asked = f"{numbers[0]} to {numbers[-1]} requests a vendor"
    at = (scored.manifest.created_at or "")[:16].replace("T", " ")
    state = "" if scored.report.complete else "incomplete"
    compared = "no baseline" if baseline is None else f"baseline {label(baseline)}"
    parts = [label(tables.name), asked, compared, at, state]
    return _cut(" · ".join(part for part in parts if part), width)


def _columns(tables: ModelTables, vendors: Sequence[VendorResult]) -> list[GridColumn]:
    """The columns next to the vendors' names; those in which nothing was measured are left out."""
    words = [(formats.STATUS_WORDS[v.verdict.status], STATUS_MEANINGS[v.verdict.status]) for v in vendors]
    columns = [GridColumn("verdict", words, left=True)]
    success = [GridColumn("success", [(f"{v.succeeded}/{v.planned}", None) for v in vendors])]
    good = dict(tables.goodput().rows)
    if good:
        rates = [good.get(v.label, {}).get("per_s") for v in vendors]
        success.append(_figure("good/s", rates, formats.short_quantity))
    if tables.scored.manifest.settings.is_open:
        return [*columns, *success, *_load_columns(tables, vendors)]
    for facet in FACETS:
        statuses = [v.verdict.facets[facet].status if facet in v.verdict.facets else None for v in vendors]
        cells = [(STATUS_SIGNS[each], STATUS_MEANINGS[each]) if each else (formats.MISSING, None) for each in statuses]
        columns.append(GridColumn(_FACET_HEADS[facet], cells, left=True))
    columns += success
    scores = [(suite, label(suite), formats.short_rate) for suite in suites_of(tables.model)]
    for metric, head, form in (*scores, *_FIGURES):
        values = [v.metric(metric) for v in vendors]
        if any(value is not None for value in values):
            columns.append(_figure(head, values, form))
    return columns


def _figure(head: str, values: Sequence[float | None], form: Format) -> GridColumn:
    return GridColumn(head, [(formats.written(value, form), None) for value in values])


def _load_columns(tables: ModelTables, vendors: Sequence[VendorResult]) -> list[GridColumn]:
    """Under a request rate: the rates asked for and reached, and the distribution of TTFT."""
    load, times = tables.scored.manifest.settings.load, tables.latency()
    reached = {label: row["requests_per_s"] for label, row in tables.pace().rows}
    columns = [_figure("asked/s", [load.request_rate if load else None for _ in vendors], formats.short_quantity)]
    columns.append(_figure("sent/s", [reached.get(v.label) for v in vendors], formats.short_quantity))
    ttft = {label: row for label, row in reversed(times.rows) if row["metric"].startswith("TTFT")}
    for column in times.columns[1:-1]:
        head = "TTFT ms avg" if column.key == "mean" else column.head
        values = [ttft.get(v.label, {}).get(column.key) for v in vendors]
        columns.append(_figure(head, values, formats.short_quantity))
    return columns


def _further_times(tables: ModelTables, width: int, room: int) -> list[Line]:
    """A table of the times of single answers but TTFT: of all vendors, or none where ``room`` is less."""
    times = tables.latency()
    rows = [row for row in times.texts() if row[1].startswith(("TPOT", "E2E"))]
    if not rows or len(rows) >= room:
        return []
    columns = [
        GridColumn(column.head, [(row[place], None) for row in rows], left=column.key == "metric")
        for place, column in enumerate(times.columns, 1)
    ]
    return _grid([row[0] for row in rows], columns, width)


def _grid(names: Sequence[str], columns: Sequence[GridColumn], width: int) -> list[Line]:
    """A table of these rows that fits ``width``: gaps of two blanks or one, then without its less important columns."""
    from rich.cells import cell_len, set_cell_size

    shown = [label(name) for name in names]
    most = min(max(map(cell_len, ["vendor", *shown])), _LABEL_WIDTH if width >= 80 else _LABEL_WIDTH // 2)
    shown = [name if cell_len(name) <= most else set_cell_size(name, most - 1).rstrip() + "…" for name in shown]
    columns, gap = list(columns), 2

    def size(column: GridColumn) -> int:
        return max(cell_len(text) for text in (column.head, *(text for text, _ in column.cells)))

    while most + sum(gap + size(column) for column in columns) > width and len(columns) > 1:
        if gap == 2:
            gap = 1
            continue
        heads = [column.head for column in columns]
        dropped = next((each for each in _DROPPED_FIRST if each in heads), heads[-1])
        del columns[heads.index(dropped)]
    found = [_line(set_cell_size("vendor", most), "aside"), *(_line(set_cell_size(name, most)) for name in shown)]
    for column in columns:
        wide = size(column)
        cells: list[tuple[str, Meaning | None]] = [(column.head, "aside"), *column.cells]
        for line, (text, meaning) in zip(found, cells, strict=True):
            blank = " " * (wide - cell_len(text))
            line.append((" " * gap + (text + blank if column.left else blank + text), meaning))
    return found


def reasons(model: ModelResult) -> dict[Reason, list[str]]:
    """Reasons with the labels of their vendors: the main one of each verdict first, the worst on top, then others."""
    found: dict[Reason, list[str]] = {}
    for vendor in reversed(by_verdict(model)):
        verdict = vendor.verdict
        if verdict.status in ("matches", "reference"):
            continue
        main = next((name for name, facet in verdict.facets.items() if facet.reason == verdict.reason), None)
        own = [Reason(False, verdict.status, FACET_TITLES[main] if main else "", verdict.reason)]
        for name, facet in verdict.facets.items():
            if name != main and facet.status in ("down", "differs", "check"):
                own.append(Reason(True, facet.status, FACET_TITLES[name], facet.reason))
        for reason in own:
            found.setdefault(reason, []).append(vendor.label)
    return dict(sorted(found.items(), key=lambda item: (item[0].further, WORST_FIRST.index(item[0].status))))


def _reasons(against: Mapping[Reason, list[str]], width: int, room: int) -> list[Line]:
    """One line a reason, more where there is room; the main ones rather than a line on how many are left out."""
    if room < 1 or not against:
        return []
    kept = list(against)
    if len(kept) > room:
        kept = kept[: room if sum(not reason.further for reason in kept) == room else room - 1]
    spare = room - len(against)
    found: list[Line] = []
    for reason in kept:
        facet = f" ({reason.facet.lower()})" if reason.facet else ""
        names = listed([label(each) for each in sorted(against[reason])])
        sentence = f"{STATUS_SIGNS[reason.status]} {names}{facet}: {plain(reason.text, MAX_SENTENCE)}"
        wrapped = _wrapped(sentence, width, indent="  ")
        if len(wrapped) - 1 > spare:
            wrapped = [*wrapped[: max(0, spare)], _cut(" ".join(wrapped[max(0, spare) :]), width)]
        spare -= len(wrapped) - 1
        found += [_line(line, STATUS_MEANINGS[reason.status]) for line in wrapped]
    if len(kept) < min(room, len(against)):
        found.append(_line(f"… {counted(len(against) - len(kept), 'more reason')} in report.md", "aside"))
    return found


def _warnings(scored: ScoredRun, shown: Collection[str], width: int) -> list[Line]:
    warnings = [text for text in scored.report.warnings if text not in shown]
    kept = warnings if len(warnings) <= _MOST_WARNINGS else warnings[: _MOST_WARNINGS - 1]
    found = [_line(_cut(f"! {plain(text, MAX_SENTENCE)}", width), "doubtful") for text in kept]
    if len(kept) < len(warnings):
        found.append(_line(f"! {counted(len(warnings) - len(kept), 'more warning')} in report.md", "doubtful"))
    return found


def _gates(scored: ScoredRun, width: int) -> list[Line]:
    """One line: how many gates had which outcome, and the first of those that failed, else were not decided."""
    gates, said = scored.report.gates, []
    if not gates:
        return []
    found = {name: [gate for gate in gates if gate.outcome == name] for name in ("failed", "not_decided", "passed")}
    worst = next(name for name, own in found.items() if own)
    for name, own in found.items():
        named = listed([f"{label(gate.vendor)} {plain(gate.text)}" for gate in own])
        words = f"{len(own)} {name.replace('_', ' ')}"
        said += [f"{words}: {named}" if name == worst != "passed" else words] if own else []
    meanings: Mapping[str, Meaning] = {"failed": "bad", "not_decided": "doubtful", "passed": "good"}
    return [_line(_cut(f"Gates: {'; '.join(said)}", width), meanings[worst])]


def _where(folder: str, vendor: str | None, width: int) -> list[Line]:
    """Where the report lies, and the command that explains the worst verdict; neither is ever cut."""
    page = plain(f"{folder}/report.html", _COMMAND_LENGTH)
    words = ["agent-vendor-verifier", "explain", folder, *(["--vendor", vendor] if vendor else [])]
    command = plain(shlex.join(words), _COMMAND_LENGTH)
    both = f"Report {page}   Why? {command}"
    said = [both] if len(both) <= width else [f"Report {page}", f"Why?   {command}"]
    return [_line(line, "hint") for line in said]


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _cut(text: str, width: int) -> str:
    """The text in one line, cut between words where it is longer than ``width``."""
    if len(_wrapped(text, width)) < 2:
        return text
    return _wrapped(text, width - 2)[0].rstrip(",;:") + " …"
