"""Data sets from where they are: a path, ``hf://owner/name`` or a URL with its digest, as files on this disk.

What cannot be had is a ``DataError`` of one sentence: the address, what was read, what was expected, how to mend it.
"""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from vendor_verifier.pipeline.downloads import HUB, Place

URLS = ("https://", "http://")


def file_at(where: str | PathLike[str]) -> Place:
    """The file at a path or address, downloaded if it is not here yet; a path is returned as it is, unread.

    Raises:
        DataError: it cannot be had.
        StorageError: the disk refused it.
    """
    place = _elsewhere(fspath(where))
    return Place(Path(where)) if place is None else place


def folder_at(where: str) -> Place | None:
    """The data at an address, all files of a data set of the hub or one file; None where it is no address.

    Raises:
        DataError: it cannot be had.
        StorageError: the disk refused it.
    """
    return _elsewhere(where, whole=True)


def _elsewhere(where: str, *, whole: bool = False) -> Place | None:
    # Loaded where they are needed: most runs read what ships.
    if where.startswith(HUB):
        from vendor_verifier.pipeline.hub_files import hub_file, hub_files

        return hub_files(where) if whole else hub_file(where)
    if where.startswith(URLS):
        from vendor_verifier.pipeline.url_files import url_file

        return url_file(where)
    return None
