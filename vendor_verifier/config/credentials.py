"""A vendor's address, and the sources of its key and secret headers; secrets in config.yaml itself are refused."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path as FilePath
from urllib.parse import SplitResult, urlsplit

import msgspec

from vendor_verifier.config.env_file import (
    abbreviated,
    is_placeholder,
    looks_secret,
    names_a_secret,
    reference,
    references,
    shown,
)
from vendor_verifier.config.problems import Findings
from vendor_verifier.config.schema import VendorEntry
from vendor_verifier.config.yaml_source import Path
from vendor_verifier.transport.proxies import is_loopback

_HOST = re.compile(r"[A-Za-z0-9._:%-]+")
_PERSONA = re.compile(r"sim://([a-z][a-z0-9-]{0,40})")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Address(msgspec.Struct, frozen=True):
    """A usable base url. ``origin`` is scheme, host and port; ``local`` addresses need no key."""

    url: str
    origin: str
    host: str
    local: bool


class AddressError(Exception):
    """The url cannot be used; the message never repeats what may hold a password."""


def read_address(url: str, *, allow_http: bool) -> Address:
    """Check a base url. Raises AddressError with what is wrong and how to fix it.

    ``sim://<persona>`` is kept as it is: it means a simulated vendor and is given its port when that one starts.
    """
    if url.startswith("sim:"):
        simulated = _PERSONA.fullmatch(url)
        if simulated is None:
            raise AddressError("a simulated vendor is written `sim://<persona>`, for example `sim://faithful`")
        return Address(url, url, simulated.group(1), local=True)
    parts, port = _split(url)
    host = (parts.hostname or "").lower()
    local = is_loopback(host)
    if parts.scheme == "http" and not local and not allow_http:
        raise AddressError(
            "plain http sends the key unencrypted and is for loopback only; use https://, or set `allow_http: true`"
        )
    shown_host = f"[{host}]" if ":" in host else host
    origin = f"{parts.scheme}://{shown_host}:{port or _DEFAULT_PORTS[parts.scheme]}"
    return Address(url.rstrip("/"), origin, host, local)


def _split(url: str) -> tuple[SplitResult, int | None]:
    if not url.isascii() or not url.isprintable() or any(char in url for char in ' "<>\\^`{|}'):
        raise AddressError("holds a space or another character that no url has")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise AddressError("not a url; expected something like https://api.example.com/v1") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise AddressError("expected a url that starts with https:// (or http:// on loopback)")
    if "@" in parts.netloc:
        raise AddressError("holds a user name or password; remove it and give the key in .env")
    if not parts.hostname or _HOST.fullmatch(parts.hostname) is None or port == 0:
        raise AddressError("names no host; expected something like https://api.example.com/v1")
    if "?" in url or "#" in url:
        raise AddressError("holds a `?query` or `#fragment`; give the base only, as in https://api.example.com/v1")
    return parts, port


_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TRANSPORT_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"}
)


class KeySource(msgspec.Struct, frozen=True):
    """The variable a key is in. ``explicit``: the config names it, so it must be there even for a local vendor.

    ``command``: the words of a program that prints the key instead (tokens that live an hour); nothing is looked up.
    """

    name: str
    path: Path
    explicit: bool
    command: tuple[str, ...] = ()


def key_source(path: Path, entry: VendorEntry, usual: str, findings: Findings) -> KeySource | None:
    """The source of the key of ``entry``: the one it names, else the variable ``usual``; ``None`` when refused."""
    if entry.api_key_command is not None:
        return _command(path, entry, entry.api_key_command, usual, findings)
    literal = entry.api_key if entry.api_key is not None and not is_placeholder(entry.api_key) else None
    named = entry.api_key_env
    if literal is None and named is None:
        return KeySource(usual, path, explicit=False)
    where = (*path, "api_key" if literal is not None else "api_key_env")
    if literal is not None and named is not None:
        findings.problem((*path, "api_key_env"), "give either `api_key: ${NAME}` or `api_key_env: NAME`, not both")
        return None
    if literal is not None:
        name = reference(literal)
        if name is None:
            findings.problem(where, _refused(literal, usual, findings.file))
            return None
        return KeySource(name, where, explicit=True)
    assert named is not None
    if looks_secret(named):
        findings.problem(
            where, f"expected the name of a variable, this is a key: {_refused(named, usual, findings.file)}"
        )
        return None
    if "$" in named or not named.isprintable() or named != named.strip():
        findings.problem(where, "expected the bare name of a variable, without `${}` and spaces, such as MY_KEY")
        return None
    return KeySource(named, where, explicit=True)


def _command(path: Path, entry: VendorEntry, text: str, usual: str, findings: Findings) -> KeySource | None:
    """A command is split into words as a shell would, but no shell runs it."""
    where = (*path, "api_key_command")
    if entry.api_key is not None or entry.api_key_env is not None:
        findings.problem(where, "give either a command or a variable for the key, not both")
        return None
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        findings.problem(where, f"cannot be split into words ({error}); check its quotes")
        return None
    if any(looks_secret(word) for word in words):
        findings.problem(where, "holds what looks like a key; a command must fetch it from somewhere safe")
        return None
    return KeySource(usual, where, explicit=False, command=words)


def _refused(literal: str, usual: str, file: FilePath) -> str:
    if literal.startswith("$"):
        return "a variable is written `${NAME}`, with braces and nothing around or inside"
    return (
        f"a key ({abbreviated(literal)}) must not be in this file, where it gets shared and committed; "
        f"write `{usual}=<the key>` in .env and delete this line, or name another variable: `api_key: ${{NAME}}`; "
        f"`agent-vendor-verifier init --from {file}` moves every key of the file"
    )


def check_headers(path: Path, headers: Mapping[str, str], findings: Findings) -> None:
    """Header names that HTTP allows and the transport does not own; values without literal secrets."""
    for name, text in headers.items():
        where = (*path, name)
        if _HEADER_NAME.fullmatch(name) is None:
            findings.problem(where, "not a header name; use letters, digits and dashes")
        elif name.lower() in _TRANSPORT_HEADERS:
            findings.problem(where, "this header is set by the transport; remove it")
        elif "${" in text and text.count("${") != len(references(text)):
            findings.problem(where, "a variable is written `${NAME}`, with both braces")
        elif not text.isprintable() or not text.isascii():
            findings.problem(where, "a header value is one line of ASCII text")
        elif _holds_literal(name, text):
            message = f"a literal secret ({abbreviated(text)}) is refused; put it in .env and write `{_example(name)}`"
            findings.problem(where, message)


def _holds_literal(name: str, text: str) -> bool:
    if looks_secret(text):
        return True
    return names_a_secret(name) and not references(text) and not is_placeholder(text)


def _example(name: str) -> str:
    value = "Bearer ${MY_KEY}" if name.lower() == "authorization" else "${MY_KEY}"
    return f"{shown(name).strip('`')}: {value}"
