"""The picture of samples × vendors: how each answer stands beside the baseline's, a point each in a small PNG."""

from __future__ import annotations

import base64
import struct
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

import msgspec
from markupsafe import Markup

from vendor_verifier.records.details import Agreement, ComparedAnswer
from vendor_verifier.reports.html import charts
from vendor_verifier.reports.html.charts import LABEL_WIDTH, WIDTH, Seen

AGREEMENTS: tuple[Agreement, ...] = get_args(Agreement)
# In the order of AGREEMENTS; what agrees is transparent, so that it takes the page's colour. Each stands out from the
# others by its lightness too, in light and in dark.
_COLOURS = ((0, 0, 0), (240, 150, 20), (200, 40, 45), (125, 80, 200), (140, 150, 162))
_ROW = 32.0
_TOP = 34.0
_Question = tuple[str, str]


class HeatRow(msgspec.Struct, frozen=True):
    """One vendor's answers; ``told`` says in words how many stand how."""

    vendor: Seen
    answers: tuple[ComparedAnswer, ...]
    told: str


def tally(answers: Sequence[ComparedAnswer]) -> Counter[Agreement]:
    """The number of answers of each agreement with the baseline's."""
    return Counter(answer.agreement for answer in answers)


def heat_map(rows: Sequence[HeatRow], names: Mapping[Agreement, str], *, label: str) -> Markup:
    """A row a vendor and a column a sample; those that fewest vendors answer as the baseline does stand first."""
    columns = _columns(rows)
    bottom = _TOP + _ROW * len(rows)
    left, width = LABEL_WIDTH, WIDTH - LABEL_WIDTH - 2
    picture = _png([_codes(row, columns) for row in rows])
    parts = _key(names)
    parts.append(charts.tag("rect", x=left, y=_TOP, width=width, height=bottom - _TOP, class_="heat-agrees"))
    parts.append(
        charts.tag(
            "image",
            href="data:image/png;base64," + base64.b64encode(picture).decode(),
            x=left,
            y=_TOP,
            width=width,
            height=bottom - _TOP,
            preserveAspectRatio="none",
            class_="heat",
        )
    )
    for place, row in enumerate(rows):
        y = _TOP + _ROW * place
        parts.append(
            charts.group(
                charts.line(0, y, WIDTH, y, "between"),
                charts.mark(row.vendor.index, 8.0, y + 12, scale=0.9),
                charts.text(20.0, y + 15, row.vendor.short, "name"),
                charts.text(20.0, y + 27, row.told, "small"),
                vendor=row.vendor.index,
                title=f"{row.vendor.label}: {row.told}",
            )
        )
    return charts.picture(WIDTH, bottom + 4, *parts, label=label)


def _key(names: Mapping[Agreement, str]) -> list[Markup]:
    parts, x = [], LABEL_WIDTH
    for agreement, name in names.items():
        parts.append(charts.tag("rect", x=x, y=8, width=13, height=13, class_=f"heat-{agreement}"))
        parts.append(charts.text(x + 18, 19, name))
        x += 40 + charts.text_width(name)
    return parts


def _columns(rows: Sequence[HeatRow]) -> list[_Question]:
    unlike: Counter[_Question] = Counter()
    for row in rows:
        for answer in row.answers:
            unlike[answer.suite, answer.sample] += answer.agreement not in ("agrees", "unknown")
    return sorted(unlike, key=lambda question: (-unlike[question], question))


def _codes(row: HeatRow, columns: Sequence[_Question]) -> bytes:
    found = {(answer.suite, answer.sample): AGREEMENTS.index(answer.agreement) for answer in row.answers}
    return bytes(found.get(question, AGREEMENTS.index("unknown")) for question in columns)


def _png(rows: Sequence[bytes]) -> bytes:
    """An indexed PNG (RFC 2083) of one byte a point, its first colour transparent."""
    lines = b"".join(b"\x00" + row for row in rows)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)),
        (b"PLTE", bytes(part for colour in _COLOURS for part in colour)),
        (b"tRNS", b"\x00"),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    framed = (
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body)) for name, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)
