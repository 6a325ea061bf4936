"""The page's colours can be read in light, dark and print: contrast by WCAG 2.2's relative luminance."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

STYLE = files("vendor_verifier.reports.html").joinpath("page.css").read_text(encoding="utf-8")
# Light, dark by choice, dark by preference, print: every block that sets the paper's colour.
THEMES = [
    dict(re.findall(r"--([\w-]+):(#[0-9a-f]+)", block)) for block in re.findall(r"\{([^{}]*--card:[^{}]*)\}", STYLE)
]


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:4])
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    brighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def test_there_are_four_themes() -> None:
    """Light, dark twice (chosen and preferred, alike), and print."""
    light, chosen, preferred, print_ = THEMES
    assert chosen == preferred != light
    assert print_["bg"] == "#fff"


@pytest.mark.parametrize("theme", THEMES)
def test_words_stand_out_from_their_paper(theme: dict[str, str]) -> None:
    """Text has at least 4.5 : 1 on cards and on the page."""
    for name in ("ink", "quiet", "accent", "good", "bad", "open"):
        assert contrast(theme[name], theme["card"]) >= 4.5, name
    for name in ("ink", "quiet"):
        assert contrast(theme[name], theme["bg"]) >= 4.5, name
    assert contrast(theme["warn"], theme["warn-bg"]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_marks_stand_out_from_their_paper(theme: dict[str, str]) -> None:
    """Every vendor's colour has at least 3 : 1, as graphics need."""
    for index in range(8):
        assert contrast(theme[f"s{index}"], theme["card"]) >= 3, index
