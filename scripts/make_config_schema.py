"""Write config.schema.json, the JSON Schema of config.yaml for editors, from the shapes the program checks with.

python scripts/make_config_schema.py            write the file
python scripts/make_config_schema.py --check    exit 1 if the file on disk is not what would be written
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from vendor_verifier.config.schema import json_schema

TARGET = Path(__file__).resolve().parent.parent / "config.schema.json"


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    wanted = json.dumps(json_schema(), indent=2) + "\n"
    if parser.parse_args().check:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == wanted
        print("up to date" if same else f"{TARGET.name} is out of date: run scripts/make_config_schema.py")
        return 0 if same else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
