"""Writes the head of a POST and says where it goes; it opens nothing, and refuses what is not plain HTTP/1.1.

A header that cannot be sent may be the key, so no message quotes one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_PATH = re.compile(r"[\x21-\x7e]*")
_HOST = re.compile(r"[0-9A-Za-z._:-]+")
_PORTS = {"http": 80, "https": 443}
# These would change how the request is framed.
_FRAMING = frozenset({"content-length", "transfer-encoding", "expect", "upgrade"})


class Unusual(ValueError):
    """An address or header this writer does not write; another client may."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Whom to connect to."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class RequestHead:
    """A head up to the number after ``content-length: ``, for every body that follows."""

    origin: Origin
    start: bytes

    def with_body(self, body: bytes) -> bytes:
        return b"%b%d\r\n\r\n%b" % (self.start, len(body), body)


def request_head(url: str, headers: Mapping[str, str], defaults: Mapping[str, str]) -> RequestHead:
    """The head of a POST to ``url``; ``headers`` win over ``defaults``, whatever their case.

    Raises:
        Unusual: not http or https, user data or characters in the address that need rewriting, framing headers of
            the caller's own, or headers that are not valid HTTP.
    """
    parts = urlsplit(url)
    port = _PORTS.get(parts.scheme)
    host = parts.hostname or ""
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    if port is None or "@" in parts.netloc or not _HOST.fullmatch(host) or not _PATH.fullmatch(target):
        raise Unusual("the address is not plain")
    try:
        origin = Origin(parts.scheme, host, parts.port or port)
    except ValueError:
        raise Unusual("the port is not a number") from None
    named = f"[{host}]" if ":" in host else host
    shown = named if origin.port == port else f"{named}:{origin.port}"
    merged = {"host": shown, **defaults, **{name.lower(): value for name, value in headers.items()}}
    lines = [f"POST {target} HTTP/1.1", *(_line(name, value) for name, value in merged.items()), "content-length: "]
    return RequestHead(origin, "\r\n".join(lines).encode("ascii"))


def _line(name: str, value: str) -> str:
    if name in _FRAMING or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
        raise Unusual("a header is not plain")
    return f"{name}: {value}"
