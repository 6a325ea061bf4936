"""The vendors of a checked config: as drafts, which lack only their keys, and as entries with the keys found.

It reads no file: keys and header variables are looked up among those given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs, to_builtins

from vendor_verifier.config.credentials import Address, AddressError, KeySource, check_headers, key_source, read_address
from vendor_verifier.config.env_file import (
    Variables,
    account_of,
    expand,
    has_known_form,
    looks_secret,
    names_a_secret,
    printable,
    references,
    shown,
)
from vendor_verifier.config.model_names import model_id_of
from vendor_verifier.config.problems import Findings, listed, nearest
from vendor_verifier.config.schema import RESERVED, ModelSection, Settings, VendorEntry, check_shape, quoted_raw
from vendor_verifier.config.yaml_tree import Listing, Node, Path, Table, find, walk
from vendor_verifier.records.plan import Entry
from vendor_verifier.records.request import Endpoint
from vendor_verifier.registry import WIRES, Registry

_KEY_SETTINGS = (("api_key",), ("api_key_env",), ("extra_headers",))
OWN_BODY_KEYS = ("model", "messages", "tools")


@dataclass(frozen=True, slots=True)
class Draft:
    """One vendor entry with its defaults applied, checked; its key and headers are not yet looked up."""

    path: Path
    entry: Entry
    address: Address
    key: KeySource
    headers: Mapping[str, tuple[Path, str]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Written:
    """An entry as the file has it; ``bad`` fields did not fit and are left out, so that the others can be checked."""

    path: Path
    entry: VendorEntry
    bad: frozenset[str]


def read_drafts(root: Table, defaults: Settings, registry: Registry, findings: Findings) -> list[Draft]:
    """Every usable entry of the file, in its order; the problems of the others are added to the findings."""
    _refuse_literal_secrets(root, findings)
    _check_settings(("defaults",), defaults, findings)
    drafts: list[Draft] = []
    for model in root.items:
        if model in RESERVED:
            continue
        if not model.isprintable() or model != model.strip() or len(model) > 100:
            findings.problem((model,), "a model name is one short line of text")
        if _holds_models(root.items[model]):
            words = f"read models below `{model}`; expected them at the top level: take this line away and indent less"
            findings.problem((model,), words)
            continue
        check_shape(ModelSection, (model,), findings)
        entries = list(_entries(model, root, findings))
        _one_baseline(entries, findings)
        _distinct_labels(entries, findings)
        found = (_draft(model, written, defaults, registry, findings) for written in entries)
        drafts += [draft for draft in found if draft is not None]
    return drafts


def _holds_models(section: Node) -> bool:
    """Whether there are models where the vendors of one belong."""
    below = section.items.values() if isinstance(section, Table) and "vendors" not in section.items else ()
    return any(isinstance(each, Table) and "vendors" in each.items for each in below)


def merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` laid on ``under``: mappings are merged all the way down, everything else is replaced."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def label_of(entry: VendorEntry) -> str:
    """The given label, else the vendor's name with the pinned provider behind it, or before it for OpenRouter."""
    slug = _slug(entry)
    return entry.label or (f"{slug} ({entry.name})" if slug else entry.name)


def _slug(entry: VendorEntry) -> str | None:
    return entry.provider.strip().rstrip("/") if entry.provider else None


def _entries(model: str, root: Table, findings: Findings) -> Iterator[_Written]:
    listing = find(root, (model, "vendors"))
    for position in range(len(listing.items) if isinstance(listing, Listing) else 0):
        path: Path = (model, "vendors", position)
        entry, bad = check_shape(VendorEntry, path, findings, {"model_id": "unread"})
        if entry is not None:
            yield _Written(path, entry, bad)


def _one_baseline(entries: Iterable[_Written], findings: Findings) -> None:
    marked = [written.path for written in entries if written.entry.is_baseline]
    for path in marked[1:]:
        first = findings.line((*marked[0], "is_baseline"))
        findings.problem((*path, "is_baseline"), f"a second baseline, the first is on line {first}; keep one of them")


