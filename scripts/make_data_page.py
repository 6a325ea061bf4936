"""Write the tables of columns in docs/data.md from their definitions.

python scripts/make_data_page.py            write the tables
python scripts/make_data_page.py --check    exit 1 if the page on disk is not what would be written
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from vendor_verifier.features.data.columns import FRAMES
from vendor_verifier.features.data.history_columns import history_kind
from vendor_verifier.features.history.figures import known_figures

TARGET = Path(__file__).resolve().parent.parent / "docs" / "data.md"
_BEGIN = "<!-- frames: begin -->\n"


def tables() -> Iterator[str]:
    """A section a frame, a line a column."""
    for kind in (*FRAMES.values(), history_kind(known_figures())):
        heading = f".{kind.name}" if kind.name in FRAMES else kind.name
        yield f"## `{heading}`\n\nA row: {kind.words}.\n\n| column | dtype | unit | meaning |\n|---|---|---|---|\n"
        for column in kind.columns:
            yield f"| `{column.name}` | {column.dtype} | {column.unit} | {column.words} |\n"
        if kind.short:
            yield f"\nShort: {', '.join(f'`{name}`' for name in kind.short)}.\n"
        yield "\n"


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    page = TARGET.read_text(encoding="utf-8")
    wanted = page.partition(_BEGIN)[0] + _BEGIN + "".join(tables()).rstrip("\n") + "\n"
    if parser.parse_args().check:
        print("up to date" if page == wanted else f"{TARGET.name} is out of date: run scripts/make_data_page.py")
        return 0 if page == wanted else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
