"""Write docs/coverage.md, the ledger of what the product's pages say, from the tables in docs/coverage/.

python scripts/make_coverage_page.py            write the page
python scripts/make_coverage_page.py --check    exit 1 if the page on disk is not what would be written
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
TARGET = DOCS / "coverage.md"
STATUSES = ("same", "better", "differs")
_HEAD = """\
# The pages, statement by statement

What the pages that describe this product, and the evaluations it runs, say it does, one statement a row: what we do,
whether that is the **same**, **better**, or **differs** (then with the reason), and the test that runs it. The rows
stand in `docs/coverage/*.toml`, a file a page; `scripts/make_coverage_page.py` prints them here, and
`tests/test_coverage_page.py` holds that every row has a status, a reason where it differs, and a test that exists.
"""

Row = Mapping[str, Any]


def pages() -> list[dict[str, Any]]:
    """The tables of rows in the order of their numbers: title, first, last, still_open, row."""
    read = [tomllib.loads(path.read_text(encoding="utf-8")) for path in (DOCS / "coverage").glob("*.toml")]
    return sorted(read, key=lambda page: int(page["first"]))


def text() -> str:
    """The page in Markdown."""
    return "\n".join([_HEAD, *_sections(pages())])


def _sections(found: list[dict[str, Any]]) -> Iterator[str]:
    for page in found:
        counts = Counter(row["status"] for row in page.get("row", ()))
        yield f"## {page['title']}\n"
        yield f"{', '.join(f'{counts[status]} {status}' for status in STATUSES)}.\n"
        if page.get("still_open"):
            yield f"Not yet compared: {', '.join(map(str, page['still_open']))}.\n"
        if rows := sorted(page.get("row", ()), key=lambda row: int(row["number"])):
            yield "| # | the page says | ours | | held by |\n|--:|---|---|---|---|"
            yield from map(_line, rows)
            yield ""


def _line(row: Row) -> str:
    status = f"**{row['status']}**: {row['reason']}" if row.get("reason") else row["status"]
    tests = [row["test"]] if isinstance(row["test"], str) else row["test"]
    held = "<br>".join(f"`{name.removeprefix('tests/')}`" for name in tests)
    cells = (str(row["number"]), row["statement"], row["ours"], status, held)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        current = TARGET.read_text(encoding="utf-8") == text()
        print("up to date" if current else f"{TARGET.name} is out of date: run scripts/make_coverage_page.py")
        return 0 if current else 1
    TARGET.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
