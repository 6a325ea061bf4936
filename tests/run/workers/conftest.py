"""Simulated vendors and a folder for runs, as the tests of clusters have them."""

from __future__ import annotations

from clusters import site, vendors

__all__ = ["site", "vendors"]
