"""The options of the evaluation ``bfcl``: which rows, and how they are judged and summed. It reads no row."""

from __future__ import annotations

from dataclasses import dataclass

from vendor_verifier.errors import UsageError
from vendor_verifier.suites.bfcl.categories import expand
from vendor_verifier.suites.bfcl.overall import Version
from vendor_verifier.suites.bfcl.suite import BfclSuite
from vendor_verifier.suites.bfcl.verdict import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class BfclOptions:
    """Everything ``bfcl`` takes.

    ``data`` is ``shipped``, ``installed``, a folder, or ``hf://datasets/…``; ``category`` names categories and groups
    with commas between; ``version`` is the formula of ``Overall Acc``. ``tools`` is a file of tools for custom rows
    that bring none, ``infer_tools`` makes them from the expected calls. ``job`` is a job file, which says what is
    asked instead. Raises UsageError for options that cannot be meant.
    """

    name: str = "bfcl"
    mode: Mode = "strict"
    data: str = "shipped"
    category: str = "ast"
    version: Version = "v3"
    limit_per_category: int | None = None
    tools: str | None = None
    infer_tools: bool = False
    job: str | None = None

    def __post_init__(self) -> None:
        if self.limit_per_category is not None and self.limit_per_category < 1:
            raise UsageError(f"{self.name}: limit_per_category is at least 1, read {self.limit_per_category}")
        if not expand([self.category]):
            raise UsageError(f"{self.name}: category is empty")


def bfcl_suite(options: BfclOptions) -> BfclSuite:
    """The suite without what only a running program has: simulated services and functions."""
    return BfclSuite(options.name, options.mode)
