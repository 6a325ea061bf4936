"""A question to a simulated vendor, whatever its protocol, with a digest equal over all of them.

Protocols join system texts and move them to the front, merge messages of one role, drop empty ones, make ids unique,
bring the results of parallel calls into another order, turn results into objects and narrow tool names. All of that
is normalised here: two requests that ask the same thing have the same digest over every protocol. Tool schemas stay
out of it, because Gemini's subset changes them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any, Literal

import msgspec

from vendor_verifier.values.request import Turn
from vendor_verifier.wire.base import Notes
from vendor_verifier.wire.history import Part, PastMessage, TextPart, read_messages
from vendor_verifier.wire.payload import PayloadError, as_count, as_dict, as_list, parse_json

_STEM_LENGTH = 56
_IMAGE_SIZE = 1024
_PIECE_SIZE = 16

Kind = Literal["system", "user", "assistant", "call", "result", "image"]


class Piece(msgspec.Struct, frozen=True):
    """One text, tool call or tool result of a conversation; white space is single blanks."""

    kind: Kind
    text: str


def pieces_of(turn: Turn) -> tuple[Piece, ...]:
    """The normalised conversation of a turn, with the system messages in front."""
    history = read_messages(turn.messages, Notes())
    system = [Piece("system", message.text) for message in history if message.role == "system"]
    talk = (piece for message in history if message.role != "system" for piece in _pieces(message))
    return tuple(_normalised([*system, *talk]))


def name_stem(name: str) -> str:
    """A tool's name narrowed to every protocol's alphabet and length, without the number that parts equal ones."""
    narrowed = re.sub(r"^[^a-zA-Z_]|[^a-zA-Z0-9]", "_", name)[:_STEM_LENGTH]
    return re.sub(r"(_\d*)+$", "", narrowed)


def _pieces(message: PastMessage) -> Iterator[Piece]:
    if message.role == "tool":
        yield Piece("result", _result(" ".join(part.text for part in message.parts if isinstance(part, TextPart))))
        yield from (_piece("user", part) for part in message.parts if not isinstance(part, TextPart))
        return
    yield from (_piece("assistant" if message.role == "assistant" else "user", part) for part in message.parts)
    for call in message.calls:
        yield Piece("call", f"{name_stem(call.name)} {_canonical(call.arguments or '{}')}")


def _piece(kind: Kind, part: Part) -> Piece:
    return Piece(kind, part.text) if isinstance(part, TextPart) else Piece("image", part.data or part.url or "")


def _normalised(pieces: Iterable[Piece]) -> Iterator[Piece]:
    tidy = (Piece(piece.kind, " ".join(piece.text.split())) for piece in pieces)
    for kind, run in groupby((piece for piece in tidy if piece.text), key=lambda piece: piece.kind):
        texts = [piece.text for piece in run]
        if kind == "result":
            texts.sort()
        if kind in ("system", "user", "assistant"):
            texts = [" ".join(texts)]
        yield from (Piece(kind, text) for text in texts)


def _result(text: str) -> str:
    """A tool's result; Gemini wraps what is not an object in one."""
    value = _parsed(text)
    if isinstance(value, Mapping) and list(value) == ["output"] and isinstance(value["output"], str):
        return _result(value["output"])
    return _canonical(text) or "(nothing)"


def _canonical(text: str) -> str:
    """JSON objects with their keys in order, everything else as it is."""
    value = _parsed(text)
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else text


def _parsed(text: str) -> Any:
    try:
        return parse_json(text)
    except PayloadError:
        return None


CHARACTERS_PER_TOKEN = 4


class BadQuestion(Exception):
    """A request that every vendor refuses with 400; ``parameter`` is the body key at fault."""

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class Question(msgspec.Struct, frozen=True):
    """A turn in chat-completions terms with what follows from it.

    ``digest`` (16 hexadecimal digits) stands for messages, tools and tool choice as far as every protocol carries them,
    so it is the same under every protocol, model name and setting. ``digest_but_results`` leaves out what tools
    returned, which nobody knows beforehand where they are real.
    """

    turn: Turn
    digest: str
    digest_but_results: str
    prompt_tokens: int
    pieces: tuple[Piece, ...]

    @property
    def last_user_text(self) -> str:
        """The text of the user's last message."""
        return next((piece.text for piece in reversed(self.pieces) if piece.kind == "user"), "")

    @property
    def after_tool_result(self) -> bool:
        """Whether the conversation ends with a tool's answer rather than the user's words."""
        return bool(self.pieces) and self.pieces[-1].kind == "result"

    @property
    def tools(self) -> dict[str, Any]:
        """Parameters schema by tool name; the first of two tools with one name counts."""
        return {name: function.get("parameters") for name, function in _functions(self.turn).items()}

    @property
    def choice(self) -> str:
        """``auto``, ``none``, ``required`` (any tool, or one of some) or ``named`` (the one tool)."""
        mode, names = _choice(self.turn)
        return "named" if mode == "required" and len(names) == 1 else mode

    @property
    def allowed_tools(self) -> list[str]:
        """The tools that may be called: all of them unless ``tool_choice`` names some."""
        names = _choice(self.turn)[1]
        return [name for name in self.tools if not names or name in names]

    @property
    def parallel(self) -> bool:
        """More than one call may be made."""
        return self.turn.parameters.get("parallel_tool_calls") is not False

    @property
    def temperature(self) -> float:
        """The temperature asked for; 0 without one, so that nothing is left to chance unless asked for."""
        value = self.turn.parameters.get("temperature")
        return float(value) if isinstance(value, (int, float)) else 0.0

    @property
    def max_tokens(self) -> int | None:
        """The output budget under either of its names."""
        parameters = self.turn.parameters
        return as_count(parameters.get("max_completion_tokens")) or as_count(parameters.get("max_tokens"))


