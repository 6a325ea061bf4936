"""Sentences on the first screen of ``bfcl``: whose data, which prompt, what was made up, what is not run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from vendor_verifier.errors import BFCL_DATA
from vendor_verifier.features.bfcl.source import SHIPPED
from vendor_verifier.suites.bfcl.prompts import OWN
from vendor_verifier.suites.bfcl.results import Version, ceiling, lost_shares
from vendor_verifier.values.sample import Sample
from vendor_verifier.words import Sentence, english


def notices(who: str, samples: Sequence[Sample], version: Version) -> Iterator[Sentence]:
    """The sentences about these rows, of the task or evaluation ``who``."""
    if any(sample.tags.get("bfcl_data") == SHIPPED for sample in samples):
        yield shipped_note(who)
    for origin in dict.fromkeys(str(tag) for sample in samples if (tag := sample.tags.get("bfcl_prompt"))):
        known = {"install": BFCL_DATA} if origin == OWN.origin else {"origin": origin}
        yield english("bfcl_own_prompt" if origin == OWN.origin else "bfcl_prompt", who=who, **known)
    inferred = sum(bool(sample.tags.get("bfcl_inferred")) for sample in samples)
    if inferred:
        yield english("bfcl_inferred", who=who, rows=inferred)
    rows = leaderboard_rows(samples)
    if rows and (lost := lost_shares(rows, version)):
        missing = ", ".join(
            english("bfcl_missing", group=group, points=f"{share * 100:.2f}") for group, share in lost.items()
        )
        most = f"{ceiling(rows, version) * 100:.2f}"
        yield english("bfcl_ceiling", who=who, version=version, most=most, missing=missing)


def shipped_note(who: str) -> Sentence:
    """That the rows are this project's own, and the ways to the leaderboard's."""
    return english("bfcl_shipped", who=who, install=BFCL_DATA)


def leaderboard_rows(samples: Iterable[Sample]) -> Mapping[str, int]:
    """The number of rows by category, custom rows left out: they are no part of the leaderboard."""
    return Counter(str(sample.tags["category"]) for sample in samples if not sample.tags.get("bfcl_custom"))
