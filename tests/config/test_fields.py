"""What a key of config.yaml may hold: types are taken as written, and everything that does not fit is told at once."""

# ruff: noqa: RUF009 key() makes a field of a dataclass, as field() does

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from vendor_verifier.config.fields import Misfit, fit, key


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    """A mapping with known keys."""

    size: int | None = key("whole number", at_least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One key of every kind."""

    name: str = key("text", at_least=1, at_most=3, required=True)
    code: str | None = key("text", form="[A-Z]{2}", words="two capital letters")
    share: float | None = key("number", at_least=0, at_most=1)
    rate: float | None = key("number", above=0)
    on: bool | None = key("switch")
    texts: dict[str, str] | None = key("texts")
    inner: dict[str, Any] | None = key("mapping", keys=Inner)
    items: list[Any] | None = key("list", at_least=1, words="at least one item")


def test_what_fits_is_given_back_and_a_null_is_as_good_as_absent() -> None:
    """Numbers come back as floats, so that 1 and 1.0 in a file are the same setting."""
    values, misfits = fit(Part, {"name": "a", "share": 1, "on": None, "inner": {"size": 2}, "texts": {"x": "y"}})
    assert misfits == []
    assert values == {"name": "a", "share": 1.0, "inner": {"size": 2}, "texts": {"x": "y"}}
    assert isinstance(values["share"], float)


@pytest.mark.parametrize(
    ("content", "path", "trouble", "expected"),
    [
        ([], (), "unfit", "a mapping (`key: value` lines)"),
        ({}, ("name",), "missing", ""),
        ({"name": None}, ("name",), "not text", "text"),
        ({"name": ""}, ("name",), "unfit", "something between the quotes"),
        ({"name": "abcd"}, ("name",), "unfit", "at most 3 characters"),
        ({"name": "a", "code": "AB\n"}, ("code",), "unfit", "two capital letters"),
        ({"name": "a", "share": True}, ("share",), "unfit", "a number from 0 to 1"),
        ({"name": "a", "share": float("nan")}, ("share",), "unfit", "a number from 0 to 1"),
        ({"name": "a", "rate": float("inf")}, ("rate",), "unfit", "a finite number"),
        ({"name": "a", "rate": 0}, ("rate",), "unfit", "more than 0"),
        ({"name": "a", "on": 1}, ("on",), "unfit", "`true` or `false`, without quotes"),
        ({"name": "a", "texts": {"x": 1}}, ("texts", "x"), "not text", "text"),
        ({"name": "a", "inner": {"size": 1.0}}, ("inner", "size"), "unfit", "a whole number"),
        ({"name": "a", "inner": {"sise": 1}}, ("inner", "sise"), "unknown", ""),
        ({"name": "a", "items": []}, ("items",), "unfit", "at least one item"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(
    content: Any, path: tuple[str, ...], trouble: Any, expected: str
) -> None:
    """One wrong value is one misfit that says what was expected; true is no number, and a float no whole one."""
    assert fit(Part, content)[1] == [Misfit(path, trouble, expected)]


def test_all_misfits_are_told_at_once() -> None:
    """A user mends a file in one go."""
    _, misfits = fit(Part, {"share": 2, "inner": {"size": 0, "more": 1}, "else": 1})
    assert [misfit.path for misfit in misfits] == [
        ("name",),
        ("share",),
        ("inner", "size"),
        ("inner", "more"),
        ("else",),
    ]
