"""Says in which coding a body still is that should be text by now; it unpacks nothing."""

from __future__ import annotations

from collections.abc import Mapping

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_UNPACKED_HERE = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})


def packing(headers: Mapping[str, str], head: bytes, *, is_text: bool) -> str | None:
    """The coding of a body that begins with ``head``: by its first bytes, else as declared unless it ``is_text``."""
    known = next((coding for magic, coding in _MAGIC.items() if head.startswith(magic)), None)
    if known is not None or is_text or not head:
        return known
    declared = (one.strip().lower() for one in headers.get("content-encoding", "").split(","))
    return next((coding[:40] for coding in declared if coding not in _UNPACKED_HERE), None)


def packed_message(coding: str) -> str:
    """What to say of a body that cannot be read for its packing."""
    return (
        f"the body is still packed with {coding}: the request asked for none ('accept-encoding: identity'), "
        "and only gzip and deflate are unpacked, once for each time that content-encoding declares them"
    )
