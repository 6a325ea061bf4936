"""Files at URLs, whose addresses hold their digest: downloaded once, whole or not at all, and kept by digest.

No key is sent, no cookie kept, and nothing unpacked here; the digest is of the bytes as ``sha256sum`` sees them.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import httpx2
import msgspec
from platformdirs import user_cache_path

from vendor_verifier.errors import StorageError
from vendor_verifier.pipeline.downloads import MAX_DOWNLOAD_BYTES, Place, refused, too_large
from vendor_verifier.resources import PRODUCT
from vendor_verifier.sample_store import file_digest
from vendor_verifier.transport.proxies import require_proxies

MAX_REDIRECTS = 5
MAX_S = 1800.0
_TIMEOUT = httpx2.Timeout(30.0, connect=10.0)
_DIGEST = re.compile(r"sha256=([0-9a-fA-F]{64})")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 100


class _Address(msgspec.Struct, frozen=True):
    """A URL taken apart. ``shown`` is without its query, which may hold a signature, and without digest."""

    url: str
    shown: str
    host: str
    name: str
    digest: str | None


def url_file(where: str) -> Place:
    """The file at a URL ending in ``#sha256=<digest>``, out of the cache where it is there already.

    Raises:
        DataError: the address has no or another digest, or nothing that can be used is there.
        StorageError: the cache cannot be written.
    """
    address = _read(where)
    if address.digest is not None:
        kept = _kept(address.digest, address.name)
        # What lies on a disk may rot, and reading it costs little beside a download.
        if kept.is_file() and file_digest(kept) == address.digest:
            return Place(kept, f"{address.shown}#sha256={address.digest}")
    require_proxies((address.url,))
    path, size, digest = _download(address)
    if address.digest is None:
        whole = f"{address.url}#sha256={digest}"
        sentence = (
            "a URL needs the SHA-256 of its file, because the file may change; it has "
            f"{size} bytes now: if you mean these, give {whole}"
        )
        raise refused(address.shown, sentence)
    if digest != address.digest:
        sentence = (
            f"expected SHA-256 {address.digest}, read {size} bytes of SHA-256 {digest}; the file was changed or is "
            "another one: check the address, or take the new digest if you trust it"
        )
        raise refused(address.shown, sentence)
    return Place(path, f"{address.shown}#sha256={digest}")


def _read(where: str) -> _Address:
    try:
        parts = urlsplit(where)
        host, _port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        raise refused(where, "expected https://host/file.jsonl#sha256=digest")
    bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    if "@" in parts.netloc:
        raise refused(bare, "read a user name or password in the address; download the file and give its path")
    found = _DIGEST.fullmatch(parts.fragment)
    if parts.fragment and found is None:
        read = parts.fragment[:_LONGEST_NAME]
        raise refused(bare, f"read #{read}, expected #sha256= and 64 hexadecimal digits, as sha256sum prints them")
    name = _UNSAFE.sub("_", parts.path.rpartition("/")[2])[-_LONGEST_NAME:].lstrip(".") or "data"
    url = urlunsplit((parts.scheme, parts.netloc, parts.path, parts.query, ""))
    return _Address(url, bare, parts.netloc, name, found[1].lower() if found else None)


def _kept(digest: str, name: str) -> Path:
    return user_cache_path(PRODUCT, appauthor=False) / "data" / digest / name


def _download(address: _Address) -> tuple[Path, int, str]:
    """The file in the cache, its size and digest; it appears there whole or not at all."""
    folder = user_cache_path(PRODUCT, appauthor=False) / "data"
    digest, size = hashlib.sha256(), 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
        unfinished = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                for piece in _pieces(address):
                    digest.update(piece)
                    size += file.write(piece)
            target = _kept(digest.hexdigest(), address.name)
            target.parent.mkdir(exist_ok=True)
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{folder} cannot be written: {error.strerror or error}") from None
    return target, size, digest.hexdigest()


def _pieces(address: _Address) -> Iterator[bytes]:
    """The bytes that lie there, as long as they are fewer and come sooner than is allowed."""
    shown, over, size = address.shown, time.monotonic() + MAX_S, 0
    with (
        _refusals(address),
        httpx2.Client(follow_redirects=True, max_redirects=MAX_REDIRECTS, timeout=_TIMEOUT) as client,
        client.stream("GET", address.url, headers={"accept-encoding": "identity"}) as response,
    ):
        if response.status_code != 200:
            raise refused(shown, f"{address.host} answered {response.status_code}{_advice(response.status_code)}")
        if (stated := _stated(response)) is not None and stated > MAX_DOWNLOAD_BYTES:
            raise too_large(shown, stated, MAX_DOWNLOAD_BYTES)
        for piece in response.iter_raw():
            size += len(piece)
            if size > MAX_DOWNLOAD_BYTES:
                raise too_large(shown, size, MAX_DOWNLOAD_BYTES)
            if time.monotonic() > over:
                raise refused(shown, f"not complete after {MAX_S:g} s; download it and give the file")
            yield piece


def _advice(status: int) -> str:
    if status in (401, 403):
        return ": it is not public; download it with your own access and give the file"
    if status in (404, 410):
        return ": there is no such file; check the address"
    return ", expected 200; try again later, or download the file and give its path"


def _stated(response: httpx2.Response) -> int | None:
    """The size that the server says beforehand."""
    length = response.headers.get("content-length", "")
    return int(length) if length.isdecimal() else None


@contextmanager
def _refusals(address: _Address) -> Iterator[None]:
    """Errors of the network as a sentence."""
    try:
        yield
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        advice = "check the connection and the address, or download the file elsewhere and give its path"
        raise refused(address.shown, f"{address.host} cannot be read ({reason}); {advice}") from None
