"""Compares the provider that served an answer with the pinned one; other providers' rows are not the vendor's."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

# Display names of OpenRouter that are not just another spelling of the slug.
_DISPLAY_NAMES: Mapping[str, Collection[str]] = {
    "googlevertex": ("google", "vertex"),
    "moonshotai": ("moonshot",),
    "zai": ("zhipu",),
    "amazonbedrock": ("amazon", "bedrock", "aws"),
}
_NOT_ALPHANUMERIC = re.compile(r"[^a-z0-9]")


def same_provider(pin: str, served: str) -> bool:
    """Whether a router's name of a provider (``Google``, ``Novita AI``) can be the pinned slug (``google-vertex``).

    Spelling, a region or quantisation behind a slash, and a longer or shorter form of one name do not matter.
    """
    wanted, got = _bare(pin.partition("/")[0]), _bare(served.partition("/")[0])
    if not wanted or not got:
        return True
    return wanted.startswith(got) or got.startswith(wanted) or got in _DISPLAY_NAMES.get(wanted, ())


def _bare(name: str) -> str:
    return _NOT_ALPHANUMERIC.sub("", name.casefold())
