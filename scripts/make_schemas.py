"""Write the two JSON Schemas from the code: config.schema.json for editors, record.schema.json for readers of records.

python scripts/make_schemas.py            write both
python scripts/make_schemas.py --check    exit 1 if a file on disk is not what would be written
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from vendor_verifier.config.schema import json_schema
from vendor_verifier.record_schema import FILE_NAME, schema_text

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    wanted = {
        ROOT / "config.schema.json": json.dumps(json_schema(), indent=2) + "\n",
        ROOT / "vendor_verifier" / FILE_NAME: schema_text(),
    }
    if parser.parse_args().check:
        old = [path.name for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text]
        print(f"out of date: {', '.join(old)}; run scripts/make_schemas.py" if old else "up to date")
        return 1 if old else 0
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
