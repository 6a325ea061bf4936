"""The vendors of a checked config as entries, with their keys and headers, and the baseline among them.

Adding a model is one line in ``MODEL_IDS``, a series one in ``SERIES``. Ids are the vendors' own published ones; where
none is public (some resellers) there is none, and config.yaml must give ``model_id``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from vendor_verifier.config.document import Document, KeyPath, Variables, described, listed, nearest
from vendor_verifier.config.schema import RESERVED, Address, ModelSection, Settings, VendorEntry, read_address
from vendor_verifier.config.secret_text import (
    expand,
    has_known_form,
    is_placeholder,
    looks_secret,
    names_a_secret,
    printable,
    references,
    shown,
)
from vendor_verifier.errors import ConfigError, Problem
from vendor_verifier.records.plan import Entry, Price
from vendor_verifier.records.request import Endpoint
from vendor_verifier.redaction import LEAST_SECRET
from vendor_verifier.registry import Registry

SIMULATED_MODEL = "simulated-model"
# The end of a warning that only matters when vendors are compared with each other.
NO_F1 = "F1 will not be measured"

# fmt: off
MODEL_IDS: Mapping[str, Mapping[str, str]] = {
    "gemini-2.5-flash": {"gemini": "gemini-2.5-flash", "vertex": "google/gemini-2.5-flash", "openrouter": "google/gemini-2.5-flash"},
    "gemini-3.1-pro": {"gemini": "gemini-3.1-pro-preview", "vertex": "google/gemini-3.1-pro-preview", "openrouter": "google/gemini-3.1-pro-preview"},
    "gemini-3.8-flash": {"gemini": "gemini-3.8-flash", "vertex": "google/gemini-3.8-flash", "openrouter": "google/gemini-3.8-flash"},
    "claude-sonnet-4.5": {"anthropic": "claude-sonnet-4-5", "openrouter": "anthropic/claude-sonnet-4.5"},
    "claude-opus-4.5": {"anthropic": "claude-opus-4-5", "openrouter": "anthropic/claude-opus-4.5"},
    "claude-haiku-4.5": {"anthropic": "claude-haiku-4-5", "openrouter": "anthropic/claude-haiku-4.5"},
    "claude-sonnet-5.5": {"anthropic": "claude-sonnet-5-5", "openrouter": "anthropic/claude-sonnet-5.5"},
    "claude-opus-5.5": {"anthropic": "claude-opus-5-5", "openrouter": "anthropic/claude-opus-5.5"},
    "deepseek-v3.2": {"deepseek": "deepseek-chat", "openrouter": "deepseek/deepseek-v3.2", "siliconflow": "deepseek-ai/DeepSeek-V3.2", "fireworks": "accounts/fireworks/models/deepseek-v3p2", "novita": "deepseek/deepseek-v3.2"},
    "deepseek-v4-pro": {"deepseek": "deepseek-v4-pro", "openrouter": "deepseek/deepseek-v4-pro", "siliconflow": "deepseek-ai/DeepSeek-V4-Pro", "fireworks": "accounts/fireworks/models/deepseek-v4-pro", "novita": "deepseek/deepseek-v4-pro"},
    "glm-4.7": {"bigmodel": "glm-4.7", "zai": "glm-4.7", "openrouter": "z-ai/glm-4.7", "fireworks": "accounts/fireworks/models/glm-4p7", "novita": "zai-org/glm-4.7"},
    "glm-5.3": {"bigmodel": "glm-5.3", "zai": "glm-5.3", "openrouter": "z-ai/glm-5.3", "together": "zai-org/GLM-5.3", "fireworks": "accounts/fireworks/models/glm-5p3", "novita": "zai-org/glm-5.3"},
    "minimax-m2": {"minimax": "MiniMax-M2", "openrouter": "minimax/minimax-m2"},
    "minimax-m2.5": {"minimax": "MiniMax-M2.5", "openrouter": "minimax/minimax-m2.5", "siliconflow": "MiniMaxAI/MiniMax-M2.5", "novita": "minimax/minimax-m2.5"},
    "minimax-m3": {"minimax": "MiniMax-M3", "openrouter": "minimax/minimax-m3", "together": "MiniMaxAI/MiniMax-M3", "fireworks": "accounts/fireworks/models/minimax-m3", "novita": "minimax/minimax-m3"},
    "kimi-k2": {"moonshot": "kimi-k2-0905-preview", "openrouter": "moonshotai/kimi-k2"},
    "kimi-k2.5": {"moonshot": "kimi-k2.5", "openrouter": "moonshotai/kimi-k2.5", "siliconflow": "moonshotai/Kimi-K2.5", "fireworks": "accounts/fireworks/models/kimi-k2p5", "novita": "moonshotai/kimi-k2.5"},
    "kimi-k3": {"moonshot": "kimi-k3", "openrouter": "moonshotai/kimi-k3", "together": "moonshotai/Kimi-K3", "fireworks": "accounts/fireworks/models/kimi-k3", "novita": "moonshotai/kimi-k3"},
    SIMULATED_MODEL: {"simulated": SIMULATED_MODEL},
    "simulated-load": {"simulated": SIMULATED_MODEL},
}
# fmt: on


Makers = tuple[tuple[str, ...], tuple[str, ...]]
# By the start of a model's name: the vendors whose own service is the default baseline, and the same makers as the
# provider slugs of a router. The earlier one wins.
SERIES: Mapping[str, Makers] = {
    "gemini-": (("gemini", "vertex"), ("google-vertex", "google-ai-studio")),
    "claude-": (("anthropic",), ("anthropic",)),
    "deepseek-": (("deepseek",), ("deepseek",)),
    "glm-": (("bigmodel", "zai", "z.ai"), ("z-ai", "z.ai")),
    "minimax-": (("minimax",), ("minimax",)),
    "kimi-": (("moonshot",), ("moonshotai", "moonshot")),
}


def makers_of(model: str) -> Makers:
    """The makers of a model as vendors and as provider slugs; none of an unknown model."""
    return next((makers for prefix, makers in SERIES.items() if model.startswith(prefix)), ((), ()))


@dataclass(frozen=True, slots=True)
class Written:
    """A checked entry of the file and its place."""

    path: KeyPath
    model: str
    entry: VendorEntry


def read_models(content: Mapping[str, Any], document: Document) -> list[Written]:
    """Every right entry of the file in its order; what is wrong with the others is added to the document."""
    found: list[Written] = []
    lines = document.lines
    for model, section in content.items():
        if model in RESERVED:
            continue
        if not model.isprintable() or model != model.strip() or len(model) > 100:
            document.problem((model,), "a model name is one short line of text")
        below = section.values() if isinstance(section, dict) and "vendors" not in section else ()
        if any(isinstance(each, dict) and "vendors" in each for each in below):
            words = f"read models below `{model}`; expected them at the top level: remove this line and indent less"
            document.problem((model,), words)
            continue
        document.fitted(ModelSection, (model,), section)
        vendors = section.get("vendors") if isinstance(section, dict) else None
        baseline: KeyPath | None = None
        labels: dict[str, KeyPath] = {}
        for place, each in enumerate(vendors if isinstance(vendors, list) else []):
            path = (model, "vendors", place)
            if (entry := document.fitted(VendorEntry, path, each)) is None:
                continue
            found.append(Written(path, model, entry))
            if entry.is_baseline and baseline:
                words = f"a second baseline; the first is on line {lines.get(baseline)}. Keep one of them"
                document.problem((*path, "is_baseline"), words)
            elif entry.is_baseline:
                baseline = (*path, "is_baseline")
            first = labels.setdefault(entry.shown_as, path)
            if first != path:
                where = f" on line {lines[first]}" if first in lines else ""
                words = f"{shown(entry.shown_as)} already names the entry{where}; give one of them another name"
                document.problem((*path, "label") if entry.label else path, f"{words}{' (`label:`)' if where else ''}")
    return found


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
    document: Document
    requires_keys: bool
    secrets: set[str] = field(default_factory=set, repr=False)
    _missing: dict[str, list[KeyPath]] = field(default_factory=dict)

    def read(self, written: Written) -> Entry | None:
        """The entry; None when something is wrong with it."""
        path, entry, model = written.path, written.entry, written.model
        settings = merge(_stated(self.defaults), _stated(entry))
        plugin = self.registry.vendor(entry.name)
        address = self._address(written, allow_http=bool(settings.get("allow_http")))
        model_id = entry.model_id or MODEL_IDS.get(model, {}).get(entry.name)
        if model_id is None:
            words = f"missing; no id of {shown(model)} at {shown(entry.name)} is known: ask the vendor and add it"
            self.document.problem((*path, "model_id"), words)
        if address is None or model_id is None:
            return None
        pinned = {"only": [entry.provider], "allow_fallbacks": False, "require_parameters": True}
        body = merge({"provider": pinned} if entry.provider else {}, settings.get("extra_body", {}))
        # A setting from the command line must not be undone by the same setting in the config's extra_body.
        body = {name: value for name, value in body.items() if name not in self.overrides}
        body = merge(body, self.overrides.get("extra_body", {}))
        stated = {**settings, **self.overrides}
        templates = _headers(("defaults",), self.defaults) | _headers(path, entry)
        asks_key = not address.url.startswith("sim:")
        needs_key = asks_key and (entry.key_variable is not None or not address.local)
        key_name = entry.key_variable or plugin.key_name or entry.name
        key = self._value(key_name, path, is_needed=needs_key, is_key=True) if asks_key else None
        # Without a key there is no account to share, so each address is an account of its own.
        account = f"{address.origin if key else address.url}\0{key or ''}"
        return Entry(
            model=model,
            label=entry.shown_as,
            vendor=entry.name,
            endpoint=Endpoint(address.url, model_id, key=key, headers=self._values_of(templates), body=body),
            wire=settings.get("validator") or plugin.wire.name,
            # Equal for equal accounts, and the key cannot be read from it.
            account=hashlib.sha256(account.encode()).hexdigest()[:12],
            is_baseline=bool(entry.is_baseline),
            provider=entry.provider,
            key_name=key_name if key is not None or needs_key else None,
            parameters={name: stated[name] for name in ("temperature", "max_tokens") if name in stated},
            concurrency=settings.get("concurrency"),
            price=self._price(path, settings.get("price")),
            requests_per_minute=settings.get("rpm"),
            tokens_per_minute=settings.get("tpm"),
            header_templates={name: text for name, (_, text) in templates.items() if references(text)},
            is_local=address.local,
        )

    def _price(self, path: KeyPath, given: Mapping[str, Any] | None) -> Price | None:
        """The price; a price per request alone makes tokens free."""
        if given is None:
            return None
        currency = given.get("currency", "USD")
        if currency != "USD" and "rate" not in given:
            self.document.problem((*path, "price"), f"is in {currency}; add `rate:`, US dollars for one {currency}")
        if ("input" in given) != ("output" in given) or not {"input", "request"} & given.keys():
            words = "needs both `input` and `output` per million tokens, or `request`"
            self.document.problem((*path, "price"), words)
        return Price(**{"input": 0.0, "output": 0.0, **given})

    def report_missing(self) -> None:
        """One problem for each variable without a value, at the first entry that needs it."""
        for name, paths in self._missing.items():
            state = f"no value for `{printable(name)}`{nearest(name, self.variables.file_names)}"
            if name in self.variables.placeholders:
                state = f"`{printable(name)}` is empty or holds only a placeholder"
            how = f"set it in {self.variables.env_file} as `{printable(name)}=<the key>`, or in the environment"
            others = f" ({len(paths)} entries need it)" if len(paths) > 1 else ""
            unread = "".join(f" ({each})" for each in self.variables.unread[:1])
            self.document.problem(paths[0], f"{state}; {how}{others}{unread}")

    def _address(self, written: Written, *, allow_http: bool) -> Address | None:
        """The address of the entry, else its vendor's own; None when it is refused.

        A known vendor's key goes to its own host, to this machine, or where the entry names the key to send.
        """
        entry, path = written.entry, (*written.path, "url")
        home = self.registry.vendor(entry.name).base_url
        url = entry.url or home
        if url is None:
            near = nearest(entry.name, self.registry.vendors)
            is_known = entry.name in self.registry.vendors
            reason = "its address is not public" if is_known else f"not a known vendor{near}"
            self.document.problem(written.path, f"no url for {shown(entry.name)}: {reason}; add `url: https://…`")
            return None
        try:
            address, own = read_address(url), read_address(home or url).host
        except ValueError as error:
            # The url of an entry is checked by now.
            self.document.problem(written.path, f"the base_url of the plugin {shown(entry.name)}: {error}")
            return None
        if address.origin.startswith("http:") and not address.local and not allow_http:
            words = "plain http sends the key unencrypted; use https://, or set `allow_http: true`"
            self.document.problem(path, words)
            return None
        if entry.key_variable is None and not address.local and address.host != own:
            key_name = self.registry.vendor(entry.name).key_name or entry.name
            words = (
                f"the key `{key_name}` belongs to {own} and would be sent to {address.host}; "
                f"if that is meant, name the key to send there: `api_key_env: {key_name}`, or another variable"
            )
            self.document.problem(path, words)
        return address

    def _value(self, name: str, path: KeyPath, *, is_needed: bool = True, is_key: bool = False) -> str | None:
        """The value of a variable, which is a secret; None without one, or where it cannot be in a header."""
        value = self.variables.values.get(name)
        if value is None:
            if is_needed and self.requires_keys:
                self._missing.setdefault(name, []).append(path)
        elif not value.isascii() or not value.isprintable() or (is_key and " " in value):
            words = "cannot be sent: it holds a space, a line break or a non-ASCII character"
            self.document.problem(path, f"the value of `{printable(name)}` {words}")
        else:
            if len(value) < LEAST_SECRET:
                words = f"has fewer than {LEAST_SECRET} characters, so it is not removed from what vendors answer"
                self.document.warn(path, f"the value of `{printable(name)}` {words}")
            self.secrets.add(value)
            return value
        return None

    def _values_of(self, headers: Mapping[str, tuple[KeyPath, str]]) -> dict[str, str]:
        """The headers with their variables filled in; those with a missing variable are left out."""
        found: dict[str, str] = {}
        for name, (path, text) in headers.items():
            needed = references(text)
            values = {each: value for each in needed if (value := self._value(each, path)) is not None}
            if values.keys() == set(needed):
                found[name] = expand(text, values)
                self.secrets |= {found[name]} if values else set()
        return found


def refuse_literal_secrets(value: Any, document: Document, path: KeyPath = ()) -> None:
    """Refuse keys anywhere but in ``api_key`` and ``api_key_env``, whose own rules refuse them, and variables anywhere
    but there and in ``extra_headers``."""
    if isinstance(value, (dict, list)):
        for step, each in value.items() if isinstance(value, dict) else enumerate(value):
            refuse_literal_secrets(each, document, (*path, step))
        return
    setting = path[1:] if path[:1] == ("defaults",) else path[3:]
    if not isinstance(value, str) or setting[:1] in (("api_key",), ("api_key_env",)):
        return
    is_header = setting[:1] == ("extra_headers",)
    if references(value) and not is_header:
        words = "a variable is not filled in here, only in `api_key` and `extra_headers`; write its value"
        document.problem(path, words)
    name = str(path[-1]) if path else ""
    is_secret = has_known_form(value) or (looks_secret(value) and (is_header or names_a_secret(name)))
    # In a body, `bos_token` and the like are settings.
    if is_header or ("extra_body" in path and not name.endswith("token")):
        is_secret |= names_a_secret(name) and not references(value) and not is_placeholder(value)
    if is_secret:
        read = described(value, (*path, "api_key"))
        words = f"looks like a key (read {read}); keys belong in .env, never in this file"
        document.problem(path, f"{words}; a header may hold `${{NAME}}`")


def _stated(source: Settings) -> dict[str, Any]:
    """The stated settings, by name; ``extra_body`` keeps its nulls."""
    return {
        name: value.model_dump(exclude_none=True) if name == "price" else value
        for name in Settings.model_fields
        if (value := getattr(source, name)) is not None
    }


def _headers(path: KeyPath, settings: Settings) -> dict[str, tuple[KeyPath, str]]:
    """Header name in lower case → (its place in the file, its text with references)."""
    headers = settings.extra_headers or {}
    return {name.lower(): ((*path, "extra_headers", name), text) for name, text in headers.items()}


def unmatched(flag: str, words: Sequence[str], present: Sequence[str]) -> list[Problem]:
    """A problem for each word of ``flag`` that is not present."""
    problems = []
    for word in words:
        hint = nearest(word, present)
        if "," in word:
            hint = "; repeat the flag for several: " + " ".join(f"{flag} {each.strip()}" for each in word.split(","))
        if word not in present:
            problems.append(Problem(f"{shown(word)} matches nothing{hint}; there is {listed(present)}", key=flag))
    return problems


def with_baselines(
    entries: Sequence[Entry], written: Sequence[Written], stated: str | None, document: Document
) -> tuple[Entry, ...]:
    """The entries with a baseline for each model: the ``stated`` label or vendor, else the marked one, else the maker.

    A model left without one is warned about.
    """
    named = [entry for entry in entries if entry.label == stated] or [e for e in entries if e.vendor == stated]
    if stated is not None and not named:
        models = {entry.model for entry in entries}
        present = [each.entry.shown_as for each in written if each.model in models]
        raise ConfigError(unmatched("--baseline", [stated], present))
    marked = {each.model: each.entry.shown_as for each in written if each.entry.is_baseline}
    chosen: list[Entry] = []
    for model in dict.fromkeys(entry.model for entry in entries):
        own = [entry for entry in entries if entry.model == model]
        found = [entry for entry in own if entry.is_baseline]
        missing = f"--vendor leaves out the baseline {shown(marked.get(model, ''))}; name it with --baseline to keep it"
        if stated is not None:
            found = [entry for entry in named if entry.model == model]
            missing = f"{shown(stated)} is not among its vendors"
            if len(found) > 1:
                labels = listed(each.label for each in found)
                words = f"{shown(stated)} fits {labels} of {model}; name one of these labels"
                raise ConfigError([Problem(words, key="--baseline")])
        elif model not in marked:
            found, missing = (
                _default_baseline(model, own),
                "no baseline: name one with --baseline, or mark it in the file",
            )
        chosen += found
        if not found:
            document.warn((model,), f"{missing}; {NO_F1}")
    return tuple(structs.replace(entry, is_baseline=entry in chosen) for entry in entries)


def _default_baseline(model: str, entries: Sequence[Entry]) -> list[Entry]:
    """The entry, if any, that is the model's own maker: its vendor first, then the maker pinned behind a router."""
    makers, slugs = makers_of(model)
    direct = {entry.vendor.casefold(): entry for entry in reversed(entries) if entry.provider is None}
    pinned = {entry.provider.casefold().split("/")[0]: entry for entry in reversed(entries) if entry.provider}
    found = [*map(direct.get, makers), *map(pinned.get, slugs)]
    return [entry for entry in found if entry is not None][:1]
