"""Compares what an SDK's user holds with our own reading of the same bytes; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vendor_verifier.doctor.sdk_readings import SdkReading
from vendor_verifier.values.record import Failure, Response
from vendor_verifier.wire.payload import PayloadError, parse_json

_SHOWN = 60


def losses(reading: SdkReading, response: Response | None, failure: Failure | None, wire: str) -> tuple[str, ...]:
    """What the application lost, or holds that was never said; empty when both agree.

    A failure that the SDK did not raise is a loss too: the application takes a cut or refused answer for a whole one.
    Raw completions are compared by text alone, because calls in them are ours to find, not the SDK's.
    """
    return tuple(_losses(reading, response, failure, wire))


def _losses(reading: SdkReading, response: Response | None, failure: Failure | None, wire: str) -> Iterator[str]:
    if failure is not None:
        yield f"no exception for an answer that failed ({failure.kind}: {failure.message[:_SHOWN]})"
    if response is None:
        return
    is_raw = wire == "openai_completions"
    if not is_raw and reading.text != response.text:
        yield f"text: {_shown(reading.text)} instead of {_shown(response.text)}"
    if not is_raw:
        yield from _call_losses(reading.calls, [(call.name, call.arguments) for call in response.tool_calls])
    if response.finish_reason is not None and reading.finish is None:
        yield "the finish reason is lost"
    usage = response.usage
    for name, said, held in (
        ("input", usage.input if usage else None, reading.input_tokens),
        ("output", usage.output if usage else None, reading.output_tokens),
    ):
        if said is not None and held != said:
            yield f"usage, {name} tokens: {'none' if held is None else held} instead of {said}"


def _call_losses(held: Sequence[tuple[str, str]], said: Sequence[tuple[str, str]]) -> Iterator[str]:
    if len(held) != len(said):
        yield f"{len(held)} tool calls instead of {len(said)}"
        return
    for number, ((held_name, held_arguments), (name, arguments)) in enumerate(zip(held, said, strict=True), 1):
        if held_name != name:
            yield f"tool call {number}: name {_shown(held_name)} instead of {_shown(name)}"
        if not _same_json(held_arguments, arguments):
            yield f"tool call {number}: arguments {_shown(held_arguments)} instead of {_shown(arguments)}"


def _same_json(held: str, said: str) -> bool:
    """Equal as JSON, or as text; nothing said and an empty object are the same to a tool."""
    try:
        return bool(parse_json(held or "{}") == parse_json(said or "{}"))
    except PayloadError:
        return held == said


def _shown(text: str | None) -> str:
    if text is None:
        return "nothing"
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}… ({len(text)} characters)"
