"""Keys that stand in a config.yaml, moved to variables of .env: two texts in, two texts out; no file is touched.

Both texts are changed at the places of the keys and nowhere else, so that comments, order and quotes stay.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Literal

import msgspec
import yaml

from vendor_verifier.config.env_file import has_known_form, is_placeholder, parse_env
from vendor_verifier.config.yaml_source import compose

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
