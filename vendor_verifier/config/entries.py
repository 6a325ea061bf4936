"""The vendors of a checked config as entries, with their keys and headers; it reads no file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
from vendor_verifier.config.problems import Findings, described, listed, nearest
from vendor_verifier.config.schema import RESERVED, ModelSection, Settings, VendorEntry
from vendor_verifier.config.yaml_source import Path
from vendor_verifier.records.plan import Entry
from vendor_verifier.records.request import Endpoint
from vendor_verifier.registry import WIRES, Registry

OWN_BODY_KEYS = ("model", "messages", "tools")


@dataclass(frozen=True, slots=True)
class Written:
    """An entry as the file has it; ``bad`` are the keys that did not fit and are left out."""

    path: Path
    model: str
    entry: VendorEntry
    bad: frozenset[str]

    @property
    def label(self) -> str:
        """The given label, else the vendor's name with the pinned provider before it."""
        return self.entry.label or (f"{self.slug} ({self.entry.name})" if self.slug else self.entry.name)

    @property
    def slug(self) -> str | None:
        """The provider that a router is pinned to."""
        return self.entry.provider.strip().rstrip("/") if self.entry.provider else None


def read_models(content: Mapping[str, Any], findings: Findings) -> list[Written]:
    """Every entry of the file in its order, each of the right shape; the problems are added to the findings."""
    found: list[Written] = []
    for model, section in content.items():
        if model in RESERVED:
            continue
        if not model.isprintable() or model != model.strip() or len(model) > 100:
            findings.problem((model,), "a model name is one short line of text")
        below = section.values() if isinstance(section, dict) and "vendors" not in section else ()
        if any(isinstance(each, dict) and "vendors" in each for each in below):
            words = f"read models below `{model}`; expected them at the top level: take this line away and indent less"
            findings.problem((model,), words)
            continue
        findings.fitted(ModelSection, (model,), section)
        vendors = section.get("vendors") if isinstance(section, dict) else None
        written = []
        for place, each in enumerate(vendors if isinstance(vendors, list) else []):
            path: Path = (model, "vendors", place)
            entry, bad = findings.fitted(VendorEntry, path, each)
            if entry is not None:
                written.append(Written(path, model, entry, bad))
        _refuse_twins(written, findings)
        found += written
    return found


def _refuse_twins(entries: Iterable[Written], findings: Findings) -> None:
    """Two baselines of a model, and two entries of one label."""
    baseline: Path | None = None
    labels: dict[str, Path] = {}
    for written in entries:
        if written.entry.is_baseline and baseline is not None:
            first = findings.source.line((*baseline, "is_baseline"))
            words = f"a second baseline, the first is on line {first}; keep one of them"
            findings.problem((*written.path, "is_baseline"), words)
        if written.entry.is_baseline and baseline is None:
            baseline = written.path
        if written.bad & {"label", "provider"}:
            continue
        if written.label in labels:
            first = findings.source.line(labels[written.label])
            words = f"{shown(written.label)} already names the entry on line {first}; give one of them another `label:`"
            words = words if first else f"{shown(written.label)} names two vendors; give one of them another name"
            findings.problem((*written.path, "label") if written.entry.label else written.path, words)
        labels.setdefault(written.label, written.path)


