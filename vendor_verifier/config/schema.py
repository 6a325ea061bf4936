"""The shape of config.yaml as structs, and the messages for values that do not fit; it opens nothing.

Msgspec decides what fits, the words are ours: what was read, what was expected, how to mend it. Msgspec stops at the
first misfit, so a part that does not fit is held against its struct again, key by key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from msgspec import Meta, Struct, ValidationError, convert
from msgspec.structs import fields

from vendor_verifier.config.env_file import abbreviated, holds_secret, shown
from vendor_verifier.config.problems import Findings, listed, nearest
from vendor_verifier.config.yaml_tree import Listing, Node, Path, Scalar, Table, find, plain

Shape = TypeVar("Shape", bound=Struct)
RESERVED = ("defaults", "suites", "gates", "slos")

# A Meta for each message. Infinity fits what nothing bounds above, but yaml_source lets none through.
_Whole = Annotated[int, Meta(ge=1)]
_Amount = Annotated[float, Meta(ge=0)]
_Temperature = Annotated[float, Meta(ge=0, le=2)]
_FILLED = Meta(min_length=1, extra={"expected": "something between the quotes"})
_CURRENCY = Meta(
    pattern="^[A-Z]{3}$",
    max_length=3,  # the pattern alone lets a line break follow
    extra={"expected": 'three capital letters such as "USD" or "CNY"'},
)


class _Part(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"  # its texts may be keys


class Price(_Part, frozen=True):
    """A vendor's prices per million tokens and per request; ``rate`` is US dollars for one ``currency``."""

    input: _Amount | None = None
    output: _Amount | None = None
    cached: _Amount | None = None
    reasoning: _Amount | None = None
    request: _Amount | None = None
    currency: Annotated[str, _CURRENCY] | None = None
    rate: Annotated[float, Meta(gt=0)] | None = None


class Settings(_Part, frozen=True):
    """The settings of an entry, which ``defaults:`` may set for all entries."""

    validator: str | None = None
    temperature: _Temperature | None = None
    max_tokens: _Whole | None = None
    extra_body: dict[str, Any] | None = None
    extra_headers: dict[str, str] | None = None
    concurrency: _Whole | None = None
    rpm: Annotated[float, Meta(gt=0), Meta(le=1_000_000)] | None = None
    tpm: Annotated[float, Meta(gt=0), Meta(le=1_000_000_000)] | None = None
    requests_per_minute: Annotated[float, Meta(gt=0), Meta(le=1_000_000)] | None = None
    price: Price | None = None
    allow_http: bool | None = None


class VendorEntry(Settings, frozen=True, kw_only=True):
    """One line under ``vendors:``, as written."""

    name: Annotated[str, _FILLED, Meta(max_length=80)]
    model_id: Annotated[str, _FILLED, Meta(max_length=300)] | None = None
    url: Annotated[str, _FILLED, Meta(max_length=2000)] | None = None
    api_key: str | None = None
    api_key_env: Annotated[str, _FILLED] | None = None
    api_key_command: Annotated[str, _FILLED, Meta(max_length=500)] | None = None
    provider: Annotated[str, _FILLED, Meta(max_length=100)] | None = None
    label: Annotated[str, _FILLED, Meta(max_length=80)] | None = None
    is_baseline: bool | None = None


class ModelSection(_Part, frozen=True):
    """The section of a unified model name; its entries are checked one by one."""

    vendors: Annotated[list[Any], Meta(min_length=1, extra={"expected": "at least one vendor"})]
    gates: Any = None  # read with those of all models


class _Misfit(Struct, frozen=True):
    """One misfit at ``path`` below the part; ``expected`` is the text of what would fit."""

    path: tuple[str, ...]
    trouble: Literal["unknown", "missing", "unfit"]
    expected: str = ""


_MAPPING = "a mapping (`key: value` lines)"
_EXPECTED: Mapping[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    _Temperature: "a number from 0 to 2",
    bool: "`true` or `false`, without quotes",
    list[Any]: "a list (lines that start with `- `)",
    dict[str, Any]: _MAPPING,
    dict[str, str]: _MAPPING,
    Price: _MAPPING,
}
_BOUNDS = {"ge": "at least {:g}", "gt": "more than {:g}", "le": "at most {:g}", "max_length": "at most {} characters"}
_FIELD_SETS: tuple[tuple[type[Struct], str], ...] = (
    (ModelSection, "a model"),
    (VendorEntry, "a vendor entry"),
    (Settings, "defaults"),
    (Price, "price"),
)
_ENTRY_ONLY = tuple(name for name in VendorEntry.__struct_fields__ if name not in Settings.__struct_fields__)


def check_shape(
    kind: type[Shape], path: Path, findings: Findings, stand_ins: Mapping[str, Any] | None = None
) -> tuple[Shape | None, frozenset[str]]:
    """The part of the file at ``path`` as ``kind``, and the names of its fields that did not fit and are left out.

    ``stand_ins`` replace required fields that do not fit, so that the rest can still be checked. ``None`` when nothing
    remains to go on with. What did not fit is in the findings.
    """
    node = find(findings.root, path)
    content = plain(node) if node is not None else None
    part = _read(kind, content)
    if part is not None:
        return part, frozenset()
    misfits = list(_misfits(kind, content))
    for misfit in misfits:
        where = (*path, *misfit.path)
        findings.problem(where, _message(kind, misfit, find(findings.root, where), where))
    bad = frozenset(misfit.path[0] if misfit.path else "" for misfit in misfits)
    if not isinstance(content, dict):
        return None, bad
    rest = {**_without(content, misfits), **{name: value for name, value in (stand_ins or {}).items() if name in bad}}
    return _read(kind, rest), bad


