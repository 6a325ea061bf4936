"""The gates and SLOs of config.yaml, and each model's default baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from vendor_verifier.config.model_names import series_of
from vendor_verifier.config.problems import Findings, key_text
from vendor_verifier.config.schema import RESERVED, describe_node
from vendor_verifier.config.yaml_tree import Listing, Scalar, Table
from vendor_verifier.config.yaml_tree import Path as KeyPath
from vendor_verifier.errors import Problem
from vendor_verifier.records.plan import Entry

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


def is_absent(root: Table, key: str) -> bool:
    node = root.items.get(key)
    return node is None or (isinstance(node, Scalar) and node.kind == "nothing")


def all_gates(root: Table, findings: Findings) -> tuple[StatedGate, ...]:
    """The conditions for all models, then those of each model, as they stand in the file."""
    owners = [name for name, node in root.items.items() if name not in RESERVED and isinstance(node, Table)]
    found = list(conditions(root, ("gates",), None, findings))
    for model in owners:
        section = root.items[model]
        assert isinstance(section, Table)
        found += conditions(section, (model, "gates"), model, findings)
    return tuple(found)


def conditions(owner: Table, path: KeyPath, model: str | None, findings: Findings) -> Iterator[StatedGate]:
    """The list under the last key of ``path``."""
    key = str(path[-1])
    if is_absent(owner, key):
        return
    node = owner.items[key]
    if not isinstance(node, Listing):
        findings.problem(path, f"read {describe_node(node, path)}; expected a list of conditions")
        return
    for position, gate in enumerate(node.items):
        place = (*path, position)
        if isinstance(gate, Scalar) and gate.kind == "text":
            yield StatedGate(gate.raw, model, Problem("", findings.file, findings.line(place), key_text(place)))
        else:
            message = f'read {describe_node(gate, place)}; expected a condition such as "f1 >= 0.9", in quotes'
            findings.problem(place, message)
