"""Entries: drafts with keys and header variables looked up among those given; it reads no file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vendor_verifier.config.drafts import Draft, merge
from vendor_verifier.config.env_file import Variables, account_of, expand, printable, references
from vendor_verifier.config.problems import Findings, nearest
from vendor_verifier.values.plan import Entry


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
    return replace(
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
