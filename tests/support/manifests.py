"""The least that a manifest holds, for tests that are about other keys of it."""

from __future__ import annotations

from typing import Any

from vendor_verifier.records.manifest import Manifest, manifest_of

LEAST: dict[str, Any] = {"run": "r", "entries": [], "tasks": [], "settings": {"repeat": 1}}


def some_manifest(**keys: Any) -> Manifest:
    """A manifest of nobody with these keys; ``settings`` are added to its own."""
    return manifest_of({**LEAST, **keys, "settings": {**LEAST["settings"], **keys.get("settings", {})}})
