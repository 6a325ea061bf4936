"""Makes a finding from its name, the numbers it rests on, and its sentence in the catalogue of words."""

from __future__ import annotations

from collections.abc import Mapping

from vendor_verifier.records.judgement import Finding
from vendor_verifier.words import english


def finding(
    name: str,
    label: str,
    evidence: Mapping[str, float | int | str],
    samples: tuple[str, ...] = (),
    *,
    said: str | None = None,
    **words: object,
) -> Finding:
    """A finding whose sentence, its own or the one named ``said``, is filled in with its evidence and ``words``."""
    return Finding(name, label, english(said or f"finding_{name}", **{**evidence, **words}), evidence, samples)
