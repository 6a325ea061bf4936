"""What a simulated server has been asked, for tests to look at; bounded, and of no influence on any answer."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_LOG_SIZE = 2000


@dataclass(frozen=True, slots=True)
class Seen:
    """One question as it arrived and the status it was given. Headers may hold a key and stay out of the ``repr``."""

    persona: str
    digest: str
    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any] = field(repr=False)


class Traffic:
    """Counts by persona and the last ``_LOG_SIZE`` questions."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.in_flight: Counter[str] = Counter()
        self.max_in_flight: Counter[str] = Counter()
        self.seen: deque[Seen] = deque(maxlen=_LOG_SIZE)

    def begin(self, persona: str) -> None:
        """A request for ``persona`` has arrived whole."""
        self.requests[persona] += 1
        self.in_flight[persona] += 1
        self.max_in_flight[persona] = max(self.max_in_flight[persona], self.in_flight[persona])

    def end(self, persona: str) -> None:
        """Its reply is out, or its client has gone."""
        self.in_flight[persona] -= 1
