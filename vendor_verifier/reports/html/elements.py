"""HTML elements as text: whatever stands in one is escaped here, unless it is an element itself. It knows no page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup, escape


def element(name: str, /, *children: str | None, **attributes: object) -> Markup:
    """``<name …>children</name>``; ``class_`` is ``class`` and ``_`` in a name ``-``. ``None`` is left out of both; of
    attributes ``False`` is, too, and ``True`` stands for the name alone."""
    inside = "".join([escape(child) for child in children if child is not None])
    return Markup(f"<{name}{written(attributes)}>{inside}</{name}>")  # noqa: S704 escaped above


def void(name: str, /, **attributes: object) -> Markup:
    """An element that has no end."""
    return Markup(f"<{name}{written(attributes)}>")  # noqa: S704 escaped below


def lines(parts: Iterable[str | None]) -> Markup:
    """Each part on a line of its own; ``None`` is left out."""
    return Markup("\n").join(part for part in parts if part is not None)


def written(attributes: Mapping[str, object]) -> str:
    """Attributes as they stand in a tag, escaped."""
    return "".join(
        [
            " " + _name(key) if value is True else f' {_name(key)}="{escape(str(value))}"'
            for key, value in attributes.items()
            if value is not None and value is not False
        ]
    )


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
