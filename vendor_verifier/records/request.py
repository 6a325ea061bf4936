"""A question to a vendor, before (Turn, Endpoint) and after (HttpRequest) a wire has translated it; and calls of real
tools within a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

import msgspec

# Beyond it JSON's readers disagree on what a number is; as nanoseconds it is a hundred days.
MAX_NUMBER = 2**53
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_NUMBER)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=MAX_NUMBER)]

# The names of the limit of an answer's tokens.
BUDGETS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class Turn(msgspec.Struct, frozen=True):
    """One question in chat-completions terms. ``parameters`` are the other body keys (``tool_choice``, ``temperature``,
    …), never ``model`` or ``stream``. ``thinking`` switches the model's reasoning where the wire can. ``fixed`` names
    parameters that an entry's own, or its body, must not replace, because they are what is examined."""

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    parameters: Mapping[str, Any] = {}
    stream: bool = True
    thinking: Literal["on", "off"] | None = None
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address and key to ask with. ``key`` and ``headers`` may be secret and stay out of every ``repr``.

    ``body`` is merged last into the request body (``extra_body``, a router's provider pin).
    """

    base_url: str
    model_id: str
    key: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: Mapping[str, Any] = field(default_factory=dict)


class HttpRequest(msgspec.Struct, frozen=True):
    """One POST (or, for the data of an evaluation, GET), ready to send. ``headers`` may be secret and stay out of every
    ``repr``.

    ``untranslatable`` names what this wire cannot carry: such a request is not sent. ``tool_names`` maps names as sent
    to names as declared. ``rewritten`` names what is sent in other words than the turn's (``schema:oneOf``,
    ``dropped:seed``).
    """

    url: str
    headers: Mapping[str, str]
    body: bytes
    untranslatable: tuple[str, ...] = ()
    tool_names: Mapping[str, str] = {}
    rewritten: tuple[str, ...] = ()
    method: Literal["POST", "GET"] = "POST"

    def __repr__(self) -> str:
        return f"HttpRequest({self.method} {self.url}, {len(self.body)} bytes)"


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
    """Runs the calls of models, each within limits of time and size. Never raises, whatever a server does."""

    async def run(self, requests: Sequence[ToolRequest]) -> ToolRun: ...
