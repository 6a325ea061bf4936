"""The values between a run and the process that speaks to its MCP server; without the SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Access(msgspec.Struct, frozen=True):
    """The way to a server and its bounds: by ``command`` with ``environment``, or by ``url`` with ``headers``.

    ``start_s`` and ``call_s`` are seconds, ``result_bytes`` is the longest text of one result, and ``restarts`` how
    often a server that failed is started again.
    """

    allowed: tuple[str, ...]
    start_s: float
    call_s: float
    result_bytes: int
    restarts: int
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    url: str | None = None
    headers: Mapping[str, str] = {}


class Listing(msgspec.Struct, frozen=True):
    """The tools of a server: declarations of those that are allowed, by name, the names of all, and who it says it is.

    ``unusable``: allowed tools that cannot be declared, with the reason. ``problem``: why there is no list.
    """

    declared: Mapping[str, Mapping[str, Any]] = {}
    names: tuple[str, ...] = ()
    server: str = ""
    unusable: Mapping[str, str] = {}
    problem: str | None = None
