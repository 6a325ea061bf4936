"""What the checker says of an answer; it says it of vendors only, a row that cannot be checked is a data error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from vendor_verifier.errors import DataError, Problem

Language = Literal["python", "java", "javascript"]
Mode = Literal["compat", "strict"]
LANGUAGES: tuple[Language, ...] = ("python", "java", "javascript")
MODES: tuple[Mode, ...] = ("compat", "strict")


@dataclass(frozen=True, slots=True)
class Verdict:
    """``valid``, or the first thing wrong: ``error_type`` is bfcl_eval's word, ``error`` says it in sentences."""

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
