"""Reads keys from ``.env`` and the process environment; it exports nothing and expands nothing inside values.

A variable of the process environment wins over the same name in ``.env``, as usual: a one-off
``openrouter=… agent-vendor-verifier`` overrides the file. An empty value or a placeholder counts as absent in both.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vendor_verifier.config.secret_text import is_placeholder
from vendor_verifier.config.yaml_source import MAX_BYTES, SourceError
from vendor_verifier.errors import Problem


def read_environment() -> Mapping[str, str]:
    """A copy of the process environment: the one place that touches it."""
    return dict(os.environ)


@dataclass(frozen=True, slots=True)
class Variables:
    """Named values for keys and headers. ``env_file`` is where a missing one should be written."""

    env_file: Path
    values: Mapping[str, str] = field(repr=False)
    placeholders: frozenset[str] = frozenset()
    file_names: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()

    def get(self, name: str) -> str | None:
        """The value of ``name``, or ``None`` when absent, empty or a placeholder."""
        return self.values.get(name)


def read_variables(config_path: Path, env_file: Path | None, environ: Mapping[str, str]) -> Variables:
    """Merge ``environ`` over the env file: the given one, or ``.env`` beside the config if there is one."""
    path = env_file if env_file is not None else config_path.parent / ".env"
    warnings: list[str] = []
    problems: list[Problem] = []
    from_file: dict[str, str] = {}
    try:
        text = read_limited(path)
        warnings += _mode_warning(path)
        from_file, bad_lines = _parse(text)
        warnings += [f"{path}:{line}: not read, a line is NAME=value" for line in bad_lines]
    except FileNotFoundError:
        if env_file is not None:
            message = "no such file; copy .env.example, or leave --env-file out to use the environment alone"
            problems.append(Problem(message, file=path))
    except OSError as error:
        problems.append(Problem(f"cannot be read: {error.strerror}", file=path))
    except SourceError as error:
        problems.append(Problem(error.message, file=path, line=error.line))
    values, placeholders = _usable(from_file)
    own_values, own_placeholders = _usable(environ)
    values.update(own_values)
    missing = (placeholders | own_placeholders) - values.keys()
    return Variables(path, values, frozenset(missing), tuple(from_file), tuple(problems), tuple(warnings))


def read_limited(path: Path) -> str:
    """The text of a small UTF-8 file. Raises OSError, or SourceError when it is too large or not UTF-8."""
    with path.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SourceError("larger than 1 MB; this is surely not the file that was meant")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError("not UTF-8 text; save the file as UTF-8", line) from None


def _parse(text: str) -> tuple[dict[str, str], list[int]]:
    """Values by name, and the lines that are none. The parser is the one behind ``dotenv_values``, which only logs."""
    # For those who have such a file.
    from dotenv.parser import parse_stream

    values: dict[str, str] = {}
    bad_lines: list[int] = []
    for binding in parse_stream(io.StringIO(text)):
        if binding.error:
            skipped = binding.original.string
            blank = skipped[: len(skipped) - len(skipped.lstrip())]
            bad_lines.append(binding.original.line + blank.count("\n"))
        elif binding.key is not None and binding.value is not None:
            values[binding.key] = binding.value
    return values, bad_lines


def _usable(variables: Mapping[str, str]) -> tuple[dict[str, str], set[str]]:
    values = {name: value.strip() for name, value in variables.items() if not is_placeholder(value)}
    return values, {name for name in variables if name not in values}


def _mode_warning(path: Path) -> list[str]:
    """Other users of the machine must not read keys. Windows has no such mode."""
    if os.name == "nt":
        return []
    mode = path.stat().st_mode & 0o777
    if not mode & 0o077:
        return []
    return [f"{path}: others on this machine may read the keys in it (mode {mode:04o}); run: chmod 600 {path}"]
