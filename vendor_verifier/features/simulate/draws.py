"""Draws by name: each is a function of the words it is named by, and never of what was drawn before."""

from __future__ import annotations

import hashlib
import random


def chance(*words: object) -> float:
    """A number in [0, 1), uniform over the words and the same for the same words on every machine."""
    return int.from_bytes(_digest(words)[:7], "big") / float(1 << 56)


def token(length: int, *words: object) -> str:
    """``length`` (at most 32) hexadecimal digits, the same for the same words."""
    return _digest(words).hex()[:length]


def generator(*words: object) -> random.Random:
    """A generator seeded by the words, for longer sequences of draws."""
    return random.Random(_digest(words))  # noqa: S311 scripted behaviour, not cryptography


def _digest(words: tuple[object, ...]) -> bytes:
    return hashlib.blake2b("\x1f".join(map(str, words)).encode("utf-8", "replace"), digest_size=16).digest()
