"""Names of models as vendors spell them, and whether two of them can mean one model."""

from __future__ import annotations

import re

# Whoever answers in a chat is the tuned model, whether its name says so or not.
_TUNED = r"[-_](?:instruct|it)"
_VERSION = r"[-@](?:\d{3,8}|\d{4}-\d{2}-\d{2})|[-:](?:latest|preview|free|nitro|floor)"
_SAID_BESIDE = re.compile(rf"(?:{_TUNED})?(?:{_VERSION})*")


def same_model(asked: str, served: str) -> bool:
    """Whether a served name can be the asked one: without the maker's prefix, ``-instruct``, versions and dates may
    follow."""
    one, other = (name.lower().rpartition("/")[2] for name in (asked, served))
    short, long = sorted((one, other), key=len)
    return long.startswith(short) and _SAID_BESIDE.fullmatch(long[len(short) :]) is not None
