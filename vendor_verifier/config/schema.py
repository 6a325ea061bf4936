"""The shape of config.yaml as pydantic models, which also give the schema that editors check with."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from vendor_verifier.config.run_config import RunConfig

_Text = Annotated[str, Field(min_length=1)]
_Amount = Annotated[float, Field(ge=0)]
_Count = Annotated[int, Field(ge=1)]


class Part(BaseModel):
    """A part of the file: unknown keys are refused, and nothing is converted."""

    # Inputs may be keys, which no message may show.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, hide_input_in_errors=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


class Price(Part):
    """A vendor's prices per million tokens and per request; ``rate`` is US dollars for one ``currency``."""

    input: _Amount | None = None
    output: _Amount | None = None
    cached: _Amount | None = None
    reasoning: _Amount | None = None
    request: _Amount | None = None
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] | None = None
    rate: Annotated[float, Field(gt=0)] | None = None


class Settings(Part):
    """The settings of an entry, which ``defaults:`` may set for all entries."""

    validator: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: _Count | None = None
    extra_body: dict[str, Any] | None = None
    extra_headers: dict[str, str] | None = None
    concurrency: _Count | None = None
    rpm: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    tpm: Annotated[float, Field(gt=0, le=1_000_000_000)] | None = None
    requests_per_minute: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    price: Price | None = None
    allow_http: bool | None = None


class VendorEntry(Settings):
    """One line under ``vendors:``, as written."""

    name: Annotated[_Text, Field(max_length=80)]
    model_id: Annotated[_Text, Field(max_length=300)] | None = None
    url: Annotated[_Text, Field(max_length=2000)] | None = None
    api_key: str | None = None
    api_key_env: _Text | None = None
    api_key_command: Annotated[_Text, Field(max_length=500)] | None = None
    provider: Annotated[_Text, Field(max_length=100)] | None = None
    label: Annotated[_Text, Field(max_length=80)] | None = None
    is_baseline: bool | None = None


class ModelSection(Part):
    """The section of a unified model name; its entries are checked one by one."""

    vendors: Annotated[list[Any], Field(min_length=1)]
    gates: list[str] | None = None


class Top(Part):
    """The reserved keys; every other key is a model."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, hide_input_in_errors=True)

    defaults: Settings | None = None
    run: RunConfig | None = None
    suites: dict[str, Any] | None = None
    gates: list[str] | None = None
    slos: list[str] | None = None


RESERVED = tuple(Top.model_fields)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the whole document, for editors."""
    made = Top.model_json_schema()
    definitions = made.pop("$defs")
    for kind in (VendorEntry, ModelSection):
        own = kind.model_json_schema(ref_template="#/$defs/{model}")
        definitions |= own.pop("$defs", {})
        definitions[kind.__name__] = own
    definitions["ModelSection"]["properties"]["vendors"]["items"] = {"$ref": "#/$defs/VendorEntry"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "config.yaml of agent-vendor-verifier",
        "description": "Unified model names, each with the vendors that serve it.",
        "type": "object",
        "properties": made["properties"],
        "additionalProperties": {"$ref": "#/$defs/ModelSection"},
        "$defs": definitions,
    }
