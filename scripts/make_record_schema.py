"""Write record.schema.json in the package, and the tables of docs/records.md, from the definitions of a record.

python scripts/make_record_schema.py            write both
python scripts/make_record_schema.py --check    exit 1 if a file on disk is not what would be written
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from vendor_verifier.record_schema import FILE_NAME, record_schema, schema_tables, schema_text

ROOT = Path(__file__).resolve().parent.parent
SCHEMA, PAGE = ROOT / "vendor_verifier" / FILE_NAME, ROOT / "docs" / "records.md"
_BEGIN = "<!-- schema: begin -->\n"


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    head = PAGE.read_text(encoding="utf-8").partition(_BEGIN)[0]
    wanted = {SCHEMA: schema_text(), PAGE: head + _BEGIN + "".join(schema_tables(record_schema())).rstrip("\n") + "\n"}
    if parser.parse_args().check:
        old = [path.name for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
        print(f"{', '.join(old)} out of date: run scripts/make_record_schema.py" if old else "up to date")
        return 1 if old else 0
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
