"""The loaders of data sets into samples, one row format a module; a new format is a module and a line in ``FILES``."""

from __future__ import annotations

from vendor_verifier.lazy_import import late
from vendor_verifier.loaders.base import LoadedSamples, Loader

# Modules with ``FORMATS``, in the order in which those are tried on a file's first row.
FILES = (
    "openai_jsonl",
    "mcp_toolbench",
    "toolbench",
)
LOADERS: tuple[Loader, ...] = tuple(
    loader for name in FILES for loader in late(f"vendor_verifier.loaders.{name}:FORMATS")
)

__all__ = ["LOADERS", "LoadedSamples", "Loader"]
