"""Labels of OpenRouter's entries: ``anthropic (openrouter)``, as the product's page writes them.

Versions before wrote ``openrouter (anthropic)``. What they stored is read as if written today, and histories go on
under the name that they began with, so that no series breaks.
"""

from __future__ import annotations

import re

_KEPT = re.compile(r"openrouter \(([^()\"\\]+)\)")
_SHOWN = re.compile(r"([^()\"\\]+) \(openrouter\)")


def shown_label(label: str) -> str:
    """``openrouter (x)`` as ``x (openrouter)``; any other label as it is."""
    found = _KEPT.fullmatch(label) if "openrouter (" in label else None
    return f"{found[1]} (openrouter)" if found else label


def kept_label(label: str) -> str:
    """``x (openrouter)`` as ``openrouter (x)``, the key of histories; any other label as it is."""
    found = _SHOWN.fullmatch(label) if label.endswith(" (openrouter)") else None
    return f"openrouter ({found[1]})" if found else label


def shown_labels(document: str) -> str:
    """The text of a stored document with such labels, wherever they stand in it, as they are written today."""
    return _KEPT.sub(r"\1 (openrouter)", document) if "openrouter (" in document else document
