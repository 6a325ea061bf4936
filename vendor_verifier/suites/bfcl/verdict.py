"""The checker's verdict and the folding of texts before they are compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from vendor_verifier.errors import DataError, Problem

Language = Literal["python", "java", "javascript"]
LANGUAGES: tuple[Language, ...] = ("python", "java", "javascript")
_FOLD = str.maketrans({**dict.fromkeys(" ,./-_*^"), "'": '"'})


def fold(text: str) -> str:
    """``text`` without the eight characters ``space , . / - _ * ^``, in lower case, ``'`` as ``"``.

    Tabs, line breaks and every other sign stay. ``"-5"`` therefore equals ``"5"`` and ``"1.5"`` equals ``"15"``.
    """
    return text.translate(_FOLD).lower()


def folded(value: object) -> object:
    """``value`` folded if it is a text, else as it is."""
    return fold(value) if type(value) is str else value


@dataclass(frozen=True, slots=True)
class Verdict:
    """``valid``, or the first thing wrong: ``error_type`` is bfcl_eval's word, ``error`` explains it in sentences."""

    valid: bool
    error_type: str | None = None
    error: list[str] = field(default_factory=list)


VALID = Verdict(True)


def invalid(error_type: str, *error: str) -> Verdict:
    """A verdict against the answer."""
    return Verdict(False, error_type, list(error))


def uncheckable(message: str) -> DataError:
    """The row, not the answer, is at fault: raise what this returns."""
    return DataError([Problem(f"the row cannot be checked: {message}")])
