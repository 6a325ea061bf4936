"""One data-set line format a file → samples; pure. A new format is a module and a line in ``LOADERS``."""

from __future__ import annotations

from vendor_verifier.loaders.base import LoadedSamples, Loader
from vendor_verifier.loaders.chat_requests import read_samples
from vendor_verifier.loaders.results import Imported, import_results

LOADERS: tuple[Loader, ...] = (Loader("chat_requests", read_samples),)

__all__ = ["LOADERS", "Imported", "LoadedSamples", "Loader", "import_results", "read_samples"]
