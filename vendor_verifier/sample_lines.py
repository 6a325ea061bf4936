"""One sample ↔ one JSON line, and the only place that turns samples into JSON and back; it opens no file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import msgspec

from vendor_verifier.values.kept import Kept
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample, Source
from vendor_verifier.wire.tool_sets import MOST_TOOLS_BYTES, Tools

_decode_tools = msgspec.json.Decoder(Tools).decode


class _StoredTurn(msgspec.Struct):
    """A turn whose tools are not read yet: a data set repeats a few sets of them thousands of times."""

    messages: tuple[Mapping[str, Any], ...]
    tools: msgspec.Raw = msgspec.Raw(b"[]")
    parameters: Mapping[str, Any] = {}
    stream: bool = True
    thinking: Literal["on", "off"] | None = None
    fixed: tuple[str, ...] = ()


class _StoredSample(msgspec.Struct):
    turn: _StoredTurn
    expected: Mapping[str, Any] = {}
    tags: Mapping[str, Any] = {}
    source: Source | None = None


class _Named(msgspec.Struct):
    id: str


_TOO_DEEP = "nested too deeply to be a sample"
_decode_stored = msgspec.json.Decoder(_StoredSample).decode
_decode_named = msgspec.json.Decoder(_Named).decode


def encode_sample(sample: Sample) -> bytes:
    """Without newline, as it was sent: a lone surrogate stays the escape it came as."""
    try:
        return msgspec.json.encode(sample)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(sample), ensure_ascii=True, separators=(",", ":")).encode()


def id_in(line: bytes) -> str:
    """The id of the sample on a line, of which nothing else is read.

    Raises:
        ValueError: no JSON, or nothing with an id.
    """
    try:
        return _decode_named(line).id
    except msgspec.DecodeError:
        # The fast reader knows no lone surrogates; whatever else is wrong is refused here too.
        return msgspec.convert(_slowly(line), _Named).id
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def _slowly(line: bytes) -> Any:
    try:
        return json.loads(line)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


class SampleReader:
    """Reads lines. Equal tools are the same object in all samples, as far as they are remembered: change none."""

    def __init__(self) -> None:
        self._tools: Kept[bytes, Tools] = Kept(MOST_TOOLS_BYTES)

    def read(self, line: bytes, sample_id: str) -> Sample:
        """The sample of a line whose id is known: whoever remembers samples by it holds one text.

        Raises:
            ValueError: the line is no sample.
        """
        try:
            stored = _decode_stored(line)
            turn = stored.turn
            tools = self._read_tools(bytes(turn.tools))
        except msgspec.DecodeError:
            return replace(msgspec.convert(_slowly(line), Sample), id=sample_id)
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        return Sample(
            sample_id,
            Turn(turn.messages, tools, turn.parameters, turn.stream, turn.thinking, turn.fixed),
            stored.expected,
            stored.tags,
            stored.source,
        )

    def _read_tools(self, written: bytes) -> Tools:
        tools = self._tools.get(written)
        if tools is None:
            tools = _decode_tools(written)
            self._tools.keep(written, tools, len(written))
        return tools
