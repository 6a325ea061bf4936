"""The values that all ways of downloading a data set share: the place it has on this disk, the bound, the refusal."""

from __future__ import annotations

from pathlib import Path

import msgspec

from vendor_verifier.errors import DataError, Problem

HUB = "hf://"
MAX_DOWNLOAD_BYTES = 2 * 1024**3


class Place(msgspec.Struct, frozen=True):
    """A file or folder on this disk.

    ``address`` is where it was downloaded from, with the commit or digest that it has for ever; None for a path.
    ``notices`` are to be shown.
    """

    path: Path
    address: str | None = None
    notices: tuple[str, ...] = ()


def refused(where: str, sentence: str) -> DataError:
    """The error that nothing can be read at the address ``where``."""
    return DataError([Problem(f"{where}: {sentence}")])


def too_large(where: str, size: int, most: int) -> DataError:
    """The error of a download of more than ``most`` bytes."""
    return refused(where, f"read {size} bytes, expected at most {most}; download it and give the file")
