"""Which wire each entry of a run speaks, raw completions with their prompt renderer included; it sends nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vendor_verifier.errors import UsageError
from vendor_verifier.registry import WIRES
from vendor_verifier.values.plan import Entry
from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.openai_completions import OpenAICompletions

CHAT = "openai"
RAW = OpenAICompletions().name


def as_raw_completions(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries with chat completions replaced by raw completions; other protocols have no such form."""
    return tuple(replace(entry, wire=RAW) if entry.wire == CHAT else entry for entry in entries)


def run_wires(entries: Sequence[Entry], tokenizer_model: str | None) -> Mapping[str, Wire]:
    """The wires of a run by name.

    Raises:
        UsageError: raw completions are asked for without a chat template to render their prompts with.
    """
    if not any(entry.wire == RAW for entry in entries):
        return WIRES
    if tokenizer_model is None:
        raise UsageError(
            "raw completions need --tokenizer-model: a local folder or hub name whose chat template renders the prompt"
        )
    from vendor_verifier.run.chat_template import load_renderer

    return {**WIRES, RAW: OpenAICompletions(render=load_renderer(tokenizer_model))}


def wire_of(entry: Entry, vendor: Vendor, wires: Mapping[str, Wire]) -> Wire:
    """A vendor's own wire carries its quirks; the plain one serves when the config chose another protocol."""
    return vendor.wire if vendor.wire.name == entry.wire and entry.wire != RAW else wires[entry.wire]
