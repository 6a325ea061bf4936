"""Data sets of the Hugging Face hub, through its own library and into its own cache, which other programs share.

Sizes are known before anything is downloaded. Only files of rows are: no code of a data set comes onto this machine.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from vendor_verifier.errors import DataError, StorageError, install_line
from vendor_verifier.pipeline.downloads import HUB, MAX_DOWNLOAD_BYTES, Place, refused, too_large
from vendor_verifier.transport.policy import silence
from vendor_verifier.transport.proxies import require_proxies

_ENDPOINT = "https://huggingface.co"
_API_S = 20.0
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ROWS = re.compile(r".*\.(?:jsonl|ndjson|json)(?:\.gz|\.zst)?", re.IGNORECASE)
_LINES = re.compile(r".*\.(?:jsonl|ndjson)(?:\.gz|\.zst)?", re.IGNORECASE)
# What the hub and its libraries put beside the rows.
_ABOUT = frozenset({"dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json"})
_MOST_LISTED = 20
_LONGEST_REASON = 120
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)


class _Address(msgspec.Struct, frozen=True):
    """``hf://owner/name[/file][@revision]`` taken apart; ``where`` is as it was read."""

    where: str
    name: str
    file: str | None
    revision: str | None
    endpoint: str

    def pinned(self, commit: str) -> str:
        """The address that means the same for ever."""
        parts = (self.name, self.file) if self.file else (self.name,)
        return f"{HUB}{'/'.join(parts)}@{commit}"

    def notices(self, commit: str) -> tuple[str, ...]:
        """A sentence with the commit, where the address does not state one."""
        if self.revision is not None and _COMMIT.fullmatch(self.revision):
            return ()
        return (f"{self.where} is read at commit {commit}; with @{commit} later runs read the same rows",)


def hub_file(where: str) -> Place:
    """The file at an address, or the only file of rows of that data set.

    Raises:
        DataError: the package is not installed, or the file cannot be had.
    """
    stated = _read(where)
    with _refusals(stated) as hub:
        address = stated if stated.file else _with_only_file(stated, _info(hub, stated))
        asked = {"repo_type": "dataset", "endpoint": address.endpoint, "filename": address.file}
        try:
            known = hub.hf_hub_download(address.name, revision=address.revision, dry_run=True, **asked)
            _bound(address, known.file_size or 0)
            path = Path(hub.hf_hub_download(address.name, revision=address.revision, **asked))
        except hub.errors.LocalEntryNotFoundError as error:
            found = _cached(hub, address)
            if found is None:
                raise (error.__cause__ or error) from None
            path = found
    commit = _commit_of(path)
    return Place(path, address.pinned(commit), stated.notices(commit))


def _cached(hub: Any, address: _Address) -> Path | None:
    """The file as it was downloaded before, for when the hub does not answer."""
    found = hub.try_to_load_from_cache(address.name, address.file, revision=address.revision, repo_type="dataset")
    return Path(found) if isinstance(found, str) else None


def _commit_of(path: Path) -> str:
    """The commit in a path of the hub's cache, ``…/snapshots/<commit>/<file>``."""
    parts = path.parts
    return parts[len(parts) - parts[::-1].index("snapshots")]


def hub_files(where: str) -> Place:
    """All files of rows at an address: a file, a folder of a data set, or the whole of it.

    Raises:
        DataError: the package is not installed, or the files cannot be had.
    """
    address = _read(where)
    with _refusals(address) as hub:
        info = _info(hub, address)
        files = [file for file in info.siblings or () if _is_rows(file.rfilename)]
        if address.file is not None and any(file.rfilename == address.file for file in files):
            return hub_file(where)
        inside = f"{address.file.rstrip('/')}/" if address.file else ""
        files = [file for file in files if file.rfilename.startswith(inside)]
        if not files:
            raise _without_rows(address, [file.rfilename for file in info.siblings or ()])
        _bound(address, sum(file.size or 0 for file in files))
        folder = hub.snapshot_download(
            address.name,
            repo_type="dataset",
            revision=info.sha,
            endpoint=address.endpoint,
            allow_patterns=[file.rfilename for file in files],
        )
    return Place(Path(folder) / inside, address.pinned(info.sha), address.notices(info.sha))


