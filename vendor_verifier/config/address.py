"""Judges the address of a vendor: what it may look like, whose origin it is; it resolves and opens nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from vendor_verifier.loopback import is_loopback

_HOST = re.compile(r"[A-Za-z0-9._:%-]+")
_PERSONA = re.compile(r"sim://([a-z][a-z0-9-]{0,40})")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """A usable base url. ``origin`` is scheme, host and port; ``local`` addresses need no key."""

    url: str
    origin: str
    host: str
    local: bool


class AddressError(Exception):
    """The url cannot be used; the message never repeats what may hold a password."""


def read_address(url: str, *, allow_http: bool) -> Address:
    """Check a base url. Raises AddressError with what is wrong and how to mend it.

    ``sim://<persona>`` is kept as it is: it stands for a simulated vendor and is given its port when that one starts.
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
