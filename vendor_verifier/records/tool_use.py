"""Calls of real tools within a conversation: what a suite asks for, what the tools returned, and who runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from vendor_verifier.records.event import Count

# ``error``: the tool itself said that it could not do it. ``not_allowed``: no tool that the user named, never called.
ToolOutcome = Literal["ok", "error", "not_allowed"]


class ToolRequest(msgspec.Struct, frozen=True):
    """A call that a model made, its arguments read."""

    name: str
    arguments: Mapping[str, Any]


class RunTools(msgspec.Struct, frozen=True):
    """A step of a play: these calls are to be run, in order. Without any: are the tools there at all?"""

    requests: tuple[ToolRequest, ...] = ()


class ToolResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of one call. ``text`` is what the model is shown, ``left_out`` how many characters of it were cut,
    ``took_ns`` the time in the tool, which no figure of a vendor contains."""

    name: str
    outcome: ToolOutcome
    text: str = ""
    took_ns: Count = 0
    left_out: Count = 0


class ToolRun(msgspec.Struct, frozen=True):
    """The results of a step, in order; with a ``failure``, which is ours, only of the calls before it."""

    results: tuple[ToolResult, ...] = ()
    failure: str | None = None


class ToolRunner(Protocol):
    """Runs the calls of models, each within limits of time and size. Nothing that a server does makes it raise."""

    async def run(self, requests: Sequence[ToolRequest]) -> ToolRun: ...
