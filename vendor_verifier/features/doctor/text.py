"""Diagnoses as text: one table with a line a vendor, what stands out, and in detail a block a vendor.

Every word of a vendor is scrubbed, escaped and capped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING

import msgspec

from vendor_verifier.features.doctor.values import Diagnosis, Spending, Status, Verdict
from vendor_verifier.redaction import Scrubber
from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.theme import COLOURS
from vendor_verifier.words import Texts

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.table import Table

MAX_EVIDENCE = 300
MAX_BODY = 1000
_MAX_LABEL = 60
# Where output is no terminal nothing is folded.
_ANY_WIDTH = 10_000
_VERDICTS: tuple[Verdict, ...] = ("usable", "usable_with_reservations", "not_usable")
_COLOURS = {
    "usable": COLOURS["good"],
    "usable_with_reservations": COLOURS["doubtful"],
    "not_usable": COLOURS["unusable"],
    "ok": COLOURS["good"],
    "warning": COLOURS["doubtful"],
    "failed": COLOURS["bad"],
    "not_measurable": COLOURS["unknown"],
}
_COLUMNS = ("vendor", "verdict", "answered", "first_token", "tools", "streams", "tokens", "sdk", "address")


def as_text(diagnoses: Sequence[Diagnosis], scrubber: Scrubber, *, verbose: bool = False) -> str:
    """The same as :func:`render` without colour, a line a vendor however long it is."""
    from rich.console import Console

    console = Console(file=StringIO(), width=_ANY_WIDTH, color_system=None, force_terminal=False)
    console.print(render(diagnoses, scrubber, verbose=verbose))
    written = console.file.getvalue() if isinstance(console.file, StringIO) else ""
    return "\n".join(line.rstrip() for line in written.splitlines()) + "\n"


def render(diagnoses: Sequence[Diagnosis], scrubber: Scrubber, *, verbose: bool = False) -> RenderableType:
    """The table, a line for everything that departs, hints, and how many vendors are what.

    ``verbose``: the blocks of all checks, timelines and refusals stand below.
    """
    from rich.console import Group
    from rich.text import Text

    pages = [_Page(diagnosis, scrubber, Texts()) for diagnosis in diagnoses]
    t = Texts()
    parts: list[RenderableType] = [_Fitting(pages, t), Text()]
    departures = [(line, colour) for page in pages for line, colour in page.departures()]
    parts += [Text(line, style=colour) for line, colour in departures]
    parts += [Text()] if departures else []
    if verbose:
        parts += [Text(line) for page in pages for line in (*page.block(), "")]
    parts.append(Text(_total(diagnoses, t), style=COLOURS["title"]))
    if not verbose:
        parts.append(Text(t("doctor_see_more"), style=COLOURS["aside"]))
    return Group(*parts)


class _Fitting(msgspec.Struct, frozen=True):
    """The table; on a screen that is too narrow for it the addresses stand below, so that a vendor keeps its line."""

    pages: Sequence[_Page]
    t: Texts

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.measure import Measurement
        from rich.text import Text

        whole = self._table(_COLUMNS)
        if Measurement.get(console, options.update(max_width=_ANY_WIDTH), whole).maximum <= options.max_width:
            yield whole
            return
        yield self._table(_COLUMNS[:-1], gap=1)
        for page in self.pages:
            yield Text(page.safe(self.t("doctor_asks", label=page.diagnosis.label, address=page.diagnosis.address)))

    def _table(self, columns: Sequence[str], gap: int = 2) -> Table:
        from rich.table import Table
        from rich.text import Text

        several = len({page.diagnosis.model for page in self.pages}) > 1
        table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style=COLOURS["title"])
        for name in (("model",) if several else ()) + tuple(columns):
            table.add_column(self.t(f"doctor_col_{name}"), overflow="fold")
        for page in self.pages:
            cells = list(page.cells())[: len(columns)]
            model = [page.safe(page.diagnosis.model, _MAX_LABEL)] if several else []
            table.add_row(*map(Text, model), *(Text(text, style=_COLOURS.get(style, "")) for text, style in cells))
        return table


def _total(diagnoses: Sequence[Diagnosis], t: Texts) -> str:
    verdicts = [diagnosis.verdict for diagnosis in diagnoses]
    counts = [t("doctor_count", count=verdicts.count(each), verdict=t(f"verdict_{each}")) for each in _VERDICTS]
    return t.joined(counts, "clause")


class _Page(msgspec.Struct, frozen=True):
    """One diagnosis in words."""

    diagnosis: Diagnosis
    scrubber: Scrubber
    t: Texts

    def safe(self, text: str, limit: int = MAX_EVIDENCE) -> str:
        """A text with a stranger's words in it, harmless to a terminal."""
        return plain(self.scrubber.text(text), limit)

    def cells(self) -> Iterator[tuple[str, str]]:
        """Text and meaning of each cell, in the order of the columns."""
        t, found = self.t, self.diagnosis
        yield self.safe(found.label, _MAX_LABEL), ""
        yield t(f"doctor_cell_{found.verdict}"), found.verdict
        yield f"{found.whole}/{found.asked}", ""
        first = found.first_token_ms
        yield t("doctor_unknown") if first is None else t("doctor_ms", ms=f"{first:.0f}"), ""
        for name in ("tools accepted", "streams"):
            status = self._status(name)
            yield t(f"doctor_is_{status}"), status
        yield self._tokens(), ""
        yield self._sdk()
        yield self.safe(found.address), ""

    def departures(self) -> Iterator[tuple[str, str]]:
        """A line and its colour for each check and SDK that departs, and for each hint."""
        t, label = self.t, self.safe(self.diagnosis.label, _MAX_LABEL)
        for check in self.diagnosis.checks:
            if check.status in ("failed", "warning"):
                name, words = t(f"check_{check.name.replace(' ', '_')}"), check.evidence
                line = t("doctor_departs", label=label, status=t(f"doctor_is_{check.status}"), name=name, words=words)
                yield self.safe(line), _COLOURS[check.status]
        for line in dict.fromkeys(self._sdk_departures()):
            words = t("doctor_departs", label=label, status=t("doctor_is_failed"), name="sdk", words=line)
            yield self.safe(words), _COLOURS["failed"]
        for hint in self.diagnosis.hints:
            yield self.safe(t("doctor_hint", label=label, words=hint), 2 * MAX_EVIDENCE), COLOURS["hint"]

    def block(self) -> Iterator[str]:
        """Everything that is known of the vendor, line by line."""
        t, found, safe = self.t, self.diagnosis, self.safe
        yield safe(f"{found.model} / {found.label}: {t(f'verdict_{found.verdict}')}")
        key = t("doctor_key", name=found.key_name) if found.key_name else t("doctor_no_key")
        origin = found.reach.origin
        yield "  " + safe(t("doctor_sends", wire=found.wire, model=found.model_id, key=key, origin=origin))
        yield "  " + safe(t("doctor_proxy", proxy=found.reach.proxy or t("explain_none")))
        for check in found.checks:
            name = t(f"check_{check.name.replace(' ', '_')}")
            yield f"  {t(f'doctor_is_{check.status}'):8} {name:16} {safe(check.evidence)}"
        for finding in found.sdk:
            status = t("doctor_is_ok" if finding.status == "consistent" else "doctor_is_failed")
            evidence = finding.evidence or t(f"sdk_{finding.status}")
            words = t("sdk_line", sdk=finding.sdk, route=finding.route, question=finding.question, evidence=evidence)
            yield f"  {status:8} {'sdk':16} {safe(words)}"
        if found.timeline_of is not None:
            yield "  " + safe(t("timeline_of", question=found.timeline_of))
        for moment in found.timeline:
            words = t("timeline_text", what=moment.what, text=moment.text) if moment.text else moment.what
            yield f"  {moment.at_ms:10.1f} ms  {safe(words)}"
        if found.error_body is not None:
            yield "  " + safe(t("doctor_body", body=found.error_body), MAX_BODY)
        yield "  " + spent(found.spending, t)

    def _status(self, name: str) -> Status:
        return next(check.status for check in self.diagnosis.checks if check.name == name)

    def _tokens(self) -> str:
        """Prompt tokens of the two questions, as the vendor counts them."""
        counts = (self.diagnosis.prompt_tokens.get(topic) for topic in ("tools", "text"))
        return " / ".join(self.t("doctor_unknown") if count is None else str(count) for count in counts)

    def _sdk(self) -> tuple[str, str]:
        """Whether the SDK reads of all answers what we read of them, and the meaning of that."""
        t, findings = self.t, [finding for finding in self.diagnosis.sdk if finding.status != "too_long"]
        if not findings:
            return t("doctor_unknown"), "not_measurable"
        if any(finding.status == "crashes" for finding in findings):
            return t("sdk_cell_crashes"), "failed"
        lost = dict.fromkeys(part for finding in findings for part in finding.lost)
        if not lost:
            return t("sdk_cell_same"), "ok"
        return t("sdk_cell_differs", parts=t.joined([t(f"sdk_part_{part}") for part in lost])), "failed"

    def _sdk_departures(self) -> Iterator[str]:
        for finding in self.diagnosis.sdk:
            if finding.status in ("crashes", "loses"):
                values = {"sdk": finding.sdk, "route": finding.route, "question": finding.question}
                yield self.t("sdk_line", **values, evidence=finding.evidence)


def spent(spending: Spending, t: Texts) -> str:
    """Requests, tokens and cost in one line."""
    return t.joined(
        [
            t("doctor_requests", n=spending.requests),
            t("doctor_tokens_about" if spending.estimated else "doctor_tokens", count=spending.input_tokens),
            t("doctor_tokens_out", count=spending.output_tokens),
            t("doctor_no_cost") if spending.cost_usd is None else f"${spending.cost_usd:.6f}",
        ],
        "clause",
    )
