"""The schema that editors check config.yaml with never contradicts the loader: no red line under what runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from vendor_verifier.config.load import load_config
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.schema import RESERVED, ModelSection, Settings, VendorEntry, json_schema
from vendor_verifier.errors import ConfigError
from vendor_verifier.registry import Registry

SCHEMA = jsonschema_rs.validator_for(json_schema())
VALUES = (None, True, 1, -1, 1.5, 10**7, "x", "", [], {"a": "b"}, {"input": 1}, {"currency": "usd"}, ["f1 >= 0.5"])
# Whole floats are whole numbers to JSON Schema; names, addresses and keys it can only know to be text.
BEYOND_A_SCHEMA = ("unknown validator", "no url for", "expected a url", "would be sent", "must not be in this file",
                   "is known: ask", "needs both `input`", "an SLO is about")  # fmt: skip


def documents() -> Iterator[tuple[str, Any]]:
    """A right configuration with every key, at each place where a key may stand, set to every value."""
    for value in VALUES:
        entry = {"name": "novita", "model_id": "x"}
        for key in (*VendorEntry.model_fields, "unknown"):
            yield f"entry {key}", {"m": {"vendors": [entry | {key: value}]}}
        for key in (*Settings.model_fields, "name"):
            yield f"defaults {key}", {"defaults": {key: value}, "m": {"vendors": [entry]}}
        for key in (*ModelSection.model_fields, "unknown"):
            yield f"model {key}", {"m": {"vendors": [entry]} | {key: value}}
        for key in (*RESERVED, "another model"):
            yield f"top {key}", {"m": {"vendors": [entry]}, key: value}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory, registry: Registry) -> list[tuple[str, Any, str | None, bool]]:
    """Where, document, why the loader refused it, whether the schema takes it."""
    path: Path = tmp_path_factory.mktemp("schema") / "config.yaml"
    found = []
    for where, document in documents():
        path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
        try:
            load_config(RunOptions(config_file_path=path), {}, registry=registry, require_keys=False)
            refused = None
        except ConfigError as error:
            refused = str(error)
        found.append((where, document, refused, SCHEMA.is_valid(document)))
    return found


def test_what_the_loader_takes_the_schema_takes(verdicts: list[tuple[str, Any, str | None, bool]]) -> None:
    taken = [(where, document, valid) for where, document, refused, valid in verdicts if refused is None]
    assert len(taken) > 70
    assert [each for each in taken if not each[2]] == []


def test_the_schema_refuses_what_the_loader_refuses(verdicts: list[tuple[str, Any, str | None, bool]]) -> None:
    refused = [(where, document, why, valid) for where, document, why, valid in verdicts if why is not None]
    assert len(refused) > 200
    assert [each for each in refused if each[3] and not any(words in each[2] for words in BEYOND_A_SCHEMA)] == []
