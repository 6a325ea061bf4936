"""Reads what a user states of a run, with messages that name file, line and key; nothing is sent or exported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vendor_verifier.config.document import Document, Variables, key_text, nearest, read_text, read_variables, read_yaml
from vendor_verifier.config.entries import (
    MODEL_IDS,
    EntryReader,
    Written,
    read_models,
    refuse_literal_secrets,
    unmatched,
    with_baselines,
)
from vendor_verifier.config.run_config import CONFIG, RunConfig, RunOptions
from vendor_verifier.config.schema import RESERVED, Settings, Top, read_address
from vendor_verifier.config.suite_options import SuiteOptions, stated_options
from vendor_verifier.errors import ConfigError, Problem, ProblemsError
from vendor_verifier.findings.gates import GateError, parse_gate, parse_slo
from vendor_verifier.records.manifest import ScoreRequest
from vendor_verifier.records.plan import Entry, LoadShape
from vendor_verifier.records.request import BUDGETS
from vendor_verifier.registry import Registry, find_vendors

_HOW_TO_START = (
    "no such file. `agent-vendor-verifier init --model kimi-k2.5` writes one (`init --list` lists the names), "
    "config_example.yaml is one to copy, and `agent-vendor-verifier demo` needs none"
)
_OF_MCPBR = (
    "this is a configuration of mcpbr; `agent-vendor-verifier init NEW --from {file}` writes one of ours into the "
    "folder NEW, and says how to run it"
)
_URL_EXAMPLE = "`--url novita=https://api.novita.ai/v3/openai --model MODEL`"


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a user states of a run, checked: a config file under the ``options`` of the command line.

    ``entries`` are in the order of the file. ``baseline_repeats`` is 1 where no answers are compared one by one.
    ``suites`` are the options of the run's evaluations, ``variables`` those of .env and the environment. ``secrets``
    holds every key and every header value with a variable in it; they must not be written anywhere.
    """

    entries: tuple[Entry, ...]
    options: RunOptions
    load: LoadShape
    baseline_repeats: int
    score: ScoreRequest
    suites: Mapping[str, SuiteOptions]
    registry: Registry
    warnings: tuple[str, ...]
    variables: Mapping[str, str] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


def load_config(
    options: RunOptions,
    environ: Mapping[str, str],
    *,
    registry: Registry | None = None,
    require_keys: bool = True,
) -> Configuration:
    """Read a configuration, with its `run:` section under the given ``options``.

    Their ``model`` and ``vendor`` (a vendor's name or label) select entries before keys are looked up. Without an
    ``env_file`` it is ``.env`` next to the config, if there is one. ``registry`` None means the vendors that ship and
    those of ``vendor_path``.

    Raises:
        ConfigError: all problems, in the order of the file.
    """
    options = options.with_set()
    variables = read_variables(options.config_file_path, options.env_file, environ)
    document = _document(options, variables)
    content = document.content if isinstance(document.content, dict) else {}
    refuse_literal_secrets(content, document)
    top = _top(content, document)
    written = read_models(content, document)
    options = options.over(top.run or RunConfig())
    selected = _select(written, [name for name in content if name not in RESERVED], options, document)
    load = _load_shape(options, document)
    suites: dict[str, SuiteOptions] = {}
    places = {key_text(path): document.place(path) for path in document.lines if path[:1] == ("suites",)}
    try:
        suites = stated_options(options.suites, top.suites or {}, options, places)
    except ProblemsError as error:
        document.problems += error.problems
    score = _score_request(content, options, document)
    registry = find_vendors(options.vendor_path) if registry is None else registry
    defaults = top.defaults or Settings()
    reader = EntryReader(registry, defaults, variables, options.overrides(), document, requires_keys=require_keys)
    found = [(each, entry) for each in selected if (entry := reader.read(each)) is not None]
    reader.report_missing()
    document.stop_on_problems()
    _warn(found, document)
    entries = with_baselines([entry for _, entry in found], written, options.baseline, document)
    compares = not load.is_timed and any(each.kind.compares for each in suites.values())
    document.warnings += _idle_settings(options, entries, suites, compares=compares)
    return Configuration(
        entries,
        options,
        load,
        options.baseline_repeats if compares else 1,
        score,
        suites,
        registry,
        tuple(document.warnings),
        variables.values,
        frozenset(reader.secrets),
    )


def _idle_settings(
    options: RunOptions, entries: Sequence[Entry], suites: Mapping[str, SuiteOptions], *, compares: bool
) -> list[str]:
    """A warning for each stated setting that has no effect in this run, because another setting is missing."""
    has_baseline = any(entry.is_baseline for entry in entries)
    is_limited = options.limit is not None or any(each.chosen.sample_size for each in suites.values())
    has_second_account = len({entry.account for entry in entries}) > 1
    asked_again = "the evaluation trigger in a run without a duration (repeat asks every vendor N times)"
    needs = (
        ("baseline_repeats", "a baseline", has_baseline),
        ("baseline_repeats", asked_again, compares),
        ("baseline_f1", "a baseline", has_baseline),
        ("head", "limit", is_limited or not options.head),
        ("workers", "a second account", options.workers == 1 or has_second_account),
    )
    stated = options.model_fields_set
    return [f"{name} has no effect without {need}" for name, need, is_met in needs if name in stated and not is_met]


def is_of_mcpbr(content: Any) -> bool:
    """Whether this is a configuration of mcpbr, which names a benchmark or a server."""
    if not isinstance(content, Mapping):
        return False
    server = content.get("mcp_server")
    return isinstance(content.get("benchmark"), str) or (isinstance(server, Mapping) and "vendors" not in server)


