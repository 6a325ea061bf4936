"""What answers say about who gave them is reported as seen, and never as proof."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vendor_verifier.compare.identity import (
    IdentityRow,
    id_family,
    identity_findings,
    identity_row,
    pass_through_findings,
    same_model,
)
from vendor_verifier.values.event import ToolCall, Usage
from vendor_verifier.values.record import Attempt, Failure, Record, Response, TurnRecord


def rows(n: int = 20, **changes: object) -> list[IdentityRow]:
    return [replace(IdentityRow(f"s{i}", 0, "acme/model-1", "model-1"), **changes) for i in range(n)]  # type: ignore[arg-type]


def names(found: list[IdentityRow]) -> list[str]:
    return [finding.name for finding in identity_findings("v", found)]


def test_a_clean_vendor_has_no_finding() -> None:
    """The asked model without its maker's prefix, one fingerprint, one family of ids."""
    told = [
        replace(row, fingerprint="fp_1", response_id=f"chatcmpl-{i:032x}", output_tokens=5, max_tokens=9)
        for i, row in enumerate(rows())
    ]
    assert names(told) == []
    assert names([]) == []


def test_an_alias_is_reported_with_both_names() -> None:
    """deepseek-reasoner asked, deepseek-chat served, in every row."""
    [finding] = identity_findings("v", rows(asked_model="deepseek-reasoner", served_model="deepseek-chat"))
    assert finding.name == "another_model_served"
    assert finding.evidence == {"asked": "deepseek-reasoner", "served": "deepseek-chat", "answers": 20, "of": 20}


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4", "gpt-4-0613", True),
        ("deepseek/deepseek-v3.2-exp:free", "deepseek-v3.2-exp", True),
        ("Qwen/Qwen3-8B", "qwen3-8b", True),
        ("gpt-4", "gpt-4o", False),
        ("claude-3", "claude-3-5-haiku", False),
        ("model-1", "model-10", False),
        ("kimi-k2-thinking", "kimi-k2", False),
    ],
)
def test_what_counts_as_the_same_model(asked: str, served: str, same: bool) -> None:
    """The maker's prefix, dates and router suffixes do not matter, another size or generation does; both ways round."""
    assert same_model(asked, served) is same
    assert same_model(served, asked) is same


def test_changes_within_a_run() -> None:
    """Two models and two fingerprints, with how often."""
    mixed = rows(18) + rows(2, served_model="model-1-2512", fingerprint="fp_2")
    mixed = [replace(row, fingerprint=row.fingerprint or "fp_1") for row in mixed]
    found = {finding.name: finding for finding in identity_findings("v", mixed)}
    assert set(found) == {"served_model_changes", "fingerprint_changes"}
    assert "fp_1 (18), fp_2 (2)" in found["fingerprint_changes"].statement


def test_families_of_ids() -> None:
    """A router that mixes hosts shows it in the shape of its ids."""
    assert id_family("chatcmpl-0123abcdef") == "chatcmpl-hex"
    assert id_family("gen-1759214245-sA7O1Q5f") == "gen-text"
    assert id_family("021759214245") == "hex"
    assert id_family("c0ffee00-1234-4abc-8def-0123456789ab") == "uuid"
    mixed = rows(10, response_id="chatcmpl-0123abcdef") + rows(10, response_id="c0ffee00-1234-4abc-8def-0123456789ab")
    assert names(mixed) == ["id_families"]


def test_limits_that_are_not_kept() -> None:
    """More than allowed, and a stop for length long before it."""
    assert names(rows(2, output_tokens=120, max_tokens=100)) == ["max_tokens_exceeded"]
    assert names(rows(2, output_tokens=50, max_tokens=100, finish_reason="length")) == ["cut_below_max_tokens"]
    assert names(rows(2, output_tokens=100, max_tokens=100, finish_reason="length")) == []
    assert names(rows(2, output_tokens=120)) == []


def test_repeated_answers() -> None:
    """Byte for byte the same on samples asked twice is worth a line, differing answers are not."""
    first, second = rows(12, digest="d"), rows(12, digest="d", repetition=1)
    assert names(first + second) == ["answers_repeated"]
    assert names(first + rows(12, digest="e", repetition=1)) == []
    assert names(first) == []


def test_pass_through_of_bytes_and_ids() -> None:
    """Two names with the same answers, and with the very same response ids."""
    one = [replace(row, digest=f"d{i}") for i, row in enumerate(rows())]
    other = [replace(row, digest=f"e{i}") for i, row in enumerate(rows())]
    [finding] = pass_through_findings({"a": one, "b": other, "c": [*one[:12], *other[12:]]})[:1]
    assert (finding.name, finding.label, finding.evidence["other"]) == ("identical_answers", "a", "c")
    assert finding.evidence["same"] == 12
    assert pass_through_findings({"a": one, "b": other}) == ()
    ids = rows(3, response_id="x-1")
    assert [each.name for each in pass_through_findings({"a": ids, "b": ids})] == ["shared_response_ids"]


def test_a_row_comes_from_a_record() -> None:
    """Short answers have no digest, failures have no row, and the call's own id does not enter the digest."""

    def record(response: Response | None) -> Record:
        failure = None if response else Failure("http_5xx", "headers", "down", 500)
        turns = (TurnRecord((Attempt(1, response=response, failure=failure),)),)
        return Record("run", "m", "v", "v", "trigger", "s", 1, turns)

    long = [Response(tool_calls=(ToolCall("f", '{"a": "' + 40 * "x" + '"}', call),)) for call in ("1", "2")]
    one, two = (identity_row(record(response), "m", 100) for response in long)
    assert one == two
    assert one is not None
    assert one.digest is not None
    short = identity_row(record(Response(text="Paris.", served_model="", usage=Usage(3, 2), request_id="r")), "m")
    assert short is not None
    assert (short.digest, short.served_model, short.output_tokens, short.response_id) == (None, None, 2, "r")
    assert identity_row(record(None), "m") is None
