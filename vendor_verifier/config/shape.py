"""The shape of config.yaml as pydantic models, and what to say when a value does not fit; it opens nothing.

Pydantic finds the misfit, the words are ours: what was read, what was expected, how to mend it. The value itself is
never taken from pydantic's report, which would quote keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from vendor_verifier.config.findings import Findings, listed, nearest
from vendor_verifier.config.nodes import Listing, Node, Path, Scalar, Table, find, plain
from vendor_verifier.config.secret_text import abbreviated, holds_secret, shown

Shape = TypeVar("Shape", bound=BaseModel)
RESERVED = ("defaults", "suites", "gates", "slos")


class Price(BaseModel):
    """What a vendor charges: per million tokens and per request; ``rate`` is US dollars for one ``currency``."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    input: float | None = Field(default=None, ge=0)
    output: float | None = Field(default=None, ge=0)
    cached: float | None = Field(default=None, ge=0)
    reasoning: float | None = Field(default=None, ge=0)
    request: float | None = Field(default=None, ge=0)
    currency: str | None = Field(default=None, pattern="^[A-Z]{3}$")
    rate: float | None = Field(default=None, gt=0)


class Settings(BaseModel):
    """What an entry may set, and ``defaults:`` for all entries."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    validator: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    extra_body: dict[str, Any] | None = None
    extra_headers: dict[str, str] | None = Field(default=None, repr=False)
    concurrency: int | None = Field(default=None, ge=1)
    rpm: float | None = Field(default=None, gt=0, le=1_000_000)
    tpm: float | None = Field(default=None, gt=0, le=1_000_000_000)
    requests_per_minute: float | None = Field(default=None, gt=0, le=1_000_000)
    price: Price | None = None
    allow_http: bool | None = None


class VendorEntry(Settings):
    """One line under ``vendors:``, as written."""

    name: str = Field(min_length=1, max_length=80)
    model_id: str | None = Field(default=None, min_length=1, max_length=300)
    url: str | None = Field(default=None, min_length=1, max_length=2000)
    api_key: str | None = Field(default=None, repr=False)
    api_key_env: str | None = Field(default=None, min_length=1, repr=False)
    api_key_command: str | None = Field(default=None, min_length=1, max_length=500)
    provider: str | None = Field(default=None, min_length=1, max_length=100)
    label: str | None = Field(default=None, min_length=1, max_length=80)
    is_baseline: bool | None = None


class ModelSection(BaseModel):
    """What stands under a unified model name; its entries are checked one by one."""

    model_config = ConfigDict(extra="forbid", strict=True)

    vendors: list[Any] = Field(min_length=1)
    gates: Any = None  # read with those of all models
    tokenizer: str | None = Field(default=None, min_length=1, max_length=1000)


_ENTRY_ONLY = tuple(name for name in VendorEntry.model_fields if name not in Settings.model_fields)
_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "`true` or `false`, without quotes",
    "list_type": "a list (lines that start with `- `)",
    "dict_type": "a mapping (`key: value` lines)",
    "model_type": "a mapping (`key: value` lines)",
}
_FIELD_SETS: tuple[tuple[type[BaseModel], str], ...] = (
    (ModelSection, "a model"),
    (VendorEntry, "a vendor entry"),
    (Settings, "defaults"),
    (Price, "price"),
)


def check_shape(
    kind: type[Shape], path: Path, findings: Findings, stand_ins: Mapping[str, Any] | None = None
) -> tuple[Shape | None, frozenset[str]]:
    """The part of the file at ``path`` as ``kind``, and the names of its fields that did not fit and are left out.

    ``stand_ins`` replace required fields that do not fit, so that the rest can still be checked. ``None`` when nothing
    remains to go on with. What did not fit is in the findings.
    """
    node = find(findings.root, path)
    content = plain(node) if node is not None else None
    misfits = _misfits(kind, content)
    for details in misfits:
        where = (*path, *details["loc"])
        findings.problem(where, _message(kind, details, find(findings.root, where), where))
    bad = frozenset(str(details["loc"][0]) if details["loc"] else "" for details in misfits)
    if not bad:
        return kind.model_validate(content), bad
    if not isinstance(content, dict):
        return None, bad
    rest = {**_without(content, misfits), **{name: value for name, value in (stand_ins or {}).items() if name in bad}}
    return (None if _misfits(kind, rest) else kind.model_validate(rest)), bad


def _misfits(kind: type[BaseModel], content: Any) -> list[ErrorDetails]:
    try:
        kind.model_validate(content)
    except ValidationError as error:
        return error.errors(include_url=False, include_input=False, include_context=True)
    return []


def _without(content: Mapping[str, Any], misfits: list[ErrorDetails]) -> dict[str, Any]:
    """``content`` without what did not fit; of headers only the bad ones go, the others may hold secrets to refuse."""
    bad = {details["loc"] for details in misfits}
    kept = {name: value for name, value in content.items() if not any(loc[:1] == (name,) for loc in bad)}
    headers = content.get("extra_headers")
    if isinstance(headers, dict):
        kept["extra_headers"] = {name: value for name, value in headers.items() if ("extra_headers", name) not in bad}
    return kept


def check_overrides(overrides: Mapping[str, Any]) -> Mapping[str, str]:
    """What is wrong with settings from the command line: name → message."""
    misfits = _misfits(Settings, dict(overrides))
    return {str(details["loc"][0]): f"expected {_expected(details)}" for details in misfits}


def _message(kind: type[BaseModel], details: ErrorDetails, node: Node | None, path: Path) -> str:
    name = str(path[-1]) if path else ""
    if details["type"] == "extra_forbidden":
        return _unknown_key(kind, name, path)
    if details["type"] == "missing":
        return f"`{name}` is missing"
    if isinstance(node, Scalar) and node.kind == "nothing":
        return f"empty; expected {_expected(details)}"
    if details["type"] == "string_type" and isinstance(node, Scalar):
        raw = quoted_raw(node, path)
        fix = f'; write it in quotes: "{node.raw}"' if raw == f"`{node.raw}`" else "; write it in quotes"
        return f"read {raw}, which YAML takes as {node.kind}; expected text{fix}"
    return f"read {describe_node(node, path)}; expected {_expected(details)}"


def _unknown_key(kind: type[BaseModel], name: str, path: Path) -> str:
    if kind is Settings and len(path) == 2 and name in _ENTRY_ONLY:
        return f"`{name}` belongs to one vendor entry, not to defaults"
    owner = Price if len(path) > 1 and path[-2] == "price" else kind
    where = next(text for model, text in _FIELD_SETS if model is owner)
    known = owner.model_fields
    near = nearest(name, known)
    return f"unknown key in {where}{near or '; known are ' + listed(known)}"


def _expected(details: ErrorDetails) -> str:
    context = details.get("ctx", {})
    bounds = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most"),
              "greater_than": ("gt", "more than")}  # fmt: skip
    if details["loc"][-1:] == ("temperature",):
        return "a number from 0 to 2"
    if details["type"] in bounds:
        key, words = bounds[details["type"]]
        return f"{words} {context[key]:g}"
    if details["type"] == "string_too_long":
        return f"at most {context['max_length']} characters"
    if details["type"] in ("string_too_short", "too_short"):
        return "at least one vendor" if details["loc"][-1] == "vendors" else "something between the quotes"
    if details["type"] == "string_pattern_mismatch":
        return 'three capital letters such as "USD" or "CNY"'
    return _EXPECTED.get(details["type"], "a finite number" if details["type"] == "finite_number" else "another value")


def describe_node(node: Node | None, path: Path) -> str:
    """What was read, as a message may say it."""
    if isinstance(node, Table):
        return "a mapping"
    if isinstance(node, Listing):
        return "a list" if node.items else "an empty list"
    if node is None or node.kind == "nothing":
        return "nothing"
    if path and path[-1] not in VendorEntry.model_fields and path[-1] not in Price.model_fields:
        return f"a single value ({node.kind})"
    return f"the text {quoted_raw(node, path)}" if node.kind == "text" else quoted_raw(node, path)


def quoted_raw(node: Scalar, path: Path) -> str:
    """A value as written in the file; where a key may stand, three characters of it at most."""
    return abbreviated(node.raw) if holds_secret(path) else shown(node.raw)
