"""Finds a file of samples: at a path, at a URL, or in a data set of the Hugging Face hub.

Files of the hub are kept in the hub's own cache, which other programs share; those of URLs in ours.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import msgspec

from vendor_verifier.errors import DataError, Problem, StorageError, install_line
from vendor_verifier.resources import PRODUCT
from vendor_verifier.sample_store import file_digest

HUB = "hf://"
MAX_DOWNLOAD_BYTES = 2 * 1024**3
_MOST_S = 1800.0
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ROWS = re.compile(r".*\.(jsonl|ndjson|json)(?:\.gz|\.zst)?", re.IGNORECASE)
# The hub and its libraries write these next to the rows.
_ABOUT = frozenset({"dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json"})
_INSTEAD = "or download the file and give its path"


class Place(msgspec.Struct, frozen=True):
    """A file or folder on this disk.

    ``address`` is where it was downloaded from, with its commit or digest; None for a path. ``notices`` are shown.
    """

    path: Path
    address: str | None = None
    notices: tuple[str, ...] = ()


def place_of(where: str | PathLike[str], *, whole: bool = False) -> Place:
    """The file at a path or address, downloaded if it is not here yet; with ``whole`` all files of rows of a data set.

    A path is returned as it is, unread.

    Raises:
        DataError: it cannot be had.
        UsageError: a proxy or certificate file that the environment names cannot be used.
        StorageError: the disk refused it.
    """
    text = fspath(where)
    if "://" not in text:
        return Place(Path(where))
    # Slow to load, and only for downloads.
    from vendor_verifier.transport.client import require_network

    # Every client reads the variables of both.
    require_network(["http://host.invalid", "https://host.invalid"])
    if text.startswith(("https://", "http://")):
        return _from_url(text)
    path, at, revision = text.removeprefix(HUB).partition("@")
    owner, _, rest = path.strip("/").removeprefix("datasets/").partition("/")
    name, _, file = rest.strip("/").partition("/")
    if not text.startswith(HUB) or not owner or not name or (at and not revision) or ".." in file.split("/"):
        words = f"expected hf://owner/name or hf://owner/name/file.jsonl, and @revision after either, {_INSTEAD}"
        raise _refused(text, words)
    name, is_pinned = f"{owner}/{name}", _COMMIT.fullmatch(revision)

    def place(path: Path, commit: str, inside: str) -> Place:
        words = f"{text} is read at commit {commit}; with @{commit} later runs read the same rows"
        address = f"{HUB}{name}{'/' if inside else ''}{inside}@{commit}"
        return Place(path, address, () if is_pinned else (words,))

    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or None
    with _hub(text, name) as hub:
        asked: dict[str, Any] = {"repo_id": name, "repo_type": "dataset", "revision": revision or None}
        # A commit never changes.
        if file and is_pinned and isinstance(found := hub.try_to_load_from_cache(filename=file, **asked), str):
            return place(Path(found), revision, file)
        info = hub.HfApi(endpoint).dataset_info(name, revision=revision or None, files_metadata=True, timeout=20)
        sizes = {each.rfilename: each.size or 0 for each in info.siblings or ()}
        files = _wanted(text, name, file, sizes, whole=whole)
        if (size := sum(sizes[each] for each in files)) > MAX_DOWNLOAD_BYTES:
            raise _refused(text, f"read {size} bytes, expected at most {MAX_DOWNLOAD_BYTES}, {_INSTEAD}")
        # By the revision as stated: the hub's cache then knows it by that name without a connection.
        root = Path(hub.snapshot_download(endpoint=endpoint, allow_patterns=files, **asked))
    inside = file if whole else files[0]
    return place(root / inside, root.name, inside)


def _refused(where: str, sentence: str) -> DataError:
    return DataError([Problem(f"{where}: {sentence}")])


def _from_url(where: str) -> Place:
    """The file at a URL. With ``#sha256=DIGEST`` behind it that file and no other, once downloaded from our cache."""
    import httpx2
    from platformdirs import user_cache_path

    try:
        url = httpx2.URL(where)
    except httpx2.InvalidURL:
        raise _refused(where, f"expected https://host/file.jsonl, {_INSTEAD}") from None
    # A query may hold a signature: it is neither shown nor kept.
    shown = str(url.copy_with(userinfo=b"", query=None, fragment=None))
    expected = url.fragment.removeprefix("sha256=").lower()
    if not url.host or url.userinfo or (url.fragment and not re.fullmatch("[0-9a-f]{64}", expected)):
        words = (
            "expected https://host/file.jsonl without a user name, and #sha256= with 64 hexadecimal digits or nothing"
        )
        raise _refused(shown, f"{words}, {_INSTEAD}")
    folder, name = user_cache_path(PRODUCT, appauthor=False) / "data", url.path.rpartition("/")[2] or "data"
    kept = folder / expected / name
    if expected and kept.is_file() and file_digest(kept) == expected:
        return Place(kept, f"{shown}#sha256={expected}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as draft:
            _download(str(url.copy_with(fragment=None)), shown, Path(draft, name))
            found = file_digest(Path(draft, name))
            if found != (expected or found):
                raise _refused(shown, f"expected SHA-256 {expected}, read {found}; take the new one if you trust it")
            kept = folder / found / name
            kept.parent.mkdir(exist_ok=True)
            Path(draft, name).replace(kept)
    except OSError as error:
        raise StorageError(f"{folder} cannot be written: {error.strerror or error}") from None
    address = f"{shown}#sha256={found}"
    return Place(
        kept, address, () if expected else (f"{shown} may change; with {address} later runs read the same rows",)
    )


def _download(url: str, shown: str, target: Path) -> None:
    """Write what the server sends; no key is sent, no cookie kept, and nothing is unpacked."""
    import httpx2

    deadline, size = time.monotonic() + _MOST_S, 0
    try:
        with (
            target.open("wb") as file,
            httpx2.Client(follow_redirects=True, max_redirects=5, timeout=30.0) as client,
            client.stream("GET", url, headers={"accept-encoding": "identity"}) as response,
        ):
            if response.status_code != 200:
                raise _refused(shown, f"the server answered {response.status_code}; check the address, {_INSTEAD}")
            for piece in response.iter_raw():
                size += file.write(piece)
                if size > MAX_DOWNLOAD_BYTES or time.monotonic() > deadline:
                    words = f"expected at most {MAX_DOWNLOAD_BYTES} bytes within {_MOST_S:g} s, {_INSTEAD}"
                    raise _refused(shown, words)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        # Others than HTTPError are about a proxy variable, and quote its password.
        reason = (isinstance(error, httpx2.HTTPError) and str(error)) or type(error).__name__
        raise _refused(shown, f"cannot be read ({reason}); check the connection and the address, {_INSTEAD}") from None


def _wanted(where: str, name: str, file: str, sizes: Mapping[str, int], *, whole: bool) -> list[str]:
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
        raise _refused(where, f"{name} has no file of rows (.jsonl or .json, also .gz and .zst), only {there}")
    if len(found) > 1 and not whole:
        raise _refused(where, f"{name} has {len(found)} files of rows; name one of them: {', '.join(found[:20])}")
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
    except errors.HFValidationError:
        raise _refused(where, "no data set can have this name; give owner and name") from None
    except (httpx2.HTTPError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise StorageError(f"the hub's cache cannot be written: {error.strerror}") from None
        reason = str(error.__cause__ or error).partition("\n")[0][:120]
        raise _refused(where, f"the hub cannot be reached ({reason}); check the connection, {_INSTEAD}") from None
