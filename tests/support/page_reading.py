"""Reads an HTML page strictly: every element closed in order, no identifier twice, and what a browser could act on."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"meta", "link", "input", "br", "img", "hr"})


@dataclass
class Page:
    """What the reading found; ``elements`` are (tag, attributes) in order."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)

    def attribute(self, name: str) -> list[str]:
        return [attributes[name] or "" for _, attributes in self.elements if name in attributes]


class _Reader(HTMLParser):
    def __init__(self, page: Page) -> None:
        super().__init__(convert_charrefs=True)
        self.page = page
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if len(dict(attrs)) != len(attrs):
            self.page.faults.append(f"{tag} has an attribute twice")
        self.page.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.page.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.page.faults.append(f"</{tag}> closes something else at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        if self.open:
            self.page.texts.setdefault(self.open[-1], []).append(data)


def read_page(text: str) -> Page:
    page = Page()
    reader = _Reader(page)
    reader.feed(text)
    reader.close()
    page.faults += [f"<{tag}> is never closed" for tag in reader.open]
    names = page.attribute("id")
    page.faults += [f"id {name} occurs twice" for name in {name for name in names if names.count(name) > 1}]
    return page
