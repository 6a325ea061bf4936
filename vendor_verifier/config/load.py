"""config.yaml and .env into entries, with messages that name file, line and key; nothing is sent or exported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs

from vendor_verifier.config.document import Document, key_text, listed, nearest, read_text, read_yaml
from vendor_verifier.config.entries import EntryReader, Written, read_models, refuse_literal_secrets
from vendor_verifier.config.env_file import read_variables
from vendor_verifier.config.model_names import MODEL_IDS, series_of
from vendor_verifier.config.run_config import RunConfig, RunOptions, without_effect
from vendor_verifier.config.schema import RESERVED, Settings, Top, read_address
from vendor_verifier.config.secret_text import shown
from vendor_verifier.errors import ConfigError, Problem
from vendor_verifier.records.plan import Entry
from vendor_verifier.registry import Registry, find_vendors

_HOW_TO_START = (
    "no such file. `agent-vendor-verifier init --model kimi-k2.5` writes one (`init --list` lists the names), "
    "config_example.yaml is one to copy, and `agent-vendor-verifier demo` needs none"
)
_OF_MCPBR = (
    "this is a configuration of mcpbr; `agent-vendor-verifier init NEW --from {file}` writes one of ours into the "
    "folder NEW, and says how to run it"
)
# The end of a warning that only matters when vendors are compared with each other.
NO_F1 = "F1 will not be measured"
_URL_EXAMPLE = "`--url novita=https://api.novita.ai/v3/openai --model MODEL`"


# A gate or SLO as the file writes it, and its place, a problem without a message. What the words mean is read later.
Condition = tuple[str, Problem]


@dataclass(frozen=True, slots=True)
class Configuration:
    """The content of a config file, ready to plan with.

    ``entries`` are in the order of the file, with the ``defaults``. ``gates`` are by model, under None those of all.
    ``variables`` are those of .env and the environment. ``secrets`` holds every key and every header value with a
    variable in it; they must not be written anywhere.
    """

    entries: tuple[Entry, ...]
    defaults: Settings = field(default_factory=Settings)
    suites: Mapping[str, Any] = field(default_factory=dict)
    gates: Mapping[str | None, Sequence[Condition]] = field(default_factory=dict)
    slos: Sequence[Condition] = ()
    warnings: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    suite_places: Mapping[str, Problem] = field(default_factory=dict)
    options: RunOptions = field(default_factory=RunOptions)
    registry: Registry = field(default_factory=lambda: Registry({}, ()))


def load_config(
    options: RunOptions,
    environ: Mapping[str, str],
    *,
    registry: Registry | None = None,
    require_keys: bool = True,
    further: Callable[[Configuration], Iterable[Problem]] = lambda _stated: (),
) -> Configuration:
    """Read a configuration, with its `run:` section under the given ``options``.

    Their ``model`` and ``vendor`` (a vendor's name or label) select entries before keys are looked up. Without an
    ``env_file`` it is ``.env`` next to the config, if there is one. ``registry`` None means the vendors that ship and
    those of ``vendor_path``. ``further`` finds problems in what the file states besides its entries, to be reported
    with theirs.

    Raises:
        ConfigError: all problems, in the order of the file.
    """
    options = options.with_set()
    variables = read_variables(options.config_file_path, options.env_file, environ)
    if not options.url:
        document = read_yaml(read_text(options.config_file_path, _HOW_TO_START), options.config_file_path)
        if is_of_mcpbr(document.content):
            raise ConfigError([Problem(_OF_MCPBR.format(file=document.file.name), document.file)])
    else:
        document = Document(Path("--url"), _content_of(options, variables.values))
    document.warnings += variables.warnings
    content = document.content if isinstance(document.content, dict) else {}
    configuration = replace(_besides_entries(content, options, registry, document), variables=variables.values)
    options = configuration.options
    written = read_models(content, document)
    selected = _select(written, [name for name in content if name not in RESERVED], options, document)
    reader = EntryReader(
        configuration.registry,
        configuration.defaults,
        variables,
        options.overrides(),
        document,
        requires_keys=require_keys,
    )
    found = [(each, reader.read(each, selected=each in selected)) for each in written]
    reader.report_missing()
    document.stop_on_problems(*further(configuration))
    usable = [(each, entry) for each, entry in found if entry is not None and each in selected]
    entries = _with_baselines([entry for _, entry in usable], written, options.baseline, document)
    _warn(usable, document)
    baselines = ["a baseline" for entry in entries if entry.is_baseline]
    document.warnings += without_effect([*options.model_fields_set, *baselines])
    return replace(configuration, entries=entries, warnings=tuple(document.warnings), secrets=frozenset(reader.secrets))


def is_of_mcpbr(content: Any) -> bool:
    """Whether this is a configuration of mcpbr, which names a benchmark or a server."""
    if not isinstance(content, Mapping):
        return False
    server = content.get("mcp_server")
    return isinstance(content.get("benchmark"), str) or (isinstance(server, Mapping) and "vendors" not in server)


def _besides_entries(
    content: Mapping[str, Any], options: RunOptions, registry: Registry | None, document: Document
) -> Configuration:
    """What the reserved keys state."""
    if not isinstance(document.content, dict):
        document.problem((), "expected model names, each with `vendors:` under it")
    elif not set(content) - set(RESERVED):
        document.problem((), "names no model; add one, as in config_example.yaml")
    refuse_literal_secrets(content, document)
    parts: dict[str, Any] = {}
    for key in RESERVED:
        if key in content and (part := document.fitted(Top, (), {key: content[key]})) is not None:
            parts[key] = getattr(part, key)
    if "run" in content and "run" not in parts:
        # Without its settings the rest of the file would seem wrong, too.
        document.stop_on_problems()
    options = options.over(parts.get("run") or RunConfig())

    def conditions(section: Any, *path: str) -> list[Condition]:
        stated = section.get(path[-1]) if isinstance(section, Mapping) else None
        texts = enumerate(stated if isinstance(stated, list) else ())
        return [(text, document.place((*path, at))) for at, text in texts if isinstance(text, str)]

    of_models = {model: conditions(section, model, "gates") for model, section in content.items()}
    return Configuration(
        (),
        defaults=parts.get("defaults") or Settings(),
        suites=parts.get("suites") or {},
        gates={None: conditions(content, "gates"), **{model: gates for model, gates in of_models.items() if gates}},
        slos=conditions(content, "slos"),
        suite_places={key_text(path): document.place(path) for path in document.lines if path[:1] == ("suites",)},
        options=options,
        registry=find_vendors(options.vendor_path) if registry is None else registry,
    )


def _content_of(options: RunOptions, variables: Mapping[str, str]) -> dict[str, Any]:
    """The content of a configuration with the vendors of ``--url`` and one model; the first is the baseline."""
    problems = [
        Problem(f"read {text!r}; expected NAME=URL, as in {_URL_EXAMPLE}", key="--url")
        for text in options.url
        if not all(text.partition("="))
    ]
    if options.config_file_path != Path("config.yaml"):
        problems.append(Problem("--url gives the vendors; leave out one of the two", key="--config-file-path"))
    if len(options.model) != 1:
        problems.append(Problem(f"name the one model that all of them serve, as in {_URL_EXAMPLE}", key="--model"))
    if problems:
        raise ConfigError(problems)
    model = options.model[0]
    vendors: list[dict[str, Any]] = []
    for text in options.url:
        name, _, url = text.partition("=")
        vendor = {"name": name, "url": url, "is_baseline": not vendors and options.baseline is None}
        if name not in MODEL_IDS.get(model, {}):
            vendor["model_id"] = model
        own_key = "".join(char if char.isalnum() else "_" for char in name).upper() + "_API_KEY"
        is_local = False
        with suppress(ValueError):  # which is a problem when the entry is read
            is_local = read_address(url).local
        if own_key in variables or not (is_local or name in variables):
            vendor["api_key_env"] = own_key
        vendors.append(vendor)
    return {model: {"vendors": vendors}}


def _select(
    written: Sequence[Written], present: Sequence[str], options: RunOptions, document: Document
) -> list[Written]:
    """The entries that both filters let through; a filter word that matches nothing is a problem."""
    chosen = [each for each in written if not options.model or each.model in options.model]
    names = dict.fromkeys(name for each in chosen for name in (each.entry.name, each.entry.shown_as))
    problems = _unmatched("--model", options.model, present)
    if not problems and not document.problems:
        problems = _unmatched("--vendor", options.vendor, list(names))
    document.problems |= dict.fromkeys(problems)
    return [each for each in chosen if not options.vendor or {each.entry.name, each.entry.shown_as} & {*options.vendor}]


def _unmatched(flag: str, words: Sequence[str], present: Sequence[str]) -> list[Problem]:
    problems = []
    for word in words:
        hint = nearest(word, present)
        if "," in word:
            hint = "; repeat the flag for several: " + " ".join(f"{flag} {each.strip()}" for each in word.split(","))
        if word not in present:
            problems.append(Problem(f"{shown(word)} matches nothing{hint}; there is {listed(present)}", key=flag))
    return problems


def _with_baselines(
    entries: Sequence[Entry], written: Sequence[Written], stated: str | None, document: Document
) -> tuple[Entry, ...]:
    """The entries with a baseline for each model: the ``stated`` label or vendor, else the marked one, else the maker.

    A model left without one is warned about.
    """
    named = [entry for entry in entries if entry.label == stated] or [e for e in entries if e.vendor == stated]
    if stated is not None and not named:
        document.stop_on_problems(*_unmatched("--baseline", [stated], [entry.label for entry in entries]))
    marked = {each.model for each in written if each.entry.is_baseline}
    chosen: list[Entry] = []
    for model in dict.fromkeys(entry.model for entry in entries):
        own = [entry for entry in entries if entry.model == model]
        found = [entry for entry in own if entry.is_baseline]
        missing = "the baseline is filtered out"
        if stated is not None:
            found = [entry for entry in named if entry.model == model]
            missing = f"{shown(stated)} is not among its vendors"
            if len(found) > 1:
                labels = listed(each.label for each in found)
                words = f"{shown(stated)} fits {labels} of {model}; name one of these labels"
                document.stop_on_problems(Problem(words, key="--baseline"))
        elif model not in marked:
            maker = _default_baseline(model, own)
            found, missing = [maker] if maker else [], "no baseline: mark one entry `is_baseline: true`"
        chosen += found
        if not found:
            document.warn((model,), f"{missing}; {NO_F1}")
    return tuple(structs.replace(entry, is_baseline=entry in chosen) for entry in entries)


def _default_baseline(model: str, entries: Sequence[Entry]) -> Entry | None:
    """The entry that is the model's own maker: its vendor first, then the maker pinned behind a router."""
    if (series := series_of(model)) is None:
        return None
    direct = {entry.vendor.casefold(): entry for entry in reversed(entries) if entry.provider is None}
    pinned = {entry.provider.casefold().split("/")[0]: entry for entry in reversed(entries) if entry.provider}
    found = [*map(direct.get, series.makers), *map(pinned.get, series.pins)]
    return next((entry for entry in found if entry is not None), None)


def _warn(entries: Sequence[tuple[Written, Entry]], document: Document) -> None:
    """Warn of settings that are allowed but measure something else than most people want."""
    for model in dict.fromkeys(entry.model for _, entry in entries):
        if model not in MODEL_IDS:
            hint = nearest(model, MODEL_IDS) or "; `agent-vendor-verifier init --list` lists them"
            document.warn((model,), f"not a known unified model name{hint}")
    for written, entry in entries:
        host = urlsplit(entry.endpoint.base_url).hostname or ""
        is_router = entry.vendor == "openrouter" or host.endswith("openrouter.ai")
        routed = entry.endpoint.body.get("provider")
        if is_router and not (isinstance(routed, Mapping) and "only" in routed):
            words = "no `provider:` pins it, so the router and whom it picks is measured, not a vendor"
            document.warn(written.path, words)
