"""The base class of vendor plugins, which do no I/O, so that every vendor is timed by the same code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from vendor_verifier.records.record import Failure
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_chat import OpenAIChat


class Vendor:
    """Base class of all vendors. A plugin sets class attributes; it is never given a socket, a clock or a retry.

    Attributes:
        name: what config.yaml says under ``name:``; any text, ``429.icu`` included.
        base_url: default address, None where the config must give it.
        wire: how the vendor speaks.
        key_name: variable that holds the key; the vendor's name unless set.
    """

    name: ClassVar[str]
    base_url: ClassVar[str | None] = None
    wire: ClassVar[Wire]
    key_name: ClassVar[str | None] = None

    def classify(self, status: int, headers: Mapping[str, str], body: bytes) -> Failure | None:  # noqa: ARG002 a hook
        """Name a non-2xx answer better than its status does, or None to leave it to the status."""
        return None


class OpenAICompatible(Vendor):
    """A vendor that speaks chat completions."""

    wire: ClassVar[Wire] = OpenAIChat()