def _distinct_labels(entries: Iterable[_Written], findings: Findings) -> None:
    seen: dict[str, Path] = {}
    for written in entries:
        if written.bad & {"label", "provider"}:
            continue
        label = label_of(written.entry)
        if label in seen:
            first = findings.line(seen[label])
            message = f"{shown(label)} already names the entry on line {first}; give one of them another `label:`"
            findings.problem((*written.path, "label") if written.entry.label else written.path, message)
        seen.setdefault(label, written.path)


def _draft(model: str, written: _Written, defaults: Settings, registry: Registry, findings: Findings) -> Draft | None:
    path, entry = written.path, written.entry
    for name in ("name", "model_id", "provider", "label"):
        text = getattr(entry, name)
        if text is not None and (not text.isprintable() or text != text.strip()):
            findings.problem((*path, name), "holds a control character, a line break or space at an end; remove it")
    _check_settings(path, entry, findings)
    merged = _under_defaults(entry, defaults)
    plugin = registry.vendor(entry.name)
    address = _address(path, entry, merged, registry, findings) if "url" not in written.bad else None
    key = key_source(path, entry, plugin.key_name or entry.name, findings)
    wire = merged.get("validator") or plugin.wire.name
    slug = _slug(entry)
    if slug == "":
        findings.problem((*path, "provider"), "names no provider; write its slug, for example `minimax`")
    model_id = entry.model_id or model_id_of(model, entry.name)
    if model_id is None and "model_id" not in written.bad:
        message = f"missing; nobody has told what {shown(entry.name)} calls {shown(model)}: ask the vendor and write it"
        findings.problem((*path, "model_id"), message)
    if address is not None and key is not None:
        _bound_to_origin(path, entry, address, key, plugin.base_url, findings)
    if address is None or key is None or model_id is None or written.bad & {"api_key", "api_key_env"}:
        return None
    pin = {"provider": {"only": [slug], "allow_fallbacks": False, "require_parameters": True}} if slug else {}
    headers = _headers(("defaults",), defaults) | _headers(path, entry)
    found = Entry(
        model=model,
        label=label_of(entry),
        vendor=entry.name,
        endpoint=Endpoint(address.url, model_id, body=merge(pin, merged.get("extra_body", {}))),
        wire=wire,
        account="",
        is_baseline=bool(entry.is_baseline),
        provider=slug,
        key_command=key.command,
        parameters={name: merged[name] for name in ("temperature", "max_tokens") if name in merged},
        concurrency=merged.get("concurrency"),
        price=merged.get("price"),
        requests_per_minute=merged.get("rpm"),
        tokens_per_minute=merged.get("tpm"),
        header_templates={name: text for name, (_, text) in headers.items() if references(text)},
    )
    return Draft(path, found, address, key, headers)


def _under_defaults(entry: VendorEntry, defaults: Settings) -> dict[str, Any]:
    """The entry's settings with ``defaults`` below them: mappings are merged, single values replaced."""
    return merge(_settings(defaults), _settings(entry))


def _settings(source: Settings) -> dict[str, Any]:
    """The stated settings, by name; ``extra_body`` keeps its nulls, ``requests_per_minute`` becomes ``rpm``."""
    values = {name: value for name, value in to_builtins(source).items() if name in Settings.__struct_fields__}
    if "requests_per_minute" in values:
        values["rpm"] = values.pop("requests_per_minute")
    return values


def _headers(path: Path, settings: Settings) -> dict[str, tuple[Path, str]]:
    """Header name in lower case → (where it stands, its text with references)."""
    headers = settings.extra_headers or {}
    return {name.lower(): ((*path, "extra_headers", name), text) for name, text in headers.items()}


