"""The shape of config.yaml, and what to say when a value does not fit; it opens nothing.

A message says what was read, what was expected, how to mend it. What was read is shown as the file has it, and where a
key may stand three characters of it at most.
"""

# ruff: noqa: RUF009 key() makes a field of a dataclass, as field() does

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from vendor_verifier.config.fields import Misfit, fit, key, rules_of
from vendor_verifier.config.findings import Findings, listed, nearest
from vendor_verifier.config.nodes import Listing, Node, Path, Scalar, Table, find, plain
from vendor_verifier.config.secret_text import abbreviated, holds_secret, shown

Shape = TypeVar("Shape")
RESERVED = ("defaults", "suites", "gates", "slos")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a vendor charges: per million tokens and per request; ``rate`` is US dollars for one ``currency``."""

    input: float | None = key("number", at_least=0)
    output: float | None = key("number", at_least=0)
    cached: float | None = key("number", at_least=0)
    reasoning: float | None = key("number", at_least=0)
    request: float | None = key("number", at_least=0)
    currency: str | None = key("text", form="[A-Z]{3}", words='three capital letters such as "USD" or "CNY"')
    rate: float | None = key("number", above=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an entry may set, and ``defaults:`` for all entries."""

    validator: str | None = key("text")
    temperature: float | None = key("number", at_least=0, at_most=2)
    max_tokens: int | None = key("whole number", at_least=1)
    extra_body: dict[str, Any] | None = key("mapping")
    extra_headers: dict[str, str] | None = key("texts", secret=True)
    concurrency: int | None = key("whole number", at_least=1)
    rpm: float | None = key("number", above=0, at_most=1_000_000)
    tpm: float | None = key("number", above=0, at_most=1_000_000_000)
    requests_per_minute: float | None = key("number", above=0, at_most=1_000_000)
    price: dict[str, Any] | None = key("mapping", keys=Price)
    allow_http: bool | None = key("switch")


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorEntry(Settings):
    """One line under ``vendors:``, as written."""

    name: str = key("text", at_least=1, at_most=80, required=True)
    model_id: str | None = key("text", at_least=1, at_most=300)
    url: str | None = key("text", at_least=1, at_most=2000)
    api_key: str | None = key("text", secret=True)
    api_key_env: str | None = key("text", at_least=1, secret=True)
    api_key_command: str | None = key("text", at_least=1, at_most=500)
    provider: str | None = key("text", at_least=1, at_most=100)
    label: str | None = key("text", at_least=1, at_most=80)
    is_baseline: bool | None = key("switch")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSection:
    """What stands under a unified model name; its entries are checked one by one."""

    vendors: list[Any] = key("list", at_least=1, words="at least one vendor", required=True)
    gates: Any = key("anything")  # read with those of all models
    tokenizer: str | None = key("text", at_least=1, at_most=1000)


_ENTRY_ONLY = tuple(name for name in rules_of(VendorEntry) if name not in rules_of(Settings))
_OWNERS: tuple[tuple[type, str], ...] = (
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
    make: Callable[..., Shape] = kind
    values, misfits = fit(kind, content)
    for misfit in misfits:
        where = (*path, *misfit.path)
        findings.problem(where, _message(kind, misfit, find(findings.root, where), where))
    bad = frozenset(misfit.path[0] if misfit.path else "" for misfit in misfits)
    if not bad:
        return make(**values), bad
    if not isinstance(content, dict):
        return None, bad
    rest = {**_without(content, misfits), **{name: value for name, value in (stand_ins or {}).items() if name in bad}}
    values, misfits = fit(kind, rest)
    return (None if misfits else make(**values)), bad


def _without(content: Mapping[str, Any], misfits: list[Misfit]) -> dict[str, Any]:
    """``content`` without what did not fit; of headers only the bad ones go, the others may hold secrets to refuse."""
    bad = {misfit.path for misfit in misfits}
    kept = {name: value for name, value in content.items() if not any(path[:1] == (name,) for path in bad)}
    headers = content.get("extra_headers")
    if isinstance(headers, dict):
        kept["extra_headers"] = {name: value for name, value in headers.items() if ("extra_headers", name) not in bad}
    return kept


def check_overrides(overrides: Mapping[str, Any]) -> Mapping[str, str]:
    """What is wrong with settings from the command line: name → message."""
    _, misfits = fit(Settings, dict(overrides))
    return {misfit.path[0]: f"expected {misfit.expected}" for misfit in misfits}


def _message(kind: type, misfit: Misfit, node: Node | None, path: Path) -> str:
    name = str(path[-1]) if path else ""
    if misfit.trouble == "unknown":
        return _unknown_key(kind, name, path)
    if misfit.trouble == "missing":
        return f"`{name}` is missing"
    if isinstance(node, Scalar) and node.kind == "nothing":
        return f"empty; expected {misfit.expected}"
    if misfit.trouble == "not text" and isinstance(node, Scalar):
        raw = quoted_raw(node, path)
        fix = f'; write it in quotes: "{node.raw}"' if raw == f"`{node.raw}`" else "; write it in quotes"
        return f"read {raw}, which YAML takes as {node.kind}; expected text{fix}"
    return f"read {describe_node(node, path)}; expected {misfit.expected}"


def _unknown_key(kind: type, name: str, path: Path) -> str:
    if kind is Settings and len(path) == 2 and name in _ENTRY_ONLY:
        return f"`{name}` belongs to one vendor entry, not to defaults"
    owner = Price if len(path) > 1 and path[-2] == "price" else kind
    where = next(text for part, text in _OWNERS if part is owner)
    known = rules_of(owner)
    near = nearest(name, known)
    return f"unknown key in {where}{near or '; known are ' + listed(known)}"


def describe_node(node: Node | None, path: Path) -> str:
    """What was read, as a message may say it."""
    if isinstance(node, Table):
        return "a mapping"
    if isinstance(node, Listing):
        return "a list" if node.items else "an empty list"
    if node is None or node.kind == "nothing":
        return "nothing"
    if path and path[-1] not in rules_of(VendorEntry) and path[-1] not in rules_of(Price):
        return f"a single value ({node.kind})"
    return f"the text {quoted_raw(node, path)}" if node.kind == "text" else quoted_raw(node, path)


def quoted_raw(node: Scalar, path: Path) -> str:
    """A value as written in the file; where a key may stand, three characters of it at most."""
    return abbreviated(node.raw) if holds_secret(path) else shown(node.raw)
