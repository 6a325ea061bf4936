"""Keys from ``.env`` and the process environment.

A variable of the process environment wins over the same name in ``.env``. An empty value or a placeholder counts as
absent in both.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vendor_verifier.config.document import read_text
from vendor_verifier.config.secret_text import is_placeholder


def read_environment() -> Mapping[str, str]:
    """A copy of the process environment: the one place that touches it."""
    return dict(os.environ)


@dataclass(frozen=True, slots=True)
class Variables:
    """Named values for keys and headers, without those that are empty or a placeholder.

    ``env_file`` is where a missing one should be written.
    """

    env_file: Path
    values: Mapping[str, str] = field(repr=False)
    placeholders: frozenset[str] = frozenset()
    file_names: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_variables(config_path: Path, env_file: Path | None, environ: Mapping[str, str]) -> Variables:
    """Merge ``environ`` over the env file: the given one, or ``.env`` next to the config if there is one.

    Raises:
        ConfigError: the env file cannot be read.
    """
    path = env_file if env_file is not None else config_path.parent / ".env"
    from_file: dict[str, str] = {}
    warnings: list[str] = []
    if env_file is not None or path.exists():
        how = "no such file; copy .env.example, or leave --env-file out to use the environment alone"
        from_file, bad_lines = parse_env(read_text(path, how))
        mode = path.stat().st_mode & 0o777
        # Windows has no such mode.
        if mode & 0o077 and os.name != "nt":
            words = f"others on this machine may read the keys in it (mode {mode:04o}); run: chmod 600 {path}"
            warnings.append(f"{path}: {words}")
        warnings += [f"{path}:{line}: not read, a line is NAME=value" for line in bad_lines]
    stated = [*from_file.items(), *environ.items()]
    values = {name: value.strip() for name, value in stated if not is_placeholder(value)}
    missing = {name for name, _ in stated} - values.keys()
    return Variables(path, values, frozenset(missing), tuple(from_file), tuple(warnings))


def parse_env(text: str) -> tuple[dict[str, str], list[int]]:
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
