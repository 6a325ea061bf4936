"""The figures of every vendor: group-bys over the frames."""

from __future__ import annotations

import msgspec


class Money(msgspec.Struct, frozen=True):
    """To be written."""
