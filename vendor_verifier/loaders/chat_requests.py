"""A file of chat-completions requests, one a line → samples with identities; it opens no file and judges no schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from vendor_verifier.loaders.base import LoadedSamples
from vendor_verifier.loaders.building import build_samples
from vendor_verifier.loaders.json_lines import read_rows
from vendor_verifier.loaders.request_row import read_question


def recognises(row: Mapping[str, Any]) -> bool:
    """A body, a body under ``request``, or a result row or raw prompt, which this reader refuses in clear words."""
    return any(key in row for key in ("messages", "request", "prompt"))


def read_samples(lines: Iterable[bytes], *, dataset: str, file: Path, skip_bad: bool = False) -> LoadedSamples:
    """Read samples.

    Args:
        lines: physical lines of the file, from the first.
        dataset: the name samples carry as their source.
        file: what error messages call the file.
        skip_bad: leave unusable lines out and list them in ``skipped``, instead of refusing the file.

    Raises:
        DataError: unusable lines (all of them, the first in full), or no usable line at all.
    """
    return build_samples(read_rows(lines, file), read_question, dataset=dataset, file=file, skip_bad=skip_bad)
