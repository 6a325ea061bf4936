"""Text checked for keys, for the space for one, and for references; and keys shown so that nobody can use them."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
    r"(?i)(?:^|[-_.])(?:auth|authorization|(?:api|access|secret|private|subscription)[-_]?key|token|secret|password|cookie)$"
)
_REFERENCE = re.compile(r"\$\{([^${}\s][^${}]*)\}")
_SHOWN_LENGTH = 60


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
    """Whether the value at this path of the config may be a key."""
    names = [step for step in path if isinstance(step, str)]
    return any(name in ("extra_headers", "api_key_env") or names_a_secret(name) for name in names)


def abbreviated(secret: str) -> str:
    """A secret as a message may show it: its first three characters, or none of a short one."""
    return f"`{printable(secret[:3])}…`" if len(secret) > 8 else "(not shown)"


def shown(text: str) -> str:
    """Text of a file as a message may quote it: one line, short, and never a key."""
    if looks_secret(text):
        return abbreviated(text)
    return f"`{printable(text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + '…')}`"


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


def expand(text: str, values: Mapping[str, str]) -> str:
    """Text with each ``${NAME}`` replaced by its value; what is not in ``values`` stays."""
    return _REFERENCE.sub(lambda match: values.get(match.group(1), match.group()), text)