def _read(kind: type[Shape], content: Any) -> Shape | None:
    try:
        return convert(content, kind)
    except ValidationError:
        return None


def _fits(value: Any, kind: Any) -> bool:
    try:
        convert(value, kind)
    except ValidationError:
        return False
    return True


def _misfits(part: type[Struct], content: Any) -> Iterator[_Misfit]:
    """Everything in ``content`` that does not fit, in the order of the part's fields, and then the unknown keys."""
    if not isinstance(content, dict):
        yield _Misfit((), "unfit", _MAPPING)
        return
    for field in fields(part):
        if field.name not in content:
            if field.required:
                yield _Misfit((field.name,), "missing")
        elif not _fits(content[field.name], field.type):
            for misfit in _within(field.type, content[field.name]):
                yield _Misfit((field.name, *misfit.path), misfit.trouble, misfit.expected)
    yield from (_Misfit((name,), "unknown") for name in content if name not in part.__struct_fields__)


def _within(wanted: Any, value: Any) -> Iterator[_Misfit]:
    """The misfits of a ``value`` that does not fit ``wanted``: of a mapping its items, else the value itself."""
    kind = get_args(wanted)[0] if NoneType in get_args(wanted) else wanted
    if isinstance(value, dict) and kind is Price:
        yield from _misfits(Price, value)
    elif isinstance(value, dict) and get_origin(kind) is dict:
        yield from (_Misfit((name,), "unfit", "text") for name, item in value.items() if not _fits({name: item}, kind))
    else:
        yield _Misfit((), "unfit", _expected(kind, value))


def _expected(kind: Any, value: Any) -> str:
    """The words for ``kind``, or for the first of its bounds that ``value`` misses."""
    if kind in _EXPECTED:
        return _EXPECTED[kind]
    plain_kind, *bounds = get_args(kind)
    if not _fits(value, plain_kind):
        return _EXPECTED[plain_kind]
    missed: Meta = next(bound for bound in bounds if not _fits(value, Annotated[plain_kind, bound]))
    if missed.extra is not None:
        return str(missed.extra["expected"])
    return next(words.format(limit) for name, words in _BOUNDS.items() if (limit := getattr(missed, name)) is not None)


def _without(content: Mapping[str, Any], misfits: list[_Misfit]) -> dict[str, Any]:
    """``content`` without what did not fit; of headers only the bad ones go, the others may hold secrets to refuse."""
    bad = {misfit.path for misfit in misfits}
    kept = {name: value for name, value in content.items() if not any(path[:1] == (name,) for path in bad)}
    headers = content.get("extra_headers")
    if isinstance(headers, dict):
        kept["extra_headers"] = {name: value for name, value in headers.items() if ("extra_headers", name) not in bad}
    return kept


def check_overrides(overrides: Mapping[str, Any]) -> Mapping[str, str]:
    """The problems of settings from the command line: name → message."""
    return {misfit.path[0]: f"expected {misfit.expected}" for misfit in _misfits(Settings, dict(overrides))}


def _message(kind: type[Struct], misfit: _Misfit, node: Node | None, path: Path) -> str:
    name = str(path[-1]) if path else ""
    if misfit.trouble == "unknown":
        return _unknown_key(kind, name, path)
    if misfit.trouble == "missing":
        return f"`{name}` is missing"
    if isinstance(node, Scalar) and node.kind == "nothing":
        return f"empty; expected {misfit.expected}"
    if misfit.expected == "text" and isinstance(node, Scalar):
        raw = quoted_raw(node, path)
        fix = f'; write it in quotes: "{node.raw}"' if raw == f"`{node.raw}`" else "; write it in quotes"
        return f"read {raw}, which YAML takes as {node.kind}; expected text{fix}"
    return f"read {describe_node(node, path)}; expected {misfit.expected}"


def _unknown_key(kind: type[Struct], name: str, path: Path) -> str:
    if kind is Settings and len(path) == 2 and name in _ENTRY_ONLY:
        return f"`{name}` belongs to one vendor entry, not to defaults"
    owner = Price if len(path) > 1 and path[-2] == "price" else kind
    where = next(text for model, text in _FIELD_SETS if model is owner)
    known = owner.__struct_fields__
    near = nearest(name, known)
    return f"unknown key in {where}{near or '; known are ' + listed(known)}"


def describe_node(node: Node | None, path: Path) -> str:
    """The words for a node of the file in an error message."""
    if isinstance(node, Table):
        return "a mapping"
    if isinstance(node, Listing):
        return "a list" if node.items else "an empty list"
    if node is None or node.kind == "nothing":
        return "nothing"
    if path and path[-1] not in VendorEntry.__struct_fields__ and path[-1] not in Price.__struct_fields__:
        return f"a single value ({node.kind})"
    return f"the text {quoted_raw(node, path)}" if node.kind == "text" else quoted_raw(node, path)


def quoted_raw(node: Scalar, path: Path) -> str:
    """A value as written in the file; where a key may stand, three characters of it at most."""
    return abbreviated(node.raw) if holds_secret(path) else shown(node.raw)