def merge(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` laid on ``under``: mappings are merged all the way down, everything else is replaced."""
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        merged[key] = merge(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


@dataclass(slots=True)
class EntryReader:
    """Makes entries of what is written, and collects the secrets that went into them.

    ``overrides`` are settings of the command line. With ``requires_keys`` a variable without a value is a problem.
    """

    registry: Registry
    defaults: Settings
    variables: Variables
    overrides: Mapping[str, Any]
    findings: Findings
    requires_keys: bool
    secrets: set[str] = field(default_factory=set, repr=False)
    _missing: dict[str, list[Path]] = field(default_factory=dict)

    def read(self, written: Written, *, selected: bool) -> Entry | None:
        """The entry, without its key where it is not ``selected``; None when something is wrong with it."""
        path, entry, model = written.path, written.entry, written.model
        for name in ("name", "model_id", "provider", "label"):
            text = getattr(entry, name)
            if text is not None and (not text.isprintable() or text != text.strip()):
                words = "holds a control character, a line break or space at an end; remove it"
                self.findings.problem((*path, name), words)
        check_settings(path, entry, self.findings)
        settings = merge(_stated(self.defaults), _stated(entry))
        plugin = self.registry.vendor(entry.name)
        address = self._address(written, settings) if "url" not in written.bad else None
        key = key_source(path, entry, plugin.key_name or entry.name, self.findings)
        if written.slug == "":
            self.findings.problem((*path, "provider"), "names no provider; write its slug, for example `minimax`")
        model_id = entry.model_id or model_id_of(model, entry.name)
        if model_id is None and "model_id" not in written.bad:
            words = f"missing; no id of {shown(model)} at {shown(entry.name)} is known: ask the vendor and write it"
            self.findings.problem((*path, "model_id"), words)
        if address is not None and key is not None:
            self._refuse_foreign_host(written, address, key, plugin.base_url)
        if address is None or key is None or model_id is None or written.bad & {"api_key", "api_key_env"}:
            return None
        pinned = {"only": [written.slug], "allow_fallbacks": False, "require_parameters": True}
        body = merge({"provider": pinned} if written.slug else {}, settings.get("extra_body", {}))
        # A setting from the command line must not be undone by the same setting in the config's extra_body.
        body = {name: value for name, value in body.items() if name not in self.overrides}
        templates = _headers(("defaults",), self.defaults) | _headers(path, entry)
        is_simulated = address.url.startswith("sim:")
        needs_key = not key.command and not is_simulated and (key.explicit or not address.local)
        value = None if key.command or is_simulated or not selected else self._key(key, needs_key)
        credential = value or " ".join(key.command)
        return Entry(
            model=model,
            label=written.label,
            vendor=entry.name,
            endpoint=Endpoint(
                address.url,
                model_id,
                key=value,
                headers=self._values_of(templates) if selected else {},
                body=merge(body, self.overrides.get("extra_body", {})),
            ),
            wire=settings.get("validator") or plugin.wire.name,
            # Without a key there is no account to share, so each address is an account of its own.
            account=account_of(address.origin if credential else address.url, credential or None),
            is_baseline=bool(entry.is_baseline),
            provider=written.slug,
            key_name=key.name if value is not None or needs_key else None,
            key_command=key.command,
            parameters={
                name: each
                for name in ("temperature", "max_tokens")
                if (each := self.overrides.get(name, settings.get(name))) is not None
            },
            concurrency=settings.get("concurrency"),
            price=settings.get("price"),
            requests_per_minute=settings.get("rpm"),
            tokens_per_minute=settings.get("tpm"),
            header_templates={name: text for name, (_, text) in templates.items() if references(text)},
        )

    def report_missing(self) -> None:
        """One problem for each variable without a value, at the first entry that needs it."""
        for name, paths in self._missing.items():
            others = f" ({len(paths)} entries need it)" if len(paths) > 1 else ""
            self.findings.problem(paths[0], self._how_to_set(name) + others)

    def _address(self, written: Written, settings: Mapping[str, Any]) -> Address | None:
        name = written.entry.name
        url = written.entry.url or self.registry.vendor(name).base_url
        if url is None:
            near = nearest(name, self.registry.vendors)
            reason = "its address is not public" if name in self.registry.vendors else f"not a known vendor{near}"
            self.findings.problem(written.path, f"no url for {shown(name)}: {reason}; add `url: https://…`")
            return None
        try:
            return read_address(url, allow_http=bool(settings.get("allow_http")))
        except AddressError as error:
            self.findings.problem((*written.path, "url"), str(error))
            return None

    def _refuse_foreign_host(self, written: Written, address: Address, key: KeySource, home: str | None) -> None:
        """A known vendor's key goes to its own host, to this machine, or where the entry names the key to send."""
        if home is None or written.entry.url is None or key.explicit or key.command or address.local:
            return
        own = read_address(home, allow_http=True).host
        if address.host != own:
            words = (
                f"the key `{key.name}` belongs to {own} and would be sent to {address.host}; "
                f"if that is meant, name the key to send there: `api_key_env: {key.name}`, or another variable"
            )
            self.findings.problem((*written.path, "url"), words)

    def _key(self, key: KeySource, needs_key: bool) -> str | None:
        value = self.variables.get(key.name)
        if value is None:
            if needs_key and self.requires_keys:
                self._missing.setdefault(key.name, []).append(key.path)
            return None
        if not value.isascii() or not value.isprintable() or " " in value:
            name = printable(key.name)
            words = f"the value of `{name}` is no key: it holds a space, a line break or a non-ASCII character"
            self.findings.problem(key.path, words)
            return None
        self.secrets.add(value)
        return value

    def _values_of(self, headers: Mapping[str, tuple[Path, str]]) -> dict[str, str]:
        """The headers with their variables filled in; those with a missing variable are left out."""
        found: dict[str, str] = {}
        for name, (path, text) in headers.items():
            names = references(text)
            values = {each: value for each in names if (value := self.variables.get(each)) is not None}
            for each in set(names) - values.keys() if self.requires_keys else ():
                self.findings.problem(path, self._how_to_set(each))
            expanded = expand(text, values)
            if not expanded.isascii() or not expanded.isprintable():
                self.findings.problem(path, "its variable holds a line break or a non-ASCII character")
            elif len(values) == len(set(names)):
                found[name] = expanded
                self.secrets |= {expanded, *values.values()} if names else set()
        return found

    def _how_to_set(self, name: str) -> str:
        text = printable(name)
        if name in self.variables.placeholders:
            state = f"`{text}` holds only a placeholder"
        else:
            state = f"no value for `{text}`{nearest(name, self.variables.file_names)}"
        return f"{state}; set it in {self.variables.env_file} as `{text}=<the key>`, or in the environment"


def check_settings(path: Path, settings: Settings, findings: Findings) -> None:
    """Report what types cannot catch: unknown wires, bad headers, body keys that change the question."""
    if settings.validator is not None and settings.validator not in WIRES:
        near = nearest(settings.validator, WIRES) or f"; known are {listed(WIRES)}"
        findings.problem((*path, "validator"), f"unknown validator {shown(settings.validator)}{near}")
    for key in OWN_BODY_KEYS:
        if key in (settings.extra_body or {}):
            words = "would change the question itself, which must be the same for every vendor; remove it"
            findings.problem((*path, "extra_body", key), words)
    if settings.rpm is not None and settings.requests_per_minute is not None:
        words = "the same as `rpm`, which is there too; keep one of them"
        findings.problem((*path, "requests_per_minute"), words)
    check_headers((*path, "extra_headers"), settings.extra_headers or {}, findings)


def refuse_literal_secrets(value: Any, findings: Findings, path: Path = ()) -> None:
    """Keys anywhere but in ``api_key`` and headers, which have their own rules and messages."""
    if isinstance(value, (dict, list)):
        for step, each in value.items() if isinstance(value, dict) else enumerate(value):
            refuse_literal_secrets(each, findings, (*path, step))
        return
    setting = path[1:] if path[:1] == ("defaults",) else path[3:]
    if not isinstance(value, str) or setting[:1] in (("api_key",), ("api_key_env",), ("extra_headers",)):
        return
    if has_known_form(value) or (names_a_secret(str(path[-1])) and looks_secret(value)):
        read = described(value, (*path, "api_key"))
        findings.problem(path, f"looks like a key (read {read}); keys belong in .env, never in this file")


def _stated(source: Settings) -> dict[str, Any]:
    """The stated settings, by name; ``extra_body`` keeps its nulls, ``requests_per_minute`` becomes ``rpm``."""
    values = {
        name: value.model_dump(exclude_none=True) if name == "price" else value
        for name in Settings.model_fields
        if (value := getattr(source, name)) is not None
    }
    if "requests_per_minute" in values:
        values["rpm"] = values.pop("requests_per_minute")
    return values


def _headers(path: Path, settings: Settings) -> dict[str, tuple[Path, str]]:
    """Header name in lower case → (its place in the file, its text with references)."""
    headers = settings.extra_headers or {}
    return {name.lower(): ((*path, "extra_headers", name), text) for name, text in headers.items()}
