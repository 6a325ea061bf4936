"""The Berkeley Function Calling Leaderboard's evaluation, rewritten: rules, rows and formulas, no file access."""

from __future__ import annotations

from vendor_verifier.suites.bfcl.check_value import Verdict
from vendor_verifier.suites.bfcl.checker import check

__all__ = ["Verdict", "check"]
