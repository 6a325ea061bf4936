"""Files of older tools as ours: literal keys moved to .env, and a configuration of mcpbr. No file is touched."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

import yaml

from vendor_verifier.config.env_file import parse_env
from vendor_verifier.config.model_names import MODEL_IDS
from vendor_verifier.config.secret_text import has_known_form, is_placeholder
from vendor_verifier.config.yaml_source import compose
from vendor_verifier.suites import SUITES

_USABLE_NAME = re.compile(r"[A-Za-z0-9_.-]+")


class NotMovable(Exception):
    """The text cannot be changed without changing more than its keys."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The new texts, the (line, variable) of each key that moved, and the lines that still seem to hold a key."""

    config: str = field(repr=False)
    env: str = field(repr=False)
    keys: tuple[tuple[int, str], ...] = ()
    lines: tuple[int, ...] = ()


def move_keys(config: str, env: str, name_of: Callable[[str], str]) -> Moved:
    """Both texts with every literal ``api_key`` of ``config`` in ``env``; ``name_of`` a vendor is its usual variable.

    The config changes at its keys only. A variable of ``env`` that holds another key keeps it: the key of the config
    then gets a name of its own.

    Raises:
        SourceError: ``config`` is not YAML.
        NotMovable: a text would not say the same afterwards.
    """
    held = {name: value.strip() for name, value in parse_env(env)[0].items() if not is_placeholder(value)}
    known = dict(held)
    keys: list[tuple[int, str]] = []
    made, at = "", 0
    for node, vendor in _literals(config):
        usual, key = _variable(name_of(vendor)), str(node.value).strip()
        names = chain([usual], (f"{usual}_{number}" for number in count(2)))
        name = next(name for name in names if known.get(name, key) == key)
        known[name] = key
        keys.append((node.start_mark.line + 1, name))
        # A block of several lines ends with the line's end, which stays.
        written = config[node.start_mark.index : node.end_mark.index]
        blank = written[len(written.rstrip()) :]
        made += config[at : node.start_mark.index] + json.dumps(f"${{{name}}}", ensure_ascii=False) + blank
        at = node.end_mark.index
    made += config[at:]
    added = {name: value for name, value in known.items() if name not in held}
    new_env = env if not added or not env or env.endswith("\n") else env + "\n"
    for name, value in added.items():
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        new_env += f"{name}='{escaped}'\n"
    if _literals(made) or parse_env(new_env)[0] != {**parse_env(env)[0], **added}:
        raise NotMovable
    left = (at for at, line in enumerate(made.splitlines(), 1) if has_known_form(line))
    return Moved(made, new_env, tuple(keys), tuple(left))


def _literals(text: str) -> list[tuple[yaml.ScalarNode, str]]:
    """Every ``api_key`` that is a key itself, in the order of the text, with the ``name`` next to it."""
    found: dict[int, tuple[yaml.ScalarNode, str]] = {}
    root = compose(text)
    pending, seen = [] if root is None else [root], set[int]()
    while pending:
        node = pending.pop()
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
            continue
        name = next((str(value.value) for key, value in node.value if key.value == "name"), "key")
        for key, value in node.value:
            pending.append(value)
            if key.value != "api_key" or not isinstance(value, yaml.ScalarNode):
                continue
            stated = str(value.value).strip()
            if stated and not stated.startswith("$") and not is_placeholder(stated):
                found[value.start_mark.index] = value, name
    return [found[index] for index in sorted(found)]


def _variable(name: str) -> str:
    return name if _USABLE_NAME.fullmatch(name) else re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "key"


# What an evaluation takes under the same name.
_MCPBR_OPTIONS = (
    "sample_size", "timeout_seconds", "filter_difficulty", "filter_category", "filter_tags", "agent_prompt",
    "max_iterations",
)  # fmt: skip


def is_of_mcpbr(content: Any) -> bool:
    """Whether a file names a benchmark, a server or options of one, where ours names models."""
    keys = ("benchmark", "mcp_server", *_MCPBR_OPTIONS)
    return isinstance(content, Mapping) and any(key in content and not _is_model(content[key]) for key in keys)


def suite_of(content: Mapping[str, Any]) -> str:
    """The evaluation that such a file asks for; toolbench where it names none of ours."""
    stated = content.get("benchmark")
    return str(stated) if stated in [kind.name for kind in SUITES] else "toolbench"


def suites_section(content: Mapping[str, Any]) -> str:
    """The options of such a file as our ``suites:`` section; empty where it has none."""
    options = {key: content[key] for key in _MCPBR_OPTIONS if key in content}
    if not options:
        return ""
    return str(yaml.safe_dump({"suites": {suite_of(content): options}}, sort_keys=False, allow_unicode=True))


def known_model(content: Mapping[str, Any]) -> str | None:
    """Our name of the model that such a file asks: ``sonnet``, our own name, or a vendor's id, dated or not."""
    asked = str(content.get("model") or "").casefold()
    found = [
        name
        for name, ids in MODEL_IDS.items()
        if asked and (asked in name.split("-") or asked == name or any(asked.startswith(id_) for id_ in ids.values()))
    ]
    return found[-1] if found else None


def left_out(content: Mapping[str, Any]) -> list[str]:
    """The keys of such a file that have no place in ours."""
    known = {"benchmark", "model", "provider", *_MCPBR_OPTIONS}
    rest = [key for key, value in content.items() if key not in known and not _is_model(value)]
    return rest if content.get("benchmark") in (None, suite_of(content)) else ["benchmark", *rest]


def _is_model(value: object) -> bool:
    return isinstance(value, Mapping) and "vendors" in value
