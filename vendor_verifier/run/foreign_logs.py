"""Keeps libraries that carry our requests from logging: they write addresses and headers down, where secrets stand."""

from __future__ import annotations

import logging

HTTP_LOGGERS = ("httpx2", "httpcore2")


def silence(*names: str) -> None:
    """Nothing below a disaster is logged under these names from now on, whatever the program around us has set."""
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