def _document(options: RunOptions, variables: Variables) -> Document:
    """The configuration file, or what ``--url`` gives in place of one."""
    if options.url:
        document = Document(Path("--url"), _content_of(options, variables.values))
    else:
        document = read_yaml(read_text(options.config_file_path, _HOW_TO_START), options.config_file_path)
    if is_of_mcpbr(document.content):
        raise ConfigError([Problem(_OF_MCPBR.format(file=document.file.name), document.file)])
    if not isinstance(document.content, dict):
        document.problem((), "expected model names, each with `vendors:` under it")
    elif not set(document.content) - set(RESERVED):
        document.problem((), "names no model; add one, as in config_example.yaml")
    document.warnings += variables.warnings
    return document


def _top(content: Mapping[str, Any], document: Document) -> Top:
    """The sections that are not models; what is wrong in them is left out, so that a mistake hides no others."""
    right: dict[str, Any] = {}
    for section in (name for name in RESERVED if name in content):
        stated = content[section]
        if section in ("run", "defaults") and isinstance(stated, dict):
            fits = {key: document.fitted(Top, (), {section: {key: value}}) for key, value in stated.items()}
            stated = {key: value for key, value in stated.items() if fits[key] is not None}
        if document.fitted(Top, (), {section: stated}) is not None:
            right[section] = stated
    return Top.model_validate(right)


def _load_shape(options: RunOptions, document: Document) -> LoadShape:
    """The requested load; what contradicts it is a problem."""
    if options.arrival is not None and options.request_rate is None:
        words = "has no effect without a rate; add --request-rate, or leave it out"
        document.problems.append(Problem(words, key="run.arrival"))
    if options.duration is not None and options.repeat != 1:
        words = "decides how often samples are asked; leave out --repeat"
        document.problems.append(Problem(words, key="--duration"))
    if options.duration is not None and options.incremental:
        words = "a run with a duration cannot be resumed; start a new one"
        document.problems.append(Problem(words, key="--duration"))
    return LoadShape(
        request_rate=options.request_rate,
        arrival=options.arrival or "constant",
        ramp_up_s=options.ramp_up,
        warmup=options.warmup,
        duration_s=options.duration,
    )


def _score_request(content: Mapping[str, Any], options: RunOptions, document: Document) -> ScoreRequest:
    """The settings of scoring: the gates and SLOs of the file, those of a model, then those of the flags."""

    def in_file(section: Any, *path: str) -> list[tuple[Any, Problem]]:
        stated = section.get(path[-1]) if isinstance(section, Mapping) else None
        texts = stated if isinstance(stated, list) else []
        return [(text, document.place((*path, at))) for at, text in enumerate(texts)]

    def checked(read: Callable[[str], object], stated: Iterable[tuple[Any, Problem]]) -> tuple[str, ...]:
        """The conditions; one that cannot be read is a problem in its place."""
        found = [(text, place) for text, place in stated if isinstance(text, str)]
        for text, place in found:
            try:
                read(text)
            except GateError as error:
                document.problems.append(replace(place, message=str(error)))
        return tuple(text for text, _ in found)

    gate = partial(parse_gate, suites=options.suites)
    everybody = checked(gate, in_file(content, "gates"))
    own = {model: checked(gate, in_file(section, model, "gates")) for model, section in content.items()}
    flags = checked(gate, [(text, Problem("", key="--gate")) for text in options.gate])
    slos = [*in_file(content, "slos"), *((text, Problem("", key="--slo")) for text in options.slo)]
    return ScoreRequest(
        options.undecided,
        options.schema_policy,
        options.rank_metric,
        (*everybody, *flags),
        options.baseline_f1,
        model_gates={model: (*everybody, *gates, *flags) for model, gates in own.items() if gates},
        slos=checked(parse_slo, slos),
    )


def _content_of(options: RunOptions, variables: Mapping[str, str]) -> dict[str, Any]:
    """The content of a configuration with the vendors of ``--url`` and one model; the first is the baseline."""
    problems = [
        Problem(f"read {text!r}; expected NAME=URL, as in {_URL_EXAMPLE}", key="--url")
        for text in options.url
        if not all(text.partition("="))
    ]
    if options.config_file_path != CONFIG:
        problems.append(Problem("--url gives the vendors; leave out one of them", key="--config-file-path"))
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
    """The entries that both filters and ``--baseline`` name; a filter word that matches nothing is a problem."""
    chosen = [each for each in written if not options.model or each.model in options.model]
    names = dict.fromkeys(name for each in chosen for name in (each.entry.name, each.entry.shown_as))
    problems = unmatched("--model", options.model, present)
    if not problems and not document.problems:
        problems = unmatched("--vendor", options.vendor, list(names))
    document.problems += problems
    named = {*options.vendor, options.baseline}
    return [each for each in chosen if not options.vendor or {each.entry.name, each.entry.shown_as} & named]


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
            words = "without `provider:` this measures the router and whatever it picks, not one vendor"
            document.warn(written.path, words)
        if entry.provider and not is_router:
            document.warn((*written.path, "provider"), "is a setting of OpenRouter, which this host may refuse")
        for name in entry.parameters:
            if entry.endpoint.body.keys() & {name, *(BUDGETS if name in BUDGETS else ())}:
                document.warn((*written.path, name), "has no effect, because `extra_body` sets it, too")
