"""Data sets from where they are: a path, ``hf://owner/name`` or a URL with its digest, as files on this disk.

Files of the hub are kept in the hub's own cache, which other programs share; files of URLs in ours, by digest. What
cannot be had is a ``DataError`` of one sentence: the address, what was found, what to do.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from vendor_verifier.errors import DataError, Problem, StorageError, install_line
from vendor_verifier.resources import PRODUCT
from vendor_verifier.sample_store import file_digest

HUB = "hf://"
URLS = ("https://", "http://")
MAX_DOWNLOAD_BYTES = 2 * 1024**3
MAX_S = 1800.0
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGEST = re.compile(r"sha256=([0-9a-fA-F]{64})")
_ROWS = re.compile(r".*\.(jsonl|ndjson|json)(?:\.gz|\.zst)?", re.IGNORECASE)
# The hub and its libraries write these next to the rows.
_ABOUT = frozenset({"dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json"})
_INSTEAD = "or download the file and give its path"


class Place(msgspec.Struct, frozen=True):
    """A file or folder on this disk.

    ``address`` is where it was downloaded from, with the commit or digest that it has for ever; None for a path.
    ``notices`` are to be shown.
    """

    path: Path
    address: str | None = None
    notices: tuple[str, ...] = ()


def file_at(where: str | PathLike[str]) -> Place:
    """The file at a path or address, downloaded if it is not here yet; a path is returned as it is, unread.

    Raises:
        DataError: it cannot be had.
        StorageError: the disk refused it.
    """
    text = fspath(where)
    if text.startswith(HUB):
        return _from_hub(text, whole=False)
    return _from_url(text) if text.startswith(URLS) else Place(Path(where))


def folder_at(where: str) -> Place | None:
    """The data at an address, all files of a data set of the hub or one file; None where it is no address.

    Raises: as :func:`file_at`.
    """
    if where.startswith(HUB):
        return _from_hub(where, whole=True)
    return _from_url(where) if where.startswith(URLS) else None


def _refused(where: str, sentence: str) -> DataError:
    return DataError([Problem(f"{where}: {sentence}")])


def _refuse_large(where: str, size: int) -> None:
    if size > MAX_DOWNLOAD_BYTES:
        words = f"read {size} bytes, expected at most {MAX_DOWNLOAD_BYTES}; download it and give the file"
        raise _refused(where, words)


def _from_url(where: str) -> Place:
    """The file at a URL ending in ``#sha256=<digest>``, out of the cache where it is there already."""
    from platformdirs import user_cache_path

    try:
        parts = urlsplit(where)
        host, _port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        raise _refused(where, "expected https://host/file.jsonl#sha256=digest")
    # The query may hold a signature, so it is neither shown nor kept.
    shown = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    if "@" in parts.netloc:
        raise _refused(shown, f"the address holds a user name or password; remove it, {_INSTEAD}")
    stated = _DIGEST.fullmatch(parts.fragment)
    if stated is None:
        words = "the file may change, so a URL needs its SHA-256: add #sha256= and 64 hexadecimal digits, as sha256sum"
        raise _refused(shown, f"{words} prints them")
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", parts.path.rpartition("/")[2])[-100:].lstrip(".") or "data"
    expected = stated[1].lower()
    kept = user_cache_path(PRODUCT, appauthor=False) / "data" / expected / name
    if not kept.is_file() or file_digest(kept) != expected:
        url = urlunsplit((parts.scheme, parts.netloc, parts.path, parts.query, ""))
        _download(url, shown, kept, expected)
    return Place(kept, f"{shown}#sha256={expected}")


def _download(url: str, shown: str, target: Path, expected: str) -> None:
    """Put the file into the cache; it appears there whole or not at all."""
    digest = hashlib.sha256()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as draft:
            unfinished = Path(draft, target.name)
            with unfinished.open("wb") as file:
                for piece in _pieces(url, shown):
                    digest.update(piece)
                    file.write(piece)
            if digest.hexdigest() != expected:
                words = "the file was changed or is another one: check the address, or take the new digest"
                read = digest.hexdigest()
                raise _refused(shown, f"expected SHA-256 {expected}, read {read}; {words} if you trust it")
            unfinished.replace(target)
    except OSError as error:
        raise StorageError(f"{target.parent} cannot be written: {error.strerror or error}") from None


def _pieces(url: str, shown: str) -> Iterator[bytes]:
    """The bytes as they are sent; no key is sent, no cookie kept, and nothing is unpacked."""
    import httpx2

    deadline, size = time.monotonic() + MAX_S, 0
    timeout = httpx2.Timeout(30.0, connect=10.0)
    try:
        with (
            httpx2.Client(follow_redirects=True, max_redirects=5, timeout=timeout) as client,
            client.stream("GET", url, headers={"accept-encoding": "identity"}) as response,
        ):
            if response.status_code != 200:
                raise _refused(shown, f"the server answered {response.status_code}; check the address, {_INSTEAD}")
            for piece in response.iter_raw():
                size += len(piece)
                _refuse_large(shown, size)
                if time.monotonic() > deadline:
                    raise _refused(shown, f"not complete after {MAX_S:g} s; download it and give the file")
                yield piece
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        # ValueError: a proxy variable that no client understands.
        reason = str(error) or type(error).__name__
        raise _refused(shown, f"cannot be read ({reason}); check the connection and the address, {_INSTEAD}") from None


