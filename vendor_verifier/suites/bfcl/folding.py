"""How two texts are compared where spelling should not matter; nothing but the leaderboard's own rule."""

from __future__ import annotations

_FOLD = str.maketrans({**dict.fromkeys(" ,./-_*^"), "'": '"'})


def fold(text: str) -> str:
    """``text`` without the eight characters ``space , . / - _ * ^``, in lower case, ``'`` as ``"``.

    Tabs, line breaks and every other sign stay. ``"-5"`` therefore equals ``"5"`` and ``"1.5"`` equals ``"15"``.
    """
    return text.translate(_FOLD).lower()


def folded(value: object) -> object:
    """``value`` folded if it is a text, else as it is."""
    return fold(value) if type(value) is str else value
