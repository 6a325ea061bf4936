"""Write the tables of metrics in docs/metrics.md from the metrics' own definitions.

python scripts/make_metrics_tables.py            write the page
python scripts/make_metrics_tables.py --check    exit 1 if the page on disk is not what would be written
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from vendor_verifier.metrics import METRICS, RANKED, is_higher_better
from vendor_verifier.metrics.bands import BANDS

TARGET = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"


def tables() -> dict[str, list[str]]:
    """The rows by the line that heads them."""
    ranked = [
        f"| `{name}` | {metric.direction} | {metric.figure.words} | {metric.figure.over} |"
        for name, metric in RANKED.items()
        if metric.figure is not None
    ]
    measured = [f"| `{metric.name}` | {metric.unit} | {metric.words} |" for metric in METRICS if metric.words]
    return {
        "| Name | Better | Formula | Taken over |": ranked,
        "| Figure | best quarter | middle half | worst quarter |": list(_usual()),
        "| Name | Unit | Meaning |": measured,
    }


def _usual() -> Iterator[str]:
    for name, band in BANDS.items():
        unit = " × the baseline's" if band.is_ratio else ""
        good, bad = ("≥", "<") if is_higher_better(name) else ("≤", ">")
        best, worst = (band.high, band.low) if is_higher_better(name) else (band.low, band.high)
        yield f"| `{name}` | {good} {best:g}{unit} | {band.low:g} to {band.high:g}{unit} | {bad} {worst:g}{unit} |"


def page(text: str) -> str:
    """``text`` with the rows of its tables as they should be."""
    lines = text.split("\n")
    for head, rows in tables().items():
        begin = lines.index(head) + 2
        end = next(place for place in range(begin, len(lines)) if not lines[place].startswith("|"))
        lines[begin:end] = rows
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="Write nothing; say whether the page is up to date.")
    known = TARGET.read_text(encoding="utf-8")
    made = page(known)
    if not parser.parse_args().check:
        TARGET.write_text(made, encoding="utf-8")
    elif made != known:
        print(f"{TARGET} is out of date; run python scripts/make_metrics_tables.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
