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
    """The entries with chat completions replaced by raw completions; other protocols have no such form.

    Raises:
        UsageError: none of them is asked for chat completions.
    """
    if not any(entry.wire in (CHAT, RAW) for entry in entries):
        raise UsageError("--use-raw-completions: no entry is asked for chat completions, which they would replace")
    return tuple(replace(entry, wire=RAW) if entry.wire == CHAT else entry for entry in entries)


def run_wires(entries: Sequence[Entry], tokenizer_model: str | None) -> Mapping[str, Wire]:
    """The wires of a run by name.

    Raises:
        UsageError: raw completions without a chat template to render their prompts with, or the other way round.
    """
    if not any(entry.wire == RAW for entry in entries):
        if tokenizer_model is not None:
            raise UsageError(
                f"--tokenizer-model renders the prompts of raw completions, which no entry is asked for; add "
                f"--use-raw-completions or `validator: {RAW}`, or leave it out"
            )
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
