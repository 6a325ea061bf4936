"""Lowers how many requests an account may have in flight while it limits our rate, and raises it again slowly.

It waits for nothing and counts only. A vendor that refuses now and then is left alone: the pauses it asks for are
enough. When more than a third of the last answers were refusals, the places are halved and the count begins anew; a row
of answers without a refusal gives one place back. It never asks for more places than the account was given.
"""

from __future__ import annotations

from collections import deque

_LOOKED_AT = 24
_TOO_MANY = 8
# So many answers in a row without a refusal earn one place back.
_GOOD_PER_PLACE = 10


class Easing:
    """The places of one account; ``given`` is what the plan allows, ``lowest`` the fewest it came down to."""

    def __init__(self, given: int) -> None:
        self.given = self.now = self.lowest = given
        self._withheld = 0  # places that have really been taken out of use
        self._good = 0
        self._recent: deque[bool] = deque(maxlen=_LOOKED_AT)

    @property
    def was_lowered(self) -> bool:
        return self.lowest < self.given

    def heard(self, *, is_limited: bool) -> None:
        """One attempt ended."""
        self._recent.append(is_limited)
        if not is_limited:
            self._recover()
            return
        self._good = 0
        if sum(self._recent) > _TOO_MANY:
            self._recent.clear()
            self.now = max(1, self.now // 2)
            self.lowest = min(self.lowest, self.now)

    def places_back(self) -> int:
        """How many places the end of one attempt frees: usually 1, none while places are being withdrawn."""
        wanted = self.given - self.now
        if self._withheld < wanted:
            self._withheld += 1
            return 0
        back = 1 + self._withheld - wanted
        self._withheld = wanted
        return back

    def _recover(self) -> None:
        self._good += 1
        if self._good >= _GOOD_PER_PLACE and self.now < self.given:
            self._good = 0
            self.now += 1
