"""Write the lists of columns in docs/data.md from their definitions.

python scripts/make_data_page.py            write the lists
python scripts/make_data_page.py --check    exit 1 if the page on disk is not what would be written
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from vendor_verifier.features.data.columns import TABLES
from vendor_verifier.scoring.table import Column

TARGET = Path(__file__).resolve().parent.parent / "docs" / "data.md"
_BEGIN = "<!-- tables: begin -->\n"


def sections() -> Iterator[str]:
    """A section a table, a line a column; columns that an earlier table has are named only."""
    known: set[Column] = set()
    for name, kind in TABLES.items():
        yield f"## `.{name}`\n\nA row is {kind.row}.\n\n"
        again = [f"`{column.name}`" for column in kind.columns if column in known]
        if again:
            yield f"As above: {', '.join(again)}.\n\n"
        for column in kind.columns:
            if column not in known:
                words = {*column.name.split("_"), *column.meaning.split(), "share"}
                unit = f" ({column.unit})" if column.unit and column.unit.lower() not in words else ""
                yield f"- `{column.name}`: {column.meaning}{unit}\n"
        known |= set(kind.columns)
        yield "\n"


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    page = TARGET.read_text(encoding="utf-8")
    wanted = page.partition(_BEGIN)[0] + _BEGIN + "".join(sections()).rstrip("\n") + "\n"
    if parser.parse_args().check:
        print("up to date" if page == wanted else f"{TARGET.name} is out of date: run scripts/make_data_page.py")
        return 0 if page == wanted else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
