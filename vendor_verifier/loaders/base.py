"""What a loader gives back and how it complains; it reads no format and opens no file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.values.sample import Sample

if TYPE_CHECKING:
    from vendor_verifier.loaders.request_row import Question

MAX_SHOWN = 20
Keep = Callable[[Sample], None]
"""Takes the samples of a file one by one, in its order, so that a long file need not be held."""


@dataclass(frozen=True, slots=True)
class LoadedSamples:
    """The usable samples of one file, in its order; none where whoever asked took each as it came.

    ``skipped`` are the lines left out at the user's wish; ``defects`` are sentences about what the data set itself has
    wrong or peculiar, for the report: never a vendor's fault. ``format`` names the loader that was used.
    """

    samples: tuple[Sample, ...]
    skipped: tuple[Problem, ...] = ()
    defects: tuple[str, ...] = ()
    format: str | None = None


@dataclass(frozen=True, slots=True)
class Loader:
    """A row format by name, as ``--dataset-format`` takes it.

    ``read_row`` gives the question of a row and raises UnusableRequest; ``recognises`` tells the format by one row;
    ``row`` says in words what a row has.
    """

    name: str
    read_row: Callable[[Mapping[str, Any]], Question]
    recognises: Callable[[Mapping[str, Any]], bool]
    row: str


def data_error(problems: Sequence[Problem]) -> DataError:
    """All problems as one error: the first ``MAX_SHOWN`` in full, the others counted."""
    shown = list(problems[:MAX_SHOWN])
    hidden = len(problems) - len(shown)
    if hidden > 0:
        shown.append(Problem(f"and {hidden} more problem{'s' if hidden > 1 else ''} like these", shown[-1].file))
    return DataError(shown)


def kind_of(value: object) -> str:
    """What a JSON value is, in words for an error message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names = {dict: "an object", list: "an array", str: "a string", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)


def shortened(text: str, limit: int = 60) -> str:
    """``text`` in quotes, cut so that a message stays one line."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
