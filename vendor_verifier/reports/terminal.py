"""The ranking on a screen: a rich table per model, or plain lines where output is no terminal. It never prints.

Colour, width and terminal detection are left to the caller's console (``NO_COLOR`` included).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import starmap
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.records.judgement import ModelVerdict, RankingJudgement
from vendor_verifier.records.score import ModelScore, Report
from vendor_verifier.records.verdict import Advice
from vendor_verifier.reports import number_format, sentences
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.reports.judged import overlap_line
from vendor_verifier.reports.ranking import ranking
from vendor_verifier.reports.run_conditions import clock_lines
from vendor_verifier.reports.tables import Row, Table
from vendor_verifier.reports.theme import COLOURS
from vendor_verifier.reports.verdicts import advised, first_line, matrix, reason_line, reasons, usual_folder
from vendor_verifier.words import Texts

if TYPE_CHECKING:
    import rich.table
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

_MAX_LABEL = 60
_LEAST_LABEL_WIDTH, _LABEL_WIDTH = 12, 28
_ANY_WIDTH = 10_000
_MAX_LISTED = 12
_MAX_COMMAND = 1_000
_COLOURS = {
    "status-as-sold": COLOURS["good"],
    "status-doubtful": COLOURS["doubtful"],
    "status-not-as-sold": COLOURS["bad"],
    "status-unusable": COLOURS["unusable"],
    "status-too-little-evidence": COLOURS["unknown"],
}
# Vendors never begin and end at quite the same moment, so this share of common rows counts as all.
_WORTH_A_LINE = 0.9


def render(report: Report, folder: str | None = None) -> RenderableType:
    """The report as one renderable: what to do, the verdicts, warnings, then per model a table and its notes.

    It is to be printed without cropping, so that the terminal itself breaks a command that is longer than a line.
    ``folder`` is where the run lies, if it is not the usual one.
    """
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    t = Texts("narrow")
    parts: list[RenderableType] = [_Prose(first_line(report, t, label), COLOURS["title"])]
    for model, advice in advised(report):
        shown = matrix(model, advice, t)
        parts += [
            Text(),
            Text(_title(model, t), style=COLOURS["title"]),
            _Fitting(_coloured(shown), _matrix_lines(shown)),
        ]
        for line, command in _reasons(advice, report, t, folder):
            parts += [_Prose(line), Text(command, style=COLOURS["aside"], no_wrap=True, overflow="ignore")]
    parts += [_Prose(line, COLOURS["doubtful"]) for line in _warnings(report, t)]
    for model in report.models:
        parts += [Text(), Text(_title(model, t), style=COLOURS["title"])]
        if model.vendors:
            shown = ranking(report, [model], t).of("terminal")
            parts.append(_Fitting(_drawn(shown), _lines(shown)))
        parts += [Padding(Text(note, style=COLOURS["aside"]), (0, 0, 0, 2)) for note in _notes(model, report, t)]
    parts += [Text(_sentence(line), style=COLOURS["aside"]) for line in clock_lines(report, t)]
    return Group(*parts)


def plain_lines(report: Report, folder: str | None = None) -> list[str]:
    """The same as text without colour or box, one line per vendor with named figures; no line ends inside."""
    t = Texts("narrow")
    lines = [first_line(report, t, label)]
    for model, advice in advised(report):
        lines += [_title(model, t), *_matrix_lines(matrix(model, advice, t))]
        lines += [line for pair in _reasons(advice, report, t, folder) for line in pair]
    lines += _warnings(report, t)
    for model in report.models:
        lines += [_title(model, t), *_lines(ranking(report, [model], t).of("terminal"))]
        lines += [f"  {note}" for note in _notes(model, report, t)]
    return [*lines, *(_sentence(line) for line in clock_lines(report, t))]


def _coloured(shown: Table) -> rich.table.Table:
    """The matrix of verdicts with a colour for each word; the words of a cell may stand below each other."""
    import rich.table
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.text import Text

    drawn = rich.table.Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
    drawn.add_column(shown.head, min_width=_LEAST_LABEL_WIDTH, max_width=_LABEL_WIDTH, overflow="fold")
    rows = shown.rows
    for place, title in enumerate(shown.titles):
        texts = (title, *(row.cells[place].text for row in rows))
        drawn.add_column(title, min_width=max(cell_len(word) for text in texts for word in text.split()))
    for row in rows:
        words = (Text(cell.text, style=_COLOURS.get(cell.css or "", "")) for cell in row.cells)
        drawn.add_row(Text(label(row.head)), *words)
    return drawn


def _matrix_lines(shown: Table) -> list[str]:
    """``label: ✘ not as sold; Model ✘ not as sold; …``, a line a vendor."""
    lines = []
    for row in shown.rows:
        facets = (f"{title} {cell.text}" for title, cell in zip(shown.titles[1:], row.cells[1:], strict=True))
        lines.append(f"  {label(row.head)}: " + "; ".join((row.cells[0].text, *facets)))
    return lines


def _reasons(advice: Advice, report: Report, t: Texts, folder: str | None) -> Iterator[tuple[str, str]]:
    """The lines of reasons against vendors, each with the command that shows it."""
    for verdict, facet, command in reasons(advice, usual_folder(report) if folder is None else folder):
        yield f"  {reason_line(verdict, facet, t, label, _sentence)}", f"    {plain(command, _MAX_COMMAND)}"


class _Prose(msgspec.Struct, frozen=True):
    """A sentence that is wrapped between words; where a path is longer than a line, the terminal alone breaks it."""

    text: str
    style: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text

        whole = any(word.isascii() and len(word) > options.max_width for word in self.text.split())
        yield Text(self.text, self.style, no_wrap=whole, overflow="ignore" if whole else None)


class _Fitting(msgspec.Struct, frozen=True):
    """A table, or lines with the same content where its figures would have to be cut."""

    table: rich.table.Table
    lines: Sequence[str]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment
        from rich.text import Text

        least = console.measure(self.table, options=options.update(max_width=_ANY_WIDTH)).minimum
        # What rich shrinks by shares may come out some columns wider than it was told.
        for width in range(options.max_width, max(least, options.max_width - _LEAST_LABEL_WIDTH) - 1, -1):
            drawn = list(console.render(self.table, options.update(max_width=width)))
            if max(map(Segment.get_line_length, Segment.split_lines(drawn)), default=0) <= options.max_width:
                yield from drawn
                return
        yield Text("\n".join(self.lines))


def label(text: str) -> str:
    """A name written by a stranger, in one line without anything a terminal obeys."""
    return plain(text, _MAX_LABEL)


def _sentence(text: str) -> str:
    """A sentence of ours, whole."""
    return plain(text, MAX_SENTENCE)


def _warnings(report: Report, t: Texts) -> list[str]:
    return [t("warning_line", text=_sentence(text)) for text in sentences.cautions(report, t)]


def _title(model: ModelScore, t: Texts) -> str:
    baseline = (
        t("title_baseline", label=label(model.baseline)) if model.baseline is not None else t("title_no_baseline")
    )
    return t("title_model", model=label(model.model), baseline=baseline)


def _drawn(shown: Table) -> rich.table.Table:
    """The rich form of a table; its first column, the places, comes before the names."""
    import rich.table
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.text import Text

    drawn = rich.table.Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
    drawn.add_column("#", justify="right", no_wrap=True)
    drawn.add_column(shown.head, min_width=_LEAST_LABEL_WIDTH, max_width=_LABEL_WIDTH, overflow="fold")
    rows = shown.rows
    for title, column in zip(_titles(shown), zip(*map(_figures, rows), strict=True), strict=True):
        # Without a least width rich would count the longest word only, and cut a title of two.
        drawn.add_column(title, justify="right", no_wrap=True, min_width=max(map(cell_len, (title, *column))))
    for row in rows:
        # Text, not str: brackets in a label are not rich markup.
        words = map(Text, (row.cells[0].text, label(row.head), *_figures(row)))
        drawn.add_row(*words, style=COLOURS["title"] if row.cells[0].value == 1 else None)
    return drawn


def _titles(shown: Table) -> list[str]:
    return [label(title) for title in shown.titles[1:]]


def _figures(row: Row) -> list[str]:
    return [label(cell.text) for cell in row.cells[1:]]


def _lines(shown: Table) -> list[str]:
    """``1. label: IRF 0.9; succeeded 3/3; …``, a line a vendor."""
    titles = [shown.t("done_of") if column.key == "done" else label(column.headed(shown.t)) for column in shown.columns]
    return [
        f"  {row.cells[0].text}. {label(row.head)}: "
        + "; ".join(f"{title} {figure}" for title, figure in zip(titles[1:], _figures(row), strict=True))
        for row in shown.rows
    ]


def _notes(model: ModelScore, report: Report, t: Texts) -> list[str]:
    verdict = report.verdicts.get(model.model)
    judged = [] if verdict is None else _judged_lines(verdict, report.advice.get(model.model), t)
    return [*judged, *sentences.model_notes(model, report, t, label)]


def _judged_lines(verdict: ModelVerdict, advice: Advice | None, t: Texts) -> Iterator[str]:
    """At most six lines: order, overlap of times, ceiling, gates, money, findings."""
    if verdict.ranking is not None:
        yield _order(verdict.ranking, t)
        if (cut := overlap_line(verdict.ranking, t, label, _WORTH_A_LINE)) is not None:
            yield cut
    floor = verdict.noise_floor
    if floor is not None and floor.ceiling.value is not None:
        yield t("ceiling_line", interval=number_format.spread(floor.ceiling), runs=floor.runs)
    if verdict.gates:
        yield _gates(verdict, t)
    costs = {name: cost for name, spent in verdict.money.items() if (cost := spent.per_valid_call_usd) is not None}
    if len(costs) > 1:
        cheapest = min(costs, key=lambda name: costs[name])
        yield t("money_line", label=label(cheapest), usd=number_format.money(1000 * costs[cheapest]))
    noted = _noted(verdict, advice)
    if noted:
        named = (f"{label(vendor)} {t.joined(starmap(_times, names.items()))}" for vendor, names in noted.items())
        yield t("other_findings_line", findings=t.joined(named, "semicolon"))


def _times(name: str, count: int) -> str:
    return f"{label(name)} ×{count}" if count > 1 else label(name)


def _noted(verdict: ModelVerdict, advice: Advice | None) -> dict[str, Counter[str]]:
    """Vendor → the names of findings that are no reason of its verdict, and how many there are of each."""
    vendors = () if advice is None else advice.vendors.values()
    told = {(each.label, facet.finding) for each in vendors for facet in each.facets}
    noted: dict[str, Counter[str]] = {}
    for found in verdict.findings:
        if (found.label, found.name) not in told:
            noted.setdefault(found.label, Counter())[found.name] += 1
    return noted


def _order(ranking: RankingJudgement, t: Texts) -> str:
    """A line with the pairs that are not distinguishable, or stating that there are none."""
    pairs = sorted(ranking.not_distinguishable)
    if not pairs:
        return t("order_firm")
    named = [f"{label(one)} ≈ {label(other)}" for one, other in pairs[:_MAX_LISTED]]
    return t("order_line", pairs=t.joined(named)) + _more("more_pairs", pairs, t)


def _more(name: str, found: Sequence[object], t: Texts) -> str:
    return t(name, count=len(found) - _MAX_LISTED) if len(found) > _MAX_LISTED else ""


def _gates(verdict: ModelVerdict, t: Texts) -> str:
    """A line with the number of gates of each outcome, and those not passed."""
    tally = Counter(gate.outcome for gate in verdict.gates)
    outcomes = ", ".join(f"{tally[outcome]} {outcome}" for outcome in ("PASS", "FAIL", "UNDECIDED") if tally[outcome])
    worst_first = sorted(verdict.gates, key=lambda gate: gate.outcome != "FAIL")
    bad = [f"{label(gate.label)}: {gate.threshold} {gate.outcome}" for gate in worst_first if gate.outcome != "PASS"]
    if not bad:
        return t("gates_line", outcomes=outcomes)
    named = t.joined(bad[:_MAX_LISTED], "semicolon") + _more("more", bad, t)
    return t("gates_line", outcomes=outcomes + t("in_brackets", text=named))
