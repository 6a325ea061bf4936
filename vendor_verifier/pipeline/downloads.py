"""The values that all ways of downloading a data set share: the place it has on this disk, the bound, the refusal."""

from __future__ import annotations

from pathlib import Path

import msgspec

from vendor_verifier.errors import DataError, Problem
from vendor_verifier.words import Sentence, english

HUB = "hf://"
MAX_DOWNLOAD_BYTES = 2 * 1024**3


class Place(msgspec.Struct, frozen=True):
    """A file or folder on this disk.

    ``address`` is where it was downloaded from, with the commit or digest that it has for ever; None for a path.
    ``notices`` are to be shown.
    """

    path: Path
    address: str | None = None
    notices: tuple[Sentence, ...] = ()


def refused(name: str, /, **values: object) -> DataError:
    """The error of that sentence."""
    return DataError([Problem(english(name, **values))])
