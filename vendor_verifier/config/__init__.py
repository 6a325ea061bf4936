"""config.yaml and .env into entries, with messages that name file, line and key; nothing is sent or exported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import structs

from vendor_verifier.config.entries import OWN_BODY_KEYS, Draft, build_entries, describe, read_drafts
from vendor_verifier.config.env_file import has_known_form, read_environment, read_limited, read_variables, shown
from vendor_verifier.config.gates import (
    NO_F1,
    StatedGate,
    all_gates,
    conditions,
    default_baseline,
    is_absent,
)
from vendor_verifier.config.mcpbr import in_our_words, is_of_mcpbr
from vendor_verifier.config.model_names import known_models
from vendor_verifier.config.problems import Findings, key_text, listed, nearest
from vendor_verifier.config.schema import RESERVED, Settings, check_overrides, check_shape, describe_node
from vendor_verifier.config.yaml_tree import SourceError, Table, find, line_of, parse, plain
from vendor_verifier.errors import ConfigError, Problem
from vendor_verifier.records.plan import Entry
from vendor_verifier.registry import Registry

_HOW_TO_START = (
    "no such file. `agent-vendor-verifier init --model kimi-k2.5` writes one (`init --list` lists the names), "
    "config_example.yaml is one to copy, and `agent-vendor-verifier demo` needs none"
)
_OVERRIDES = ("temperature", "max_tokens", "extra_body")


@dataclass(frozen=True, slots=True)
class Configuration:
    """The content of a config file, ready to plan with.

    ``entries`` are in the order of the file. ``defaults`` are as written, already applied to the entries. ``secrets``
    holds every key and every header value with a variable in it, none of which may be written anywhere.
    """

    entries: tuple[Entry, ...]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    suites: Mapping[str, Any] = field(default_factory=dict)
    gates: tuple[StatedGate, ...] = ()
    slos: tuple[StatedGate, ...] = ()
    warnings: tuple[str, ...] = ()
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    suite_lines: Mapping[str, int] = field(default_factory=dict)


def load_config(
    config_path: Path,
    *,
    env_file: Path | None,
    environ: Mapping[str, str],
    registry: Registry,
    models: Sequence[str] = (),
    vendors: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    require_keys: bool = True,
    further: Callable[[Configuration], Iterable[Problem]] = lambda _stated: (),
) -> Configuration:
    """Read a configuration.

    ``models`` and ``vendors`` (a vendor's name or label) select entries before keys are looked up. ``overrides`` are
    ``temperature``, ``max_tokens`` and ``extra_body`` from the command line and win over the file. ``env_file`` None
    means ``.env`` beside the config, if there is one. ``further`` finds problems in what the file states beside its
    entries, to be told with theirs. Raises ConfigError with all problems, in the order of the file.
    """
    wanted = {name: value for name, value in (overrides or {}).items() if value is not None}
    findings, root = _open(config_path)
    defaults = _defaults(root, findings)
    suites, gates = _suites(root, findings), all_gates(root, findings)
    slos = tuple(conditions(root, ("slos",), None, findings))
    refused = _override_problems(wanted)
    findings.add(Problem(text, key="--" + name.replace("_", "-")) for name, text in refused.items())
    wanted = {name: value for name, value in wanted.items() if name not in refused}
    drafts = read_drafts(root, defaults, registry, findings)
    selected = _select(drafts, root, models, vendors, findings)
    variables = read_variables(config_path, env_file, environ)
    findings.add(variables.problems)
    findings.warnings += variables.warnings
    keyed = build_entries(selected, variables, wanted, findings, require_keys=require_keys)
    suite_lines = _suite_lines(root)
    findings.add(further(Configuration((), suites=suites, gates=gates, slos=slos, suite_lines=suite_lines)))
    findings.stop_on_problems()
    entries = _with_baselines(keyed.entries, drafts, findings)
    _warn(selected, findings)
    written = plain(root.items["defaults"]) if "defaults" in root.items else {}
    return Configuration(
        entries, written or {}, suites, gates, slos, tuple(findings.warnings), keyed.secrets,
        suite_lines,
    )  # fmt: skip


def _open(path: Path) -> tuple[Findings, Table]:
    """The file as nodes, with what the YAML reader refused already among the findings."""
    try:
        root, flaws = parse(read_limited(path))
    except FileNotFoundError:
        raise ConfigError([Problem(_HOW_TO_START, file=path)]) from None
    except OSError as error:
        raise ConfigError([Problem(f"cannot be read: {error.strerror}", file=path)]) from None
    except SourceError as error:
        raise ConfigError([Problem(error.message, file=path, line=error.line)]) from None
    if isinstance(root, Table) and is_of_mcpbr(content := plain(root)):
        raise ConfigError([Problem(in_our_words(content, path.name), file=path)])
    findings = Findings(path, root)
    for flaw in flaws:
        findings.flaw(flaw)
    if not isinstance(root, Table):
        findings.problem((), f"read {describe_node(root, ())}; expected model names, each with `vendors:` under it")
        root = Table(1, {}, {})
    elif not set(root.items) - set(RESERVED):
        findings.problem((), "names no model; add one, as in config_example.yaml")
    return findings, root


def _defaults(root: Table, findings: Findings) -> Settings:
    if is_absent(root, "defaults"):
        return Settings()
    return check_shape(Settings, ("defaults",), findings)[0] or Settings()


def _suites(root: Table, findings: Findings) -> Mapping[str, Any]:
    if is_absent(root, "suites"):
        return {}
    node = root.items["suites"]
    if not isinstance(node, Table):
        findings.problem(
            ("suites",), f"read {describe_node(node, ('suites',))}; expected suite names with their settings"
        )
        return {}
    settings: dict[str, Any] = plain(node)
    return settings


def _suite_lines(root: Table) -> dict[str, int]:
    """The line of each suite and of each of its options, by the name that messages give it."""
    suites = root.items.get("suites")
    paths = [("suites", name) for name in (suites.items if isinstance(suites, Table) else ())]
    options = [(*path, key) for path in paths if isinstance(node := find(root, path), Table) for key in node.items]
    return {key_text(path): line_of(root, path) for path in (*paths, *options)}


def _override_problems(overrides: Mapping[str, Any]) -> dict[str, str]:
    unknown = set(overrides) - set(_OVERRIDES)
    if unknown:
        raise TypeError(f"not an override: {', '.join(sorted(unknown))}")
    messages = dict(check_overrides(overrides))
    body = overrides.get("extra_body")
    if isinstance(body, Mapping):
        if set(OWN_BODY_KEYS) & set(body):
            messages["extra_body"] = f"{listed(OWN_BODY_KEYS)} are the question itself and cannot be replaced"
        if has_known_form(str(body)):
            messages["extra_body"] = "holds what looks like a key; keys belong in .env"
    return messages


def _select(
    drafts: Sequence[Draft], root: Table, models: Sequence[str], vendors: Sequence[str], findings: Findings
) -> list[Draft]:
    """The drafts that both filters let through. A filter word that matches nothing is a mistake, never an empty run."""
    present = [name for name in root.items if name not in RESERVED]
    problems = _unmatched("--model", models, present)
    chosen = [draft for draft in drafts if not models or draft.entry.model in models]
    names = dict.fromkeys(name for draft in chosen for name in (draft.entry.vendor, draft.entry.label))
    if not problems and not findings.has_problems():
        problems = _unmatched("--vendor", vendors, names)
    findings.add(problems)
    return [draft for draft in chosen if not vendors or draft.entry.vendor in vendors or draft.entry.label in vendors]


def _unmatched(flag: str, words: Sequence[str], present: Iterable[str]) -> list[Problem]:
    names = list(present)
    return [
        Problem(f"{shown(word)} matches nothing{nearest(word, names)}; there is {listed(names)}", key=flag)
        for word in words
        if word not in names
    ]


def _with_baselines(entries: tuple[Entry, ...], drafts: Sequence[Draft], findings: Findings) -> tuple[Entry, ...]:
    """Entries with a default baseline where the file marks none; a model left without one is warned about."""
    chosen: list[Entry] = []
    for model in dict.fromkeys(entry.model for entry in entries):
        if any(draft.entry.is_baseline for draft in drafts if draft.entry.model == model):
            if not any(entry.is_baseline for entry in entries if entry.model == model):
                findings.warn((model,), f"the baseline is filtered out; {NO_F1}")
            continue
        maker = default_baseline(model, [entry for entry in entries if entry.model == model])
        if maker is None:
            findings.warn((model,), f"no baseline: mark one entry `is_baseline: true`, or {NO_F1}")
        else:
            chosen.append(maker)
    return tuple(structs.replace(entry, is_baseline=True) if entry in chosen else entry for entry in entries)


def _warn(selected: Sequence[Draft], findings: Findings) -> None:
    """Warn of settings that are allowed but measure something else than most people want."""
    for model in dict.fromkeys(draft.entry.model for draft in selected):
        if model not in known_models():
            hint = nearest(model, known_models()) or "; `agent-vendor-verifier init --list` lists them"
            findings.warn((model,), f"not a known unified model name{hint}")
    for draft in selected:
        router = draft.entry.vendor == "openrouter" or draft.address.host.endswith("openrouter.ai")
        routed = draft.entry.endpoint.body.get("provider")
        pinned = isinstance(routed, Mapping) and "only" in routed
        if router and not pinned:
            findings.warn(
                draft.path, "no `provider:` pins it, so the router and whom it picks is measured, not a vendor"
            )
        elif draft.entry.provider and not router:
            findings.warn((*draft.path, "provider"), "only OpenRouter is known to read this; it is sent as it is")


__all__ = ["Configuration", "describe", "load_config", "read_environment"]
