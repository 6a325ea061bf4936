"""Reads a chat-completions message's content as plain texts and images; it fetches and decodes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vendor_verifier.wire.notes import Notes
from vendor_verifier.wire.payload import as_dict, as_text

_PART_NAMES: Mapping[str, str] = {"input_audio": "audio part", "video_url": "video part", "input_file": "file part"}


@dataclass(frozen=True, slots=True)
class TextPart:
    """A non-empty piece of text."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image: base64 ``data`` with its ``media_type``, or the ``url`` it is to be fetched from."""

    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    detail: str | None = None


Part = TextPart | ImagePart


def read_parts(content: object, notes: Notes) -> Iterator[Part]:
    """The texts and images of a ``content`` field; what is neither is noted."""
    if content is None:
        return
    items = [content] if isinstance(content, str) else content
    if not isinstance(items, (list, tuple)):
        notes.cannot("content that is not text")
        return
    for item in items:
        if isinstance(item, str):
            if item:
                yield TextPart(item)
        else:
            yield from _read_part(as_dict(item), notes)


def _read_part(part: Mapping[str, Any], notes: Notes) -> Iterator[Part]:
    kind = as_text(part.get("type")) or ("text" if "text" in part else "nameless")
    if kind in ("text", "input_text", "output_text", "refusal"):
        text = as_text(part.get("text")) or as_text(part.get("refusal"))
        if text:
            yield TextPart(text)
    elif kind in ("image_url", "input_image"):
        yield from _read_image(part.get("image_url"), as_text(part.get("detail")), notes)
    elif kind in ("thinking", "reasoning"):
        notes.rewrote("dropped:reasoning")
    else:
        notes.cannot(_PART_NAMES.get(kind, f"{kind} part"))


def _read_image(value: object, detail: str | None, notes: Notes) -> Iterator[ImagePart]:
    url = as_text(value) or as_text(as_dict(value).get("url")) or ""
    detail = as_text(as_dict(value).get("detail")) or detail
    if url.startswith(("http://", "https://")):
        yield ImagePart(url=url, detail=detail)
        return
    header, comma, data = url.removeprefix("data:").partition(",")
    media_type, *options = header.split(";")
    if url.startswith("data:") and comma and data and media_type and "base64" in options:
        yield ImagePart(media_type=media_type, data=data, detail=detail)
    else:
        notes.cannot("image that is neither an http address nor base64 data")
