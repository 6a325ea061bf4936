"""Keys from ``.env`` and the process environment, and text checked for secrets, placeholders and references.

A variable of the process environment wins over the same name in ``.env``, as usual: a one-off
``openrouter=… agent-vendor-verifier`` overrides the file. An empty value or a placeholder counts as absent in both.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vendor_verifier.config.yaml_source import MAX_BYTES, SourceError
from vendor_verifier.errors import Problem

_PLACEHOLDER = re.compile(
    r"""(?ix)
    \s* (?:
        (?:[a-z]{1,6}[-_](?:[a-z0-9]{1,6}[-_])*)? x{3,} [x.…*_-]*   # xxxxxx, sk-xxxx, sk-or-v1-xxxx
      | (?:[a-z]{1,6}[-_])? your [-_ ] .*                            # your-key-here, sk-your-key
      | <.*> | \.{2,} | …+ | \*+
      | change[-_ ]?me .* | replace[-_ ]?me .* | api[-_]?key | todo
    )? \s*"""
)
_KNOWN_FORM = re.compile(
    r"""(?x)
    (?<![A-Za-z0-9])(?:
        sk-[A-Za-z0-9_-]{8,} | AIza[A-Za-z0-9_-]{10,} | gsk_[A-Za-z0-9]{8,} | xai-[A-Za-z0-9]{8,}
      | hf_[A-Za-z0-9]{8,} | r8_[A-Za-z0-9]{8,} | gh[pousr]_[A-Za-z0-9]{8,} | nvapi-[A-Za-z0-9_-]{8,}
      | AKIA[A-Z0-9]{12,} | eyJ[A-Za-z0-9_-]{10,} | [Bb]earer\s+[A-Za-z0-9._~+/=-]{6,}
    )"""
)
_UUID = re.compile(r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_LONG_RUN = re.compile(r"[A-Za-z0-9]{24,}")
_SECRET_NAME = re.compile(
    r"(?i)(?:^|[-_.])(?:authorization|(?:api|access|secret|private|subscription)[-_]?key|token|secret|password|cookie)$"
)
_REFERENCE = re.compile(r"\$\{([^${}\s][^${}]*)\}")

SHOWN_LENGTH = 60


def is_placeholder(text: str) -> bool:
    """Whether a key is only the space for one: empty, ``xxxxxx``, ``sk-xxxx``, ``your-key-here``, ``<key>`` …"""
    return len(text) <= 200 and _PLACEHOLDER.fullmatch(text) is not None


def has_known_form(text: str) -> bool:
    """Whether text contains a key in a form that vendors give out; wrong rarely enough to refuse it anywhere."""
    return any(not is_placeholder(match.group()) for match in _KNOWN_FORM.finditer(text))


def looks_secret(text: str) -> bool:
    """Whether text is likely a key: a known form, a UUID, or 24 letters and digits in one run."""
    if has_known_form(text) or _UUID.search(text):
        return True
    runs = _LONG_RUN.findall(text)
    return any(re.search("[0-9]", run) and re.search("[A-Za-z]", run) for run in runs)


def names_a_secret(name: str) -> bool:
    """Whether a header or body field of that name carries a secret (``Authorization``, ``x-api-key`` …)."""
    return _SECRET_NAME.search(name) is not None


def holds_secret(path: tuple[str | int, ...]) -> bool:
    """Whether a key may stand at this place of the config."""
    names = [step for step in path if isinstance(step, str)]
    return any(name in ("extra_headers", "api_key_env") or names_a_secret(name) for name in names)


def abbreviated(secret: str) -> str:
    """A secret as a message may show it: its first three characters, or none of a short one."""
    return f"`{printable(secret[:3])}…`" if len(secret) > 8 else "(not shown)"


def shown(text: str) -> str:
    """Text of a file as a message may quote it: one line, short, and never a key."""
    if looks_secret(text):
        return abbreviated(text)
    return f"`{printable(text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH] + '…')}`"


def printable(text: str) -> str:
    """Text with every control, bidi or otherwise unprintable character escaped."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def reference(text: str) -> str | None:
    """NAME when the whole text is ``${NAME}``."""
    match = _REFERENCE.fullmatch(text.strip())
    return match.group(1) if match else None


def references(text: str) -> tuple[str, ...]:
    """Every NAME of ``${NAME}`` in text, in order."""
    return tuple(_REFERENCE.findall(text))


def expand(text: str, values: dict[str, str]) -> str:
    """Text with each ``${NAME}`` replaced by its value; what is not in ``values`` stays."""
    return _REFERENCE.sub(lambda match: values.get(match.group(1), match.group()), text)


def account_of(origin: str, key: str | None) -> str:
    """Twelve hex digits of SHA-256 over (origin, key): equal for equal accounts, and the key cannot be read from it."""
    return hashlib.sha256(f"{origin}\0{key or ''}".encode()).hexdigest()[:12]


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
    """Merge ``environ`` over the env file: the given one, or ``.env`` next to the config if there is one."""
    path = env_file if env_file is not None else config_path.parent / ".env"
    warnings: list[str] = []
    problems: list[Problem] = []
    from_file: dict[str, str] = {}
    try:
        text = read_limited(path)
        warnings += _mode_warning(path)
        from_file, bad_lines = parse_env(text)
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