def question_of(turn: Turn) -> Question:
    """Check a turn as strictly as a real vendor would, and derive digest and prompt size.

    Raises:
        BadQuestion: no messages, a message without a role, a tool choice that cannot be met, a parameter out of range.
    """
    _check_messages(turn)
    _check_parameters(turn.parameters)
    functions = _functions(turn)
    mode, names = _choice(turn)
    if mode == "required" and not functions:
        raise BadQuestion("tool_choice is only allowed when tools are given", "tool_choice")
    unknown = [name for name in names if name not in functions]
    if unknown:
        raise BadQuestion(f"tool_choice names a tool that was not given: {unknown[0]}", "tool_choice")
    pieces = pieces_of(turn)
    declared = [
        [name, function.get("description") or "", _stated_parameters(function.get("parameters"))]
        for name, function in functions.items()
    ]
    size = sum(_IMAGE_SIZE if piece.kind == "image" else len(piece.text) for piece in pieces)
    size += _PIECE_SIZE * len(pieces) + (len(json.dumps(declared)) if declared else 0)
    texts = [(piece.kind, piece.text.replace(" ", "")) for piece in pieces]
    asked = [[name_stem(name) for name in functions], [mode, *sorted(map(name_stem, names))]]
    digest = _digest(texts, asked)
    has_results = any(kind == "result" for kind, _ in texts)
    blind = (
        _digest([(kind, "" if kind == "result" else text) for kind, text in texts], asked) if has_results else digest
    )
    return Question(turn, digest, blind, -(-size // CHARACTERS_PER_TOKEN), pieces)


def _digest(texts: Sequence[tuple[str, str]], asked: Sequence[Sequence[str]]) -> str:
    content = json.dumps([texts, *asked], separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def shortened(question: Question, room: int) -> Question:
    """The question with the last ``room`` characters of each of its messages; itself where all are as short."""
    texts = [message.get("content") for message in question.turn.messages]
    if not any(isinstance(text, str) and len(text) > room for text in texts):
        return question
    messages = tuple(
        {**message, "content": text[-room:]} if isinstance(text, str) else message
        for message, text in zip(question.turn.messages, texts, strict=True)
    )
    return question_of(Turn(messages, question.turn.tools, question.turn.parameters))


def _functions(turn: Turn) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for tool in turn.tools:
        function = as_dict(tool.get("function"))
        name = function.get("name")
        if isinstance(name, str) and name:
            found.setdefault(name, function)
    return found


def _stated_parameters(schema: object) -> object:
    """A tool's schema, None for an empty one, because some protocols must send an object there."""
    is_empty = not isinstance(schema, dict) or not any(value for key, value in schema.items() if key != "type")
    return None if is_empty else schema


def _choice(turn: Turn) -> tuple[str, Sequence[str]]:
    """``auto``, ``none`` or ``required``, and the tools it is limited to (none: no limit)."""
    choice = turn.parameters.get("tool_choice")
    if isinstance(choice, dict):
        name = as_dict(choice.get("function")).get("name")
        if isinstance(name, str) and name:
            return "required", [name]
        allowed = as_dict(choice.get("allowed_tools"))
        names = [as_dict(as_dict(item).get("function")).get("name") for item in as_list(allowed.get("tools"))]
        mode = "required" if allowed.get("mode") == "required" else "auto"
        return mode, [name for name in names if isinstance(name, str)]
    return (choice if choice in ("none", "required") else "auto"), []


def _check_messages(turn: Turn) -> None:
    if not turn.messages:
        raise BadQuestion("messages is empty", "messages")
    for number, message in enumerate(turn.messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise BadQuestion(f"messages[{number}] has no role", "messages")
    for number, tool in enumerate(turn.tools):
        if not isinstance(tool, Mapping):
            raise BadQuestion(f"tools[{number}] is not an object", "tools")


def _check_parameters(parameters: Mapping[str, Any]) -> None:
    for key in ("max_tokens", "max_completion_tokens"):
        value = parameters.get(key)
        if value is not None and not as_count(value):
            raise BadQuestion(f"{key} must be a positive whole number", key)
    temperature = parameters.get("temperature")
    if temperature is not None and not (
        isinstance(temperature, (int, float)) and not isinstance(temperature, bool) and 0 <= temperature <= 2
    ):
        raise BadQuestion("temperature must be a number from 0 to 2", "temperature")
    if parameters.get("n") not in (None, 1):
        raise BadQuestion("n must be 1", "n")


@cache
def published() -> frozenset[str]:
    """The digests of all questions that ship as files."""
    # Only one persona asks, so the others' servers start without what reads data sets.
    from vendor_verifier.pipeline.datasets import load_dataset
    from vendor_verifier.resources import shipped
    from vendor_verifier.suites import SUITES

    files = [kind.dataset for kind in SUITES if isinstance(kind.dataset, str)]
    every = (sample for name in files for sample in load_dataset(shipped(name)).samples)
    return frozenset(question_of(sample.turn).digest for sample in every)