def _read(where: str) -> _Address:
    path, at, revision = where.removeprefix(HUB).partition("@")
    owner, _, rest = path.strip("/").removeprefix("datasets/").partition("/")
    name, _, file = rest.partition("/")
    if not owner or not name or (at and not revision) or ".." in file.split("/"):
        raise refused(where, "expected hf://owner/name or hf://owner/name/file.jsonl, and @revision after either")
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/") or _ENDPOINT
    return _Address(where, f"{owner}/{name}", file or None, revision or None, endpoint)


def _info(hub: Any, address: _Address) -> Any:
    """The commit and the files of a data set, with their sizes."""
    api = hub.HfApi(endpoint=address.endpoint)
    return api.dataset_info(address.name, revision=address.revision, files_metadata=True, timeout=_API_S)


def _with_only_file(address: _Address, info: Any) -> _Address:
    names = [file.rfilename for file in info.siblings or ()]
    rows = [name for name in names if _is_rows(name)]
    # JSON lines are rows; of what else is JSON beside them that is not sure.
    found = [name for name in rows if _LINES.fullmatch(name)] or rows
    if not found:
        raise _without_rows(address, names)
    if len(found) > 1:
        at = f"@{address.revision}" if address.revision else ""
        files = _listed([f"{HUB}{address.name}/{name}{at}" for name in found])
        raise refused(address.where, f"{address.name} has {len(found)} files of rows; name one of them: {files}")
    return _Address(address.where, address.name, found[0], address.revision or info.sha, address.endpoint)


def _without_rows(address: _Address, names: Sequence[str]) -> DataError:
    return refused(
        address.where,
        f"{address.name} has no file of rows (.jsonl or .json, also .gz and .zst), only {_listed(names)}; "
        "write its rows as JSON lines (docs/datasets.md) and give that file",
    )


def _is_rows(name: str) -> bool:
    return _ROWS.fullmatch(name) is not None and name.rpartition("/")[2] not in _ABOUT


def _listed(names: Sequence[str]) -> str:
    more = f" … (+{len(names) - _MOST_LISTED})" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def _bound(address: _Address, size: int) -> None:
    if size > MAX_DOWNLOAD_BYTES:
        raise too_large(address.where, size, MAX_DOWNLOAD_BYTES)


@contextmanager
def _refusals(address: _Address) -> Iterator[Any]:
    """The hub's library, what it raises told as a sentence."""
    where = address.where
    require_proxies((address.endpoint,))
    try:
        import huggingface_hub as hub
        from huggingface_hub import constants, errors
        from huggingface_hub.utils.tqdm import disable_progress_bars
    except ImportError:
        sentence = f"the Hugging Face hub needs {install_line('hf')}; or download the file and give its path"
        raise refused(where, sentence) from None
    silence("huggingface_hub")
    # Else it asks the hub for a list by which to tell it what this program runs in.
    constants.HF_HUB_DISABLE_TELEMETRY = True
    disable_progress_bars()
    name, endpoint = address.name, address.endpoint
    gated = (
        f"{name} is gated; accept its terms at {endpoint}/datasets/{name} and set HF_TOKEN to a token of that account"
    )
    try:
        yield hub
    except errors.HFValidationError:
        raise refused(where, "no data set can have this name; give owner and name") from None
    except errors.GatedRepoError:
        raise refused(where, gated) from None
    except errors.RepositoryNotFoundError:
        sentence = (
            f"{endpoint} has no data set {name}, or hides it without a token; "
            "check owner and name, or set HF_TOKEN to a token that may read it"
        )
        raise refused(where, sentence) from None
    except errors.RevisionNotFoundError:
        sentence = f"{name} has no revision {address.revision}; give a branch, tag or commit, or nothing for the newest"
        raise refused(where, sentence) from None
    except errors.RemoteEntryNotFoundError:
        revision = address.revision or "main"
        sentence = f"{name} has no file {address.file} at {revision}; leave the file out to get a list"
        raise refused(where, sentence) from None
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        other = f"{endpoint} answered {status}; try again later, or download the file and give its path"
        raise refused(where, gated if status in (401, 403) else other) from None
    except (httpx2.HTTPError, OSError) as error:
        if isinstance(error, OSError) and error.errno in _DISK:
            raise StorageError(f"the hub's cache cannot be written: {error.strerror}") from None
        cause = error.__cause__ or error
        reason = (str(cause) or type(cause).__name__).splitlines()[0][:_LONGEST_REASON]
        sentence = (
            f"{endpoint} cannot be read ({reason}); check the connection, or download the file elsewhere and "
            "give its path. A cached file is found without a connection if the address names the file"
        )
        raise refused(where, sentence) from None
