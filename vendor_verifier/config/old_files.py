"""Files of other tools: literal keys of a configuration of 0.1.0 moved to .env, and a configuration of mcpbr."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

import yaml

from vendor_verifier.config.document import compose, parse_env, refusal
from vendor_verifier.config.entries import MODEL_IDS
from vendor_verifier.config.secret_text import has_known_form, is_placeholder
from vendor_verifier.suites import TRIGGER, suite_kind


@dataclass(frozen=True, slots=True)
class Moved:
    """The new texts, the (line, variable) of each key that moved, and the lines that still seem to hold a key."""

    config: str = field(repr=False)
    env: str = field(repr=False)
    keys: tuple[tuple[int, str], ...]
    lines: tuple[int, ...]


def move_keys(file: Path, config: str, env: str, name_of: Callable[[str], str]) -> Moved:
    """Both texts with every literal ``api_key`` of ``config`` in ``env``; ``name_of`` a vendor is its usual variable.

    A variable of ``env`` that holds another key keeps it: the key of the config then gets a name of its own.

    Raises:
        ConfigError: ``config`` is not YAML, or a text would not say the same afterwards.
    """
    held = {name: value.strip() for name, value in parse_env(env)[0].items() if not is_placeholder(value)}
    known = dict(held)
    keys: list[tuple[int, str]] = []
    made, at = "", 0
    for node, vendor in _literals(config, file):
        usual, key = re.sub(r"[^\w.-]+", "_", name_of(vendor), flags=re.ASCII).strip("_") or "key", node.value.strip()
        names = chain([usual], (f"{usual}_{number}" for number in count(2)))
        name = next(name for name in names if known.get(name, key) == key)
        known[name] = key
        keys.append((node.start_mark.line + 1, name))
        # A block of several lines ends with the line's end, which stays.
        written = config[node.start_mark.index : node.end_mark.index]
        blank = written[len(written.rstrip()) :]
        made += config[at : node.start_mark.index] + json.dumps(f"${{{name}}}") + blank
        at = node.end_mark.index
    made += config[at:]
    added = {name: value for name, value in known.items() if name not in held}
    new_env = env if not added or not env or env.endswith("\n") else env + "\n"
    for name, value in added.items():
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        new_env += f"{name}='{escaped}'\n"
    if _literals(made, file) or parse_env(new_env)[0] != {**parse_env(env)[0], **added}:
        raise refusal(file, "moving its keys would change other text, too; write `NAME=<the key>` in .env yourself")
    left = (at for at, line in enumerate(made.splitlines(), 1) if has_known_form(line))
    return Moved(made, new_env, tuple(keys), tuple(left))


def _literals(text: str, file: Path) -> list[tuple[yaml.ScalarNode, str]]:
    """Every ``api_key`` of a vendor that is a key itself, in the order of the text, with the vendor's name."""
    found: dict[int, tuple[yaml.ScalarNode, str]] = {}
    for section in _fields(compose(text, file)).values():
        vendors = _fields(section).get("vendors")
        for entry in vendors.value if isinstance(vendors, yaml.SequenceNode) else ():
            key, name = _fields(entry).get("api_key"), _fields(entry).get("name")
            if not isinstance(key, yaml.ScalarNode) or is_placeholder(key.value) or key.value.strip().startswith("$"):
                continue
            found[key.start_mark.index] = key, str(name.value) if name else "key"
    return [found[index] for index in sorted(found)]


def _fields(node: yaml.Node | None) -> dict[str, Any]:
    """The nodes of a mapping by key; an aliased mapping is the same node again."""
    return {str(key.value): value for key, value in node.value} if isinstance(node, yaml.MappingNode) else {}


# Options of mcpbr that an evaluation takes under the same name.
_CARRIED = (
    "sample_size", "timeout_seconds", "filter_difficulty", "filter_category", "filter_tags", "agent_prompt",
    "max_iterations",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class McpbrFile:
    """What a configuration of mcpbr asks for. ``model`` is our name of its model, ``options`` are our ``suites:``
    section, empty without any, and ``left_out`` the keys without use."""

    suite: str
    model: str | None
    options: str
    left_out: tuple[str, ...]


def read_mcpbr(content: Mapping[str, Any]) -> McpbrFile:
    """What a configuration of mcpbr asks for."""
    benchmark = content.get("benchmark")
    suite = str(benchmark) if benchmark != TRIGGER and suite_kind(str(benchmark)) else "toolbench"
    asked = str(content.get("model") or "").casefold()
    # "sonnet", our own name, or a vendor's id, dated or not.
    models = [
        name
        for name, ids in MODEL_IDS.items()
        if asked and (asked in (*name.split("-"), name.rpartition("-")[0]) or asked.startswith((name, *ids.values())))
    ]
    options = {key: content[key] for key in _CARRIED if key in content}
    left_out = tuple(key for key in content if key not in {"benchmark", "model", "provider", *options})
    section = yaml.safe_dump({"suites": {suite: options}}, sort_keys=False, allow_unicode=True) if options else ""
    return McpbrFile(suite, models[-1] if models else None, section, left_out)
