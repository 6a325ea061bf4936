"""The gates and SLOs of config.yaml, and each model's default baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from vendor_verifier.config.model_names import series_of
from vendor_verifier.config.words import key_text
from vendor_verifier.errors import Problem
from vendor_verifier.records.plan import Entry

if TYPE_CHECKING:
    from vendor_verifier.config.problems import Findings

# The end of a warning that only matters when vendors are compared with each other.
NO_F1 = "F1 will not be measured"


def default_baseline(model: str, entries: Iterable[Entry]) -> Entry | None:
    """The entry that is the model's own maker: its vendor first, then the maker pinned behind a router."""
    series = series_of(model)
    if series is None:
        return None
    candidates = list(entries)
    for maker in series.makers:
        for entry in candidates:
            if entry.vendor.casefold() == maker and entry.provider is None:
                return entry
    for pin in series.pins:
        for entry in candidates:
            if entry.provider is not None and entry.provider.casefold().split("/")[0] == pin:
                return entry
    return None


class StatedGate(msgspec.Struct, frozen=True):
    """A condition as the file writes it, under ``gates:`` of one model or (``None``) of all, or under ``slos:``;
    ``place`` has no message.

    What the words mean is not read here: which evaluations take part is not known yet.
    """

    text: str
    model: str | None
    place: Problem


def stated_gates(content: Mapping[str, Any], key: str, findings: Findings) -> Iterator[StatedGate]:
    """The conditions under ``key`` for all models, then those of each model, as they stand in the file."""
    for owner, section in ((None, content), *content.items()):
        stated = section.get(key) if isinstance(section, Mapping) else None
        path = (key,) if owner is None else (owner, key)
        for place, gate in enumerate(stated if isinstance(stated, list) else []):
            if isinstance(gate, str):
                where = (*path, place)
                problem = Problem("", findings.file, findings.source.line(where), key_text(where))
                yield StatedGate(gate, owner, problem)
