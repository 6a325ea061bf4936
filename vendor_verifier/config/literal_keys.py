"""Keys that stand in a config.yaml, moved to variables of .env: two texts in, two texts out; no file is touched.

Both texts are changed at the places of the keys and nowhere else, so that comments, order and quotes stay.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from vendor_verifier.config.env_file import has_known_form, is_placeholder, parse_env
from vendor_verifier.config.yaml_tree import Written, scalars

How = Literal["moved", "there", "renamed"]
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
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
    found = [each for each in scalars(config) if is_literal(each)]
    keys: list[MovedKey] = []
    for each in found:
        usual, key = _variable(name_of(each.beside.get("name", "")) or "key"), each.value.strip()
        name = next(name for name in _names(usual) if known.get(name, key) == key)
        how: How = "there" if name in known else "moved" if name == usual else "renamed"
        known[name] = key
        keys.append(MovedKey(each.line, name, usual, how))
    added = {name: value for name, value in known.items() if name not in held}
    text = _with_references(config, found, [each.name for each in keys])
    return Moved(text, _with_values(env, added), tuple(keys), tuple(_suspects(text, known.values())), added)


def is_literal(scalar: Written) -> bool:
    """Whether a scalar is a key itself, and not a variable or the space for one."""
    text = scalar.value.strip()
    return scalar.key == "api_key" and bool(text) and not text.startswith("$") and not is_placeholder(text)


def _variable(name: str) -> str:
    return name if _USABLE_NAME.fullmatch(name) else re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "key"


def _names(usual: str) -> Iterator[str]:
    yield usual
    number = 2
    while True:
        yield f"{usual}_{number}"
        number += 1


def _with_references(text: str, found: Sequence[Written], names: Sequence[str]) -> str:
    """``text`` with a reference in the place of each key."""
    made, at = "", 0
    for each, name in zip(found, names, strict=True):
        start, end = each.span
        source = text[start:end]
        properties = _PROPERTIES.match(source)
        assert properties is not None  # it matches nothing, too
        made += text[at:start] + properties[0] + json.dumps(f"${{{name}}}", ensure_ascii=False)
        # A block of several lines ends with the line's end.
        made += source[len(source.rstrip()) :]
        at = end
    made += text[at:]
    wanted = {each.span: f"${{{name}}}" for each, name in zip(found, names, strict=True)}
    before = [(each.key, wanted.get(each.span, each.value)) for each in scalars(text)]
    if [(each.key, each.value) for each in scalars(made)] != before:
        raise NotMovable
    return made


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
