"""Lowers how many requests an account may have in flight while it limits our rate, and raises it again slowly.

It waits for nothing and counts only. A crowd of refusals that were all under way together is one event. The second such
event halves the places, and so does every further one; a long row of other answers gives one place back. It never asks
for more places than the account was given.
"""

from __future__ import annotations

_EVENTS_BEFORE_LOWERING = 2
# So many answers in a row without a refusal earn one place back.
_GOOD_PER_PLACE = 20


class Easing:
    """The places of one account; ``given`` is what the plan allows, ``lowest`` the fewest it came down to."""

    def __init__(self, given: int) -> None:
        self.given = self.now = self.lowest = given
        self._withheld = 0  # places that have really been taken out of use
        self._events = 0
        self._good = 0
        self._same_crowd = 0

    @property
    def was_lowered(self) -> bool:
        return self.lowest < self.given

    def heard(self, *, is_limited: bool) -> None:
        """One attempt ended."""
        is_late = self._same_crowd > 0
        self._same_crowd = max(0, self._same_crowd - 1)
        if not is_limited:
            self._recover()
        elif not is_late:
            self._good = 0
            self._events += 1
            # Everything in flight besides this one was sent before we knew.
            self._same_crowd = self.now - 1
            if self._events >= _EVENTS_BEFORE_LOWERING:
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
        if self._good < _GOOD_PER_PLACE:
            return
        self._good = 0
        if self.now < self.given:
            self.now += 1
        else:
            self._events = 0
