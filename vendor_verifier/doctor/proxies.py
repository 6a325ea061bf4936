"""Which proxy the environment prescribes for an address, by the rules our HTTP client follows; it connects nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit


def proxy_for(scheme: str, host: str, environ: Mapping[str, str]) -> str | None:
    """``scheme://host:port`` of the proxy, credentials left out, or ``None`` for a direct connection.

    ``http_proxy``, ``https_proxy`` and ``all_proxy`` in either case, the lower one first; ``no_proxy`` exempts hosts,
    with their subdomains unless it is an address, and ``*`` exempts all.
    """
    if any(_exempts(rule, host.lower()) for rule in _rules(environ)):
        return None
    stated = _variable(f"{scheme}_proxy", environ) or _variable("all_proxy", environ)
    return _without_credentials(stated) if stated else None


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if name == "http_proxy" and "REQUEST_METHOD" in environ:
        # Under CGI the upper-case name can be set by anyone who sends a header of that name.
        return environ.get(name, "")
    return environ.get(name) or environ.get(name.upper()) or ""


def _rules(environ: Mapping[str, str]) -> Iterator[str]:
    for word in _variable("no_proxy", environ).split(","):
        rule = word.strip().lower()
        if rule:
            yield rule


def _exempts(rule: str, host: str) -> bool:
    if rule == "*":
        return True
    if "://" in rule:
        rule = urlsplit(rule).hostname or ""
    bare = rule.strip("[]")
    if rule == "localhost" or _is_address(bare):
        return host == bare
    if rule.startswith(("*.", ".")):
        return host.endswith(rule.removeprefix("*"))
    return host == rule or host.endswith("." + rule)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _without_credentials(url: str) -> str:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ""
    host = parts.hostname or "(no host)"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"
