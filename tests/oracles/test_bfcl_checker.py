"""The BFCL checker gives the verdicts and error types that bfcl_eval's own checker gave."""

from __future__ import annotations

from adapters import bfcl_verdict, rows


def test_verdicts_and_error_types() -> None:
    """Right answers, every kind of error, known oddities of the original, rows that it cannot check."""
    known = {row["row"]: row for row in rows("bfcl_rows.jsonl")}
    found = [(case, bfcl_verdict(known[case["row"]], case["calls"])) for case in rows("bfcl_cases.jsonl")]
    assert [(case, read) for case, read in found if read != case["error_type"]] == []