def _check_settings(path: Path, settings: Settings, findings: Findings) -> None:
    """Report the problems that types cannot catch: unknown wires, bad headers, body keys that change the question."""
    if settings.validator is not None and settings.validator not in WIRES:
        near = nearest(settings.validator, WIRES) or f"; known are {listed(WIRES)}"
        findings.problem((*path, "validator"), f"unknown validator {shown(settings.validator)}{near}")
    for key in OWN_BODY_KEYS:
        if key in (settings.extra_body or {}):
            message = "would change the question itself, which must be the same for every vendor; remove it"
            findings.problem((*path, "extra_body", key), message)
    if settings.rpm is not None and settings.requests_per_minute is not None:
        message = "the same as `rpm`, which is there too; keep one of them"
        findings.problem((*path, "requests_per_minute"), message)
    check_headers((*path, "extra_headers"), settings.extra_headers or {}, findings)


def _address(
    path: Path, entry: VendorEntry, merged: Mapping[str, Any], registry: Registry, findings: Findings
) -> Address | None:
    url = entry.url or registry.vendor(entry.name).base_url
    if url is None:
        known = entry.name in registry.vendors
        reason = "its address is not public" if known else f"not a known vendor{nearest(entry.name, registry.vendors)}"
        findings.problem(path, f"no url for {shown(entry.name)}: {reason}; add `url: https://…`")
        return None
    try:
        return read_address(url, allow_http=bool(merged.get("allow_http")))
    except AddressError as error:
        findings.problem((*path, "url"), str(error))
        return None


def _bound_to_origin(
    path: Path, entry: VendorEntry, address: Address, key: KeySource, home: str | None, findings: Findings
) -> None:
    """A known vendor's key goes to its own host, to this machine, or where the entry says so by naming the key."""
    if home is None or entry.url is None or key.explicit or key.command or address.local:
        return
    own = read_address(home, allow_http=True).host
    if address.host != own:
        message = (
            f"the key `{key.name}` belongs to {own} and would be sent to {address.host}; "
            f"if that is meant, name the key to send there: `api_key_env: {key.name}`, or another variable"
        )
        findings.problem((*path, "url"), message)


def _refuse_literal_secrets(root: Table, findings: Findings) -> None:
    """Keys anywhere but in ``api_key`` and headers, which have their own rules and messages."""
    for path, scalar in walk(root):
        name = str(path[-1]) if path else ""
        setting = path[1:] if path[:1] == ("defaults",) else path[3:]
        if scalar.kind != "text" or setting[:1] in _KEY_SETTINGS:
            continue
        if has_known_form(scalar.raw) or (names_a_secret(name) and looks_secret(scalar.raw)):
            message = (
                f"looks like a key ({quoted_raw(scalar, (*path, 'api_key'))}); keys belong in .env, never in this file"
            )
            findings.problem(path, message)


@dataclass(frozen=True, slots=True)
class Keyed:
    """Entries in the order of the file, and every secret text that went into them."""

    entries: tuple[Entry, ...]
    secrets: frozenset[str] = field(repr=False)


def build_entries(
    drafts: Sequence[Draft],
    variables: Variables,
    overrides: Mapping[str, Any],
    findings: Findings,
    *,
    require_keys: bool = True,
) -> Keyed:
    """Entries with keys, headers and the command line's ``overrides`` in place; what is missing is a finding."""
    keys = _KeyRing(variables, findings, require_keys=require_keys)
    entries = [_entry(draft, keys, overrides) for draft in drafts]
    keys.report_missing()
    return Keyed(tuple(entries), frozenset(keys.secrets))


def _entry(draft: Draft, keys: _KeyRing, overrides: Mapping[str, Any]) -> Entry:
    entry, key = draft.entry, keys.key(draft)
    parameters = {name: overrides[name] for name in ("temperature", "max_tokens") if name in overrides}
    # A setting from the command line must not be undone by the same setting in the config's extra_body.
    body = {name: value for name, value in entry.endpoint.body.items() if name not in parameters}
    body = merge(body, overrides.get("extra_body", {}))
    return structs.replace(
        entry,
        endpoint=replace(entry.endpoint, key=key, headers=keys.headers(draft), body=body),
        account=_account(draft, key),
        key_name=draft.key.name if key is not None or _needs_key(draft) else None,
        parameters={**entry.parameters, **parameters},
    )


