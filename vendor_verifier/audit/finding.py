"""How a finding is made: its name, the numbers it rests on, and the sentence that the catalogue has for both."""

from __future__ import annotations

from collections.abc import Mapping

from vendor_verifier.values.judgement import Finding
from vendor_verifier.words import english


def finding(
    name: str, label: str, evidence: Mapping[str, float | int | str], samples: tuple[str, ...] = (), **said: object
) -> Finding:
    """A finding whose sentence is filled in with its evidence and what is ``said`` besides."""
    return Finding(name, label, english(f"finding_{name}", **{**evidence, **said}), evidence, samples)
