"""Write the table of metrics in docs/metrics.md from their definitions.

python scripts/make_metrics_tables.py            write the page
python scripts/make_metrics_tables.py --check    exit 1 if the page on disk is not what would be written
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from vendor_verifier.scoring.metrics import METRICS

TARGET = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"
HEAD = "| name | unit | better | meaning |"


def page(text: str) -> str:
    """``text`` with the rows of its table as they should be."""
    lines = text.split("\n")
    begin = lines.index(HEAD) + 2
    end = next(place for place in range(begin, len(lines)) if not lines[place].startswith("|"))
    lines[begin:end] = [
        f"| `{metric.name}` | {metric.unit} | {metric.direction} | {metric.meaning} |" for metric in METRICS.values()
    ]
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
