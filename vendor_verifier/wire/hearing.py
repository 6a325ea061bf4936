"""What every reader does before its protocol's own words begin; it knows the words of none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from vendor_verifier.values.event import Anomaly, Fault, Identity, Lost
from vendor_verifier.wire.fault import read_fault
from vendor_verifier.wire.payload import PayloadError, parse_json

END_MARKER = "[DONE]"
# A text that begins so was meant to say something; other text that is no JSON ("ping") takes nothing away.
_MEANT = ("{", "[")


def event_object(
    text: str, name: str, *, unwrap: Callable[[Any], Any] = lambda value: value
) -> dict[str, Any] | Fault | Anomaly | Lost:
    """The JSON object an event's ``text`` holds, or what to say instead: the error it carries, ``bad_event``, or that a
    piece of the answer is lost with it.

    ``name`` is the event's name; ``error`` makes an error of any object and of text that is no JSON. ``unwrap`` takes
    the object out of what a protocol puts around it.
    """
    try:
        value = parse_json(text)
    except PayloadError as error:
        if name == "error":
            return Fault(text)
        return Lost(str(error)) if text.lstrip().startswith(_MEANT) else Anomaly("bad_event")
    return answer_object(unwrap(value), named_error=name == "error")


def answer_object(value: object, *, named_error: bool = False) -> dict[str, Any] | Fault | Anomaly:
    """``value`` if it is an object that carries no error, else the error, else ``bad_event``."""
    if not isinstance(value, dict):
        return Anomaly("bad_event")
    return read_fault(value, named_error=named_error) or value


def body_object(body: object) -> dict[str, Any] | Fault:
    """``body`` if it is an object that carries no error, else a fault that says what it is."""
    if not isinstance(body, dict):
        return Fault("the answer is not a JSON object", code="not_an_object")
    return read_fault(body) or body


class Introductions:
    """Who is answering: told by hosts with every event, passed on when it is news."""

    def __init__(self) -> None:
        self._known = Identity()

    def news(self, identity: Identity) -> Iterator[Identity]:
        if identity not in (self._known, Identity()):
            self._known = identity
            yield identity
