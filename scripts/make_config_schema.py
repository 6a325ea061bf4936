"""Write config.schema.json, the JSON Schema of config.yaml for editors, from the shapes the program checks with.

python scripts/make_config_schema.py            write the file
python scripts/make_config_schema.py --check    exit 1 if the file on disk is not what would be written
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vendor_verifier.config.fields import Kind, Rule, rules_of
from vendor_verifier.config.shape import RESERVED, ModelSection, Price, Settings, VendorEntry

TARGET = Path(__file__).resolve().parent.parent / "config.schema.json"


_TYPES: Mapping[Kind, dict[str, Any]] = {
    "text": {"type": "string"},
    "whole number": {"type": "integer"},
    "number": {"type": "number"},
    "switch": {"type": "boolean"},
    "mapping": {"additionalProperties": True, "type": "object"},
    "texts": {"additionalProperties": {"type": "string"}, "type": "object"},
    "list": {"items": {}, "type": "array"},
    "anything": {},
}
_SIZES: Mapping[Kind, tuple[str, str]] = {"text": ("minLength", "maxLength"), "list": ("minItems", "maxItems")}


def schema() -> dict[str, Any]:
    """The whole document: reserved keys by name, every other key a model."""
    definitions = {part.__name__: _part(part) for part in (ModelSection, Price, Settings, VendorEntry)}
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


def _part(part: type) -> dict[str, Any]:
    rules = rules_of(part)
    required = [name for name, rule in rules.items() if rule.required]
    return {
        "additionalProperties": False,
        "description": inspect.getdoc(part),
        "properties": {name: _key(rule) for name, rule in rules.items()},
        **({"required": required} if required else {}),
        "type": "object",
    }


def _key(rule: Rule) -> dict[str, Any]:
    if rule.keys is not None:
        value = {"$ref": f"#/$defs/{rule.keys.__name__}"}
    else:
        least, most = _SIZES.get(rule.kind, ("minimum", "maximum"))
        bounds = {most: rule.at_most, least: rule.at_least, "exclusiveMinimum": rule.above}
        pattern = None if rule.form is None else f"^{rule.form}$"
        known = {name: bound for name, bound in {**bounds, "pattern": pattern}.items() if bound is not None}
        value = dict(sorted({**known, **_TYPES[rule.kind]}.items()))
    return value if rule.required else {"anyOf": [value, {"type": "null"}], "default": None}


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
