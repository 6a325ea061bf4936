"""Write the table of docs/reliability.md that explains every kind of failure, from ``records/failures.py``.

python scripts/make_failure_kinds.py            write the table
python scripts/make_failure_kinds.py --check    exit 1 if the table on disk is not what would be written
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from vendor_verifier.records.failures import CHARGES, KINDS, Kind

TARGET = Path(__file__).resolve().parent.parent / "docs" / "reliability.md"
_BEGIN, _END = "<!-- kinds of failure: begin -->\n", "<!-- kinds of failure: end -->\n"
_RETRIED = {"never": "no", "once": "once", "always": "yes"}


def table() -> str:
    """The table in Markdown, a line a kind."""
    head = "| kind | cause | remedy | phase | retried | charged to |\n|---|---|---|---|---|---|\n"
    return head + "".join(f"| {' | '.join(_cells(kind))} |\n" for kind in KINDS.values())


def _cells(kind: Kind) -> Iterator[str]:
    effects = ["the account pauses"] * kind.pauses + ["the vendor stops"] * kind.stops
    yield f"`{kind.name}`"
    yield kind.cause
    yield kind.remedy
    yield kind.phase.replace("_", " ")
    yield "; ".join([_RETRIED[kind.retried], *effects])
    yield CHARGES[kind.charge]


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    page = TARGET.read_text(encoding="utf-8")
    before, _, rest = page.partition(_BEGIN)
    wanted = f"{before}{_BEGIN}{table()}{_END}{rest.partition(_END)[2]}"
    if parser.parse_args().check:
        print("up to date" if page == wanted else f"{TARGET.name} is out of date: run scripts/make_failure_kinds.py")
        return 0 if page == wanted else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