def _account(draft: Draft, key: str | None) -> str:
    """Origin and key; without a key there is no account to share, so each address stands for itself."""
    credential = key or " ".join(draft.key.command)
    return account_of(draft.address.origin if credential else draft.address.url, credential or None)


def _needs_key(draft: Draft) -> bool:
    """Vendors need a key, unless they are simulated, or on this machine and the config names none."""
    if draft.key.command or draft.entry.is_simulated:
        return False
    return draft.key.explicit or not draft.address.local


class _KeyRing:
    """Looks variables up; state: the secrets handed out, and what was missing, for one message a variable."""

    def __init__(self, variables: Variables, findings: Findings, *, require_keys: bool) -> None:
        self.secrets: set[str] = set()
        self._variables = variables
        self._findings = findings
        self._require = require_keys
        self._missing: dict[str, list[Draft]] = {}

    def key(self, draft: Draft) -> str | None:
        if draft.key.command or draft.entry.is_simulated:
            return None
        name = draft.key.name
        value = self._variables.get(name)
        if value is None:
            if _needs_key(draft):
                self._missing.setdefault(name, []).append(draft)
            return None
        if not value.isascii() or not value.isprintable() or " " in value:
            message = (
                f"the value of `{printable(name)}` is no key: it holds a space, a line break or a non-ASCII character"
            )
            self._findings.problem(draft.key.path, message)
            return None
        self.secrets.add(value)
        return value

    def headers(self, draft: Draft) -> dict[str, str]:
        headers: dict[str, str] = {}
        for name, (path, text) in draft.headers.items():
            names = references(text)
            values = {wanted: value for wanted in names if (value := self._variables.get(wanted)) is not None}
            for wanted in set(names) - values.keys():
                if self._require:
                    self._findings.problem(path, self._how_to_set(wanted))
            expanded = expand(text, values)
            if not expanded.isascii() or not expanded.isprintable():
                self._findings.problem(path, "its variable holds a line break or a non-ASCII character")
            elif len(values) == len(set(names)):
                headers[name] = expanded
                self.secrets.update({expanded, *values.values()} if names else ())
        return headers

    def report_missing(self) -> None:
        """One problem for each variable without a value, at the first entry that needs it."""
        if not self._require:
            return
        for name, drafts in self._missing.items():
            others = f" ({len(drafts)} entries need it)" if len(drafts) > 1 else ""
            self._findings.problem(drafts[0].key.path, self._how_to_set(name) + others)

    def _how_to_set(self, name: str) -> str:
        shown_name = printable(name)
        if name in self._variables.placeholders:
            state = f"`{shown_name}` holds only a placeholder"
        else:
            state = f"no value for `{shown_name}`{nearest(name, self._variables.file_names)}"
        return f"{state}; set it in {self._variables.env_file} as `{shown_name}=<the key>`, or in the environment"


def describe(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Entries as JSON-able mappings without any secret: no key, and of the headers only their names."""
    return [
        {
            "model": entry.model,
            "label": entry.label,
            "vendor": entry.vendor,
            "url": entry.endpoint.base_url,
            "model_id": entry.endpoint.model_id,
            "wire": entry.wire,
            "account": entry.account,
            "is_baseline": entry.is_baseline,
            "provider": entry.provider,
            "key_name": entry.key_name,
            "parameters": dict(entry.parameters),
            "extra_body": dict(entry.endpoint.body),
            "extra_headers": sorted(entry.endpoint.headers),
            "concurrency": entry.concurrency,
            "requests_per_minute": entry.requests_per_minute,
            "tokens_per_minute": entry.tokens_per_minute,
            "price": dict(entry.price) if entry.price is not None else None,
        }
        for entry in entries
    ]
