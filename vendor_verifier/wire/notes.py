"""What a translation could not say and what it said in other words; nothing of a question is lost in silence."""

from __future__ import annotations


class Notes:
    """What a translation could not carry (:meth:`cannot`) and what it put in other words (:meth:`rewrote`)."""

    def __init__(self) -> None:
        self._untranslatable: dict[str, None] = {}
        self._rewritten: dict[str, None] = {}

    def cannot(self, what: str) -> None:
        self._untranslatable[what] = None

    def rewrote(self, what: str) -> None:
        self._rewritten[what] = None

    @property
    def untranslatable(self) -> tuple[str, ...]:
        return tuple(self._untranslatable)

    @property
    def rewritten(self) -> tuple[str, ...]:
        return tuple(self._rewritten)