def _from_hub(where: str, *, whole: bool) -> Place:
    """One file of a data set of the hub, or with ``whole`` all its files of rows; sizes are known before a download."""
    path, at, revision = where.removeprefix(HUB).partition("@")
    owner, _, rest = path.strip("/").removeprefix("datasets/").partition("/")
    name, _, file = rest.strip("/").partition("/")
    if not owner or not name or (at and not revision) or ".." in file.split("/"):
        raise _refused(where, "expected hf://owner/name or hf://owner/name/file.jsonl, and @revision after either")
    name, is_pinned = f"{owner}/{name}", _COMMIT.fullmatch(revision)

    def place(path: Path, commit: str, inside: str) -> Place:
        words = f"{where} is read at commit {commit}; with @{commit} later runs read the same rows"
        address = f"{HUB}{name}{'/' if inside else ''}{inside}@{commit}"
        return Place(path, address, () if is_pinned else (words,))

    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or None
    with _hub(where, name) as hub:
        asked: dict[str, Any] = {"repo_id": name, "repo_type": "dataset", "revision": revision or None}
        # A commit never changes.
        if file and is_pinned and isinstance(found := hub.try_to_load_from_cache(filename=file, **asked), str):
            return place(Path(found), revision, file)
        info = hub.HfApi(endpoint).dataset_info(name, revision=revision or None, files_metadata=True, timeout=20)
        sizes = {each.rfilename: each.size or 0 for each in info.siblings or ()}
        files = _wanted(where, name, f"{at}{revision}", file, sizes, whole=whole)
        _refuse_large(where, sum(sizes[each] for each in files))
        # By the revision as stated: the hub's cache then knows it by that name without a connection.
        root = Path(hub.snapshot_download(endpoint=endpoint, allow_patterns=files, **asked))
    inside = file if whole else files[0]
    return place(root / inside, root.name, inside)


def _wanted(where: str, name: str, at: str, file: str, sizes: Mapping[str, int], *, whole: bool) -> list[str]:
    """The files of rows that an address asks for; code of a data set is never among them."""
    if file in sizes:
        return [file]
    if file and not whole:
        raise _refused(where, f"{name} has no file {file}; leave the file out to get a list")
    rows = {each: row[1].lower() for each in sizes if (row := _ROWS.fullmatch(each))}
    found = [each for each in rows if each.rpartition("/")[2] not in _ABOUT]
    if whole:
        found = [each for each in found if each.startswith(f"{file}/" if file else "")]
    else:
        # JSON lines are rows; other JSON next to them may be anything.
        found = [each for each in found if rows[each] != "json"] or found
    if not found:
        there = ", ".join(list(sizes)[:20])
        words = f"has no file of rows (.jsonl or .json, also .gz and .zst), only {there}; write its rows as JSON lines"
        raise _refused(where, f"{name} {words} and give that file")
    if len(found) > 1 and not whole:
        addresses = ", ".join(f"{HUB}{name}/{each}{at}" for each in found[:20])
        raise _refused(where, f"{name} has {len(found)} files of rows; name one of them: {addresses}")
    return found


@contextmanager
def _hub(where: str, name: str) -> Iterator[Any]:
    """The hub's library; its errors become one sentence."""
    try:
        import httpx2
        import huggingface_hub as hub
        from huggingface_hub import constants, errors
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ImportError:
        raise _refused(where, f"the Hugging Face hub needs {install_line('hf')}; {_INSTEAD}") from None
    # Else it asks the hub for a list of the programs that may run it.
    constants.HF_HUB_DISABLE_TELEMETRY = True
    disable_progress_bars()
    try:
        yield hub
    except DataError:
        raise
    except errors.HFValidationError:
        raise _refused(where, "no data set can have this name; give owner and name") from None
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        reason = f"cannot be downloaded: the hub answered {status}; try again later, {_INSTEAD}"
        if isinstance(error, errors.RevisionNotFoundError):
            reason = f"has no revision {where.rpartition('@')[2]}: give a branch, tag or commit"
        elif isinstance(error, errors.GatedRepoError) or status == 403:
            reason = "is gated: accept its terms on its page and set HF_TOKEN to a token of that account"
        elif isinstance(error, errors.RepositoryNotFoundError) or status == 401:
            reason = "is not there, or needs a token: check owner and name, or set HF_TOKEN"
        raise _refused(where, f"{name} {reason}") from None
    except (httpx2.HTTPError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise StorageError(f"the hub's cache cannot be written: {error.strerror}") from None
        cause = error.__cause__ or error
        reason = (str(cause) or type(cause).__name__).splitlines()[0][:120]
        raise _refused(where, f"the hub cannot be reached ({reason}); check the connection, {_INSTEAD}") from None
