"""The simulated vendors and folders of the cluster tests, for the cluster files here."""

from clusters import site, vendors

__all__ = ["site", "vendors"]
