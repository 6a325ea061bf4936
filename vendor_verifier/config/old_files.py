"""Files of older tools as ours: literal keys moved to .env, and a configuration of mcpbr. No file is touched.

Texts with keys are changed at the places of the keys and nowhere else, so that comments, order and quotes stay.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, Literal

import msgspec
import yaml

from vendor_verifier.config.env_file import has_known_form, is_placeholder, parse_env
from vendor_verifier.config.model_names import MODEL_IDS
from vendor_verifier.config.yaml_source import compose
from vendor_verifier.suites import SUITES

How = Literal["moved", "there", "renamed"]
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_./+=:@%~-]+")
_USABLE_NAME = re.compile(r"[A-Za-z0-9_.-]+")


class NotMovable(Exception):
    """The text cannot be changed without changing more than its keys."""


class MovedKey(msgspec.Struct, frozen=True):
    """A key of line ``line``, which is the variable ``name`` of .env now.

    ``how``: moved there, was there already, or is there under another name than ``usual``, which another key has.
    """

    line: int
    name: str
    usual: str
    how: How


@dataclass(frozen=True, slots=True)
class Moved:
    """The new texts, in the order of the file what was moved, and the ``lines`` that still seem to hold a key."""

    config: str = field(repr=False)
    env: str = field(repr=False)
    keys: tuple[MovedKey, ...] = ()
    lines: tuple[int, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict, repr=False)


def move_keys(config: str, env: str, name_of: Callable[[str], str]) -> Moved:
    """Both texts with every literal ``api_key`` of ``config`` in ``env``; ``name_of`` a vendor is its usual variable.

    A variable of ``env`` that holds another key keeps it: the key of the config then goes to a name of its own.

    Raises:
        SourceError: ``config`` is not YAML.
        NotMovable: a text would not say the same afterwards.
    """
    held = {name: value.strip() for name, value in parse_env(env)[0].items() if not is_placeholder(value)}
    known = dict(held)
    keys: list[MovedKey] = []
    made, at = "", 0
    for node, vendor in _literals(compose(config)):
        usual, key = _variable(name_of(vendor)), str(node.value).strip()
        names = chain([usual], (f"{usual}_{number}" for number in count(2)))
        name = next(name for name in names if known.get(name, key) == key)
        how: How = "there" if name in known else "moved" if name == usual else "renamed"
        known[name] = key
        keys.append(MovedKey(node.start_mark.line + 1, name, usual, how))
        # A block of several lines ends with the line's end, which stays.
        written = config[node.start_mark.index : node.end_mark.index]
        blank = written[len(written.rstrip()) :]
        made += config[at : node.start_mark.index] + json.dumps(f"${{{name}}}", ensure_ascii=False) + blank
        at = node.end_mark.index
    made += config[at:]
    if any(_literals(compose(made))):
        raise NotMovable
    added = {name: value for name, value in known.items() if name not in held}
    return Moved(made, _with_values(env, added), tuple(keys), tuple(_suspects(made, known.values())), added)


def _literals(root: yaml.Node | None) -> list[tuple[yaml.ScalarNode, str]]:
    """Every ``api_key`` that is a key itself, in the order of the file, with the ``name`` next to it."""
    found: dict[int, tuple[yaml.ScalarNode, str]] = {}
    pending = [] if root is None else [root]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
            continue
        names = [str(value.value) for key, value in node.value if key.value == "name"]
        for key, value in node.value:
            pending.append(value)
            if key.value == "api_key" and isinstance(value, yaml.ScalarNode) and _is_literal(str(value.value)):
                found[value.start_mark.index] = value, names[0] if names else "key"
    return [found[index] for index in sorted(found)]


def _is_literal(text: str) -> bool:
    """Whether a value is a key itself, and not a variable or the space for one."""
    return bool(text.strip()) and not text.strip().startswith("$") and not is_placeholder(text.strip())


def _variable(name: str) -> str:
    return name if _USABLE_NAME.fullmatch(name) else re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "key"


def _with_values(text: str, added: Mapping[str, str]) -> str:
    """``text`` of a .env with these variables: in the place of a placeholder of that name, else at the end."""
    # For those who have keys to move.
    from dotenv.parser import parse_stream

    pieces = [(binding.key, binding.original.string) for binding in parse_stream(io.StringIO(text))]
    place = {name: at for at, (name, _) in enumerate(pieces) if name in added}
    made = ""
    for at, (name, source) in enumerate(pieces):
        if name is not None and place.get(name) == at:
            bare = source.strip()
            source = source.replace(bare, _line(name, added[name])) if bare else source
        made += source
    rest = [_line(name, value) + "\n" for name, value in added.items() if name not in place]
    made += ("\n" if rest and made and not made.endswith("\n") else "") + "".join(rest)
    before, after = parse_env(text)[0], parse_env(made)[0]
    if {name: value.strip() for name, value in after.items()} != {
        name: value.strip() for name, value in {**before, **added}.items()
    }:
        raise NotMovable
    return made


def _line(name: str, value: str) -> str:
    if _PLAIN_VALUE.fullmatch(value):
        return f"{name}={value}"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"{name}='{escaped}'"


def _suspects(text: str, keys: Iterable[str]) -> Iterator[int]:
    """The lines, comments included, in which a key, or what looks like one, still stands."""
    held = [key for key in keys if len(key) >= 8]
    for number, line in enumerate(text.splitlines(), 1):
        if has_known_form(line) or any(key in line for key in held):
            yield number


# What an evaluation takes under the same name.
_MCPBR_OPTIONS = (
    "sample_size", "timeout_seconds", "filter_difficulty", "filter_category", "filter_tags", "agent_prompt",
    "max_iterations",
)  # fmt: skip
_MCPBR_READ = ("benchmark", "mcp_server", "model", "provider", *_MCPBR_OPTIONS)


def is_of_mcpbr(content: Mapping[str, Any]) -> bool:
    """Whether the top level of a file names a benchmark, a server or options of one, where ours names models."""
    keys = ("benchmark", "mcp_server", *_MCPBR_OPTIONS)
    return any(key in content and not _is_model(content[key]) for key in keys)


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
    """What of such a file has no place in ours, in sentences."""
    stated, words = content.get("benchmark"), []
    if stated is not None and stated != suite_of(content):
        words.append(
            f"its benchmark {str(stated)[:40]!r} is none of ours, which are {', '.join(k.name for k in SUITES)}"
        )
    if "mcp_server" in content:
        words.append("`mcp_server` is left out: calls are scored as they are made; --suite mcp_live uses a real server")
    if rest := [key for key in content if key not in _MCPBR_READ and not _is_model(content[key])]:
        words.append(f"not carried over: {', '.join(rest[:10])}")
    return words


def in_our_words(content: Mapping[str, Any], file: str) -> str:
    """The message for such a file: the command that converts it, and the lines of ours that say the same."""
    lines = []
    if not any(map(_is_model, content.values())):
        model, vendor = known_model(content) or "your-model", content.get("provider") or "your-vendor"
        id_ = MODEL_IDS.get(model, {}).get(str(vendor))
        lines = [f"{model}:", "  vendors:", f"  - name: {vendor}"]
        lines += [f"    model_id: {id_}"] if id_ else ["    # model_id: …   what this vendor calls the model"]
        lines.append("    # url: https://…/v1   unless `agent-vendor-verifier init --list` lists the vendor")
    lines += suites_section(content).splitlines()
    words = [f"this is a configuration of mcpbr; `agent-vendor-verifier init --from {file}` writes one of ours"]
    if lines:
        words.append("Or write:\n\n" + "".join(f"    {line}\n" for line in lines))
    words.append(f"Then: agent-vendor-verifier --config-file-path {file} --suite {suite_of(content)}")
    return "\n".join([*words, *(f"({each})" for each in left_out(content))])


def _is_model(value: object) -> bool:
    return isinstance(value, Mapping) and "vendors" in value
