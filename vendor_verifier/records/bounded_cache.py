"""A cache bounded by the size of its values, in whatever unit they are kept with; the oldest go first."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by key, at most ``most`` in size altogether; the oldest go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        # In a plain dict the first key is looked for from the beginning, over all that were taken out before it.
        self._values: OrderedDict[K, V] = OrderedDict()
        # In the order of the values.
        self._sizes: deque[int] = deque()
        # The value under a key, or None. A dozen times a request, so that it is asked of the dictionary itself.
        self.get: Callable[[K], V | None] = self._values.get

    def __len__(self) -> int:
        return len(self._values)

    def keep(self, key: K, value: V, size: int = 1) -> None:
        """Keep a value that is not kept yet and is not larger than the whole cache."""
        if size > self._most or key in self._values:
            return
        self._values[key] = value
        self._sizes.append(size)
        self._size += size
        while self._size > self._most:
            self._values.popitem(last=False)
            self._size -= self._sizes.popleft()
