"""Write config.schema.json, the JSON Schema of config.yaml for editors, from the shapes the program checks with.

python scripts/make_config_schema.py            write the file
python scripts/make_config_schema.py --check    exit 1 if the file on disk is not what would be written
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from msgspec.json import schema_components

from vendor_verifier.config.schema import RESERVED, ModelSection, Settings, VendorEntry

TARGET = Path(__file__).resolve().parent.parent / "config.schema.json"


def schema() -> dict[str, Any]:
    """The whole document: reserved keys by name, every other key a model."""
    _, definitions = schema_components((Settings, VendorEntry, ModelSection), ref_template="#/$defs/{name}")
    for shape in definitions.values():
        del shape["title"]  # its name again, which tells an editor nothing
    definitions["ModelSection"]["properties"]["vendors"]["items"] = {"$ref": "#/$defs/VendorEntry"}
    gates: dict[str, Any] = {"type": ["array", "null"], "items": {"type": "string"}}
    definitions["ModelSection"]["properties"]["gates"] = gates
    reserved = {
        "defaults": {"anyOf": [{"$ref": "#/$defs/Settings"}, {"type": "null"}]},
        "suites": {"type": ["object", "null"], "additionalProperties": {"type": ["object", "null"]}},
        "gates": gates,
        "slos": gates,
    }
    assert set(reserved) == set(RESERVED), "a reserved key has no schema"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "config.yaml of agent-vendor-verifier",
        "description": "Unified model names, each with the vendors that serve it.",
        "type": "object",
        "properties": reserved,
        "additionalProperties": {"$ref": "#/$defs/ModelSection"},
        "$defs": definitions,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    wanted = json.dumps(schema(), indent=2) + "\n"
    if parser.parse_args().check:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == wanted
        print("up to date" if same else f"{TARGET.name} is out of date: run scripts/make_config_schema.py")
        return 0 if same else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
