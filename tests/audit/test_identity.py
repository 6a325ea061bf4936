"""What answers say about who gave them is reported as seen, and never as proof."""

from __future__ import annotations

import base64
import gzip
import json
import random
import uuid
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from observed import observed, table_of

from vendor_verifier.audit.identity import (
    id_families,
    identity_findings,
    oftener_alike,
    pass_through_findings,
    who_answered,
)
from vendor_verifier.records.event import ToolCall, Usage
from vendor_verifier.records.record import Attempt, Failure, Record, Response, TurnRecord
from vendor_verifier.scoring.answer_rows import AnswerRows
from vendor_verifier.scoring.observation import Observation, Traits, Try

LLMVV = Path(__file__).parents[2].parent / "shared" / "data" / "llmvv"


_OF_TRAITS = ("suite", "served_model", "fingerprint", "max_tokens", "finish_reason")


def changed(row: Observation, **changes: Any) -> Observation:
    """The row with what is stated, wherever it stands; ``output`` are its tokens, ``said`` what its digest is of."""
    traits = {name: changes.pop(name) for name in _OF_TRAITS if name in changes}
    if "output" in changes:
        changes["tries"] = (Try(Usage(output=changes.pop("output"))),)
    if "said" in changes:
        changes["digest"] = zlib.crc32(changes.pop("said").encode()) + 1
    return msgspec.structs.replace(row, traits=msgspec.structs.replace(row.traits, **traits), **changes)


def rows(n: int = 20, first: int = 0, **changes: Any) -> list[Observation]:
    answered = Traits(succeeded=True, is_answered=True, served_model="model-1")
    return [changed(Observation(f"s{i}", 0, answered), **changes) for i in range(first, first + n)]


def answers(found: list[Observation]) -> AnswerRows:
    return table_of(found).answers()


def answers_by(sides: dict[str, list[Observation]]) -> dict[str, AnswerRows]:
    return {label: answers(own) for label, own in sides.items()}


def names(found: list[Observation]) -> list[str]:
    return [finding.name for finding in identity_findings("v", answers(found), "acme/model-1")]


def test_a_clean_vendor_has_no_finding() -> None:
    """The asked model without its maker's prefix, one fingerprint, one family of ids."""
    told = [
        changed(row, fingerprint="fp_1", response_id=f"chatcmpl-{i:032x}", output=5, max_tokens=9)
        for i, row in enumerate(rows())
    ]
    assert names(told) == []
    assert names([]) == []


def test_an_alias_is_reported_with_both_names() -> None:
    """deepseek-reasoner asked, deepseek-chat served, in every row."""
    [finding] = identity_findings("v", answers(rows(served_model="deepseek-chat")), "deepseek-reasoner")
    assert finding.name == "another_model_served"
    assert finding.evidence == {"asked": "deepseek-reasoner", "served": "deepseek-chat", "answers": 20, "of": 20}


def test_changes_within_a_run() -> None:
    """Two models and two fingerprints, with how often."""
    mixed = rows(18) + rows(2, 18, served_model="model-1-2512", fingerprint="fp_2")
    mixed = [changed(row, fingerprint=row.traits.fingerprint or "fp_1") for row in mixed]
    found = {finding.name: finding for finding in identity_findings("v", answers(mixed), "model-1")}
    assert set(found) == {"served_model_changes", "fingerprint_changes"}
    assert "fp_1 (18), fp_2 (2)" in found["fingerprint_changes"].statement


def test_families_of_ids() -> None:
    """A router that mixes hosts shows it in the shape of its ids."""
    for shown, family in (
        ("chatcmpl-0123abcdef", "chatcmpl-hex"),
        ("gen-1759214245-sA7O1Q5f", "gen-text"),
        ("021759214245", "hex"),
        ("c0ffee00-1234-4abc-8def-0123456789ab", "uuid"),
        ("deadbeef-1234-4abc-8def-0123456789ab", "uuid"),
        ("cmpl_deadbeef-1234-4abc-8def-0123456789ab", "cmpl-uuid"),
    ):
        assert id_families(([shown] * 5).__iter__) == {family: 5}
        assert id_families(([shown] * 4).__iter__) == {}
    one, other = "chatcmpl-0123abcdef", "c0ffee00-1234-4abc-8def-0123456789ab"
    mixed = rows(10, response_id=one) + rows(10, 10, response_id=other)
    assert names(mixed) == ["id_families"]


def _hex(dice: random.Random, digits: int = 32) -> str:
    return f"{dice.getrandbits(4 * digits):0{digits}x}"


def _base64url(dice: random.Random, octets: int = 16) -> str:
    return base64.urlsafe_b64encode(dice.randbytes(octets)).decode().rstrip("=")


HONEST: dict[str, Callable[[random.Random], str]] = {
    "uuid": lambda dice: str(uuid.UUID(int=dice.getrandbits(128), version=4)),
    "uuid of letters": lambda dice: "".join(dice.choices("abcdef", k=8)) + "-1234-4abc-8def-" + _hex(dice, 12),
    "upper-case uuid": lambda dice: str(uuid.UUID(int=dice.getrandbits(128), version=4)).upper(),
    "hex": _hex,
    "base64url": _base64url,
    "base64url after a time": lambda dice: "AZpkbm" + _base64url(dice, 12),
    "chatcmpl- and base64url": lambda dice: "chatcmpl-" + _base64url(dice),
    "chatcmpl- and hex": lambda dice: "chatcmpl-" + _hex(dice),
    "chatcmpl- and uuid": lambda dice: f"chatcmpl-{uuid.UUID(int=dice.getrandbits(128), version=4)}",
    "six characters": lambda dice: "".join(dice.choices("0123456789abcdefghijklmnopqrstuvwxyz", k=6)),
    "gen-": lambda dice: f"gen-{dice.randrange(10**9, 10**10)}-{_base64url(dice, 15)}",
}


@pytest.mark.parametrize("shape", HONEST)
@pytest.mark.parametrize("many", [20, 512, pytest.param(5000, marks=pytest.mark.slow)])
def test_one_shape_of_ids_is_one_family_however_they_begin(shape: str, many: int) -> None:
    """Forty honest runs each: ids that begin with letters and a dash by chance make no family."""
    dice = random.Random(f"{shape} {many}")
    for _ in range(40 if many < 5000 else 4):
        told = [changed(row, response_id=HONEST[shape](dice)) for row in rows(many)]
        assert names(told) == []


@pytest.mark.parametrize("other", ["hex", "base64url", "chatcmpl- and hex", "gen-"])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_another_host_s_ids_are_a_family_of_their_own(other: str, share: float) -> None:
    """A router that sends one request in twenty elsewhere shows it."""
    dice = random.Random(other)
    told = [
        changed(row, response_id=HONEST[other if place < share * 512 else "chatcmpl- and uuid"](dice))
        for place, row in enumerate(rows(512))
    ]
    assert names(told) == ["id_families"]


@pytest.mark.skipif(not LLMVV.exists(), reason="needs the published result files in ../shared/data/llmvv")
def test_published_answers_of_one_host_have_one_family_of_ids() -> None:
    """511 and more answers each of DeepSeek (bare UUIDs), Novita and PPIO."""
    for file in sorted(LLMVV.glob("results-*")):
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        ids = [
            told["id"]
            for line in content.splitlines()
            if isinstance(told := json.loads(line).get("response"), dict) and told.get("id")
        ]
        assert len(ids) > 500
        assert len(id_families(ids.__iter__)) == 1, file.name


def test_limits_that_are_not_kept() -> None:
    """More than allowed, and a stop for length long before it."""
    assert names(rows(2, output=120, max_tokens=100)) == ["max_tokens_exceeded"]
    assert names(rows(2, output=50, max_tokens=100, finish_reason="length")) == ["cut_below_max_tokens"]
    assert names(rows(2, output=100, max_tokens=100, finish_reason="length")) == []
    assert names(rows(2, output=120)) == []


def test_repeated_answers() -> None:
    """Byte for byte the same on samples asked twice is worth a line, differing answers are not."""
    first, second = rows(12, said="d"), rows(12, said="d", repetition=1)
    assert names(first + second) == ["answers_repeated"]
    assert names(first + rows(12, said="e", repetition=1)) == []
    assert names(first) == []


def test_pass_through_of_bytes_and_ids() -> None:
    """Two names with the same answers, and with the very same response ids."""
    one = [changed(row, said=f"d{i}") for i, row in enumerate(rows())]
    other = [changed(row, said=f"e{i}") for i, row in enumerate(rows())]
    base = [changed(row, said=f"{row.digest}{number}", repetition=number)
            for number in (0, 1) for row in one]  # fmt: skip
    vendors = {"a": one, "b": other, "c": [*one[:12], *other[12:]]}
    [finding] = pass_through_findings(answers_by({**vendors, "official": base}), "official")[:1]
    assert (finding.name, finding.label, finding.evidence["other"]) == ("identical_answers", "a", "c")
    assert finding.evidence["same"] == 12
    assert finding.evidence["baseline_same"] == 0
    # Without the baseline's second answers nobody knows how often two honest hosts agree.
    assert pass_through_findings(answers_by(vendors)) == ()
    assert pass_through_findings(answers_by({"a": one, "b": other})) == ()
    ids = rows(3, response_id="x-1")
    assert [each.name for each in pass_through_findings(answers_by({"a": ids, "b": ids}))] == ["shared_response_ids"]


@pytest.mark.slow
@pytest.mark.parametrize("agreement", [0.55, 0.8, 0.97])
def test_honest_twins_of_a_model_that_hardly_varies_do_not_share_a_source(agreement: float) -> None:
    """Over 600 runs of three twins: any pair is named in 1 % at most, however often all of them agree."""
    named = 0
    for seed in range(600):
        rng = np.random.default_rng([seed, 31])
        likely = np.where(rng.random(80) < 0.5, 1.0, agreement)

        def side(times: int, rng: np.random.Generator = rng, likely: np.ndarray = likely) -> list[Observation]:
            drawn = np.where(rng.random((times, 80)) < likely, 0, rng.integers(1, 4, (times, 80)))
            return [
                changed(row, sample=f"s{place}", repetition=number, said=f"{place} {drawn[number, place]}")
                for number in range(times) for place, row in enumerate(rows(80))
            ]  # fmt: skip

        sides = {"official": side(2), **{f"twin{number}": side(1) for number in range(3)}}
        named += any(each.name == "identical_answers" for each in pass_through_findings(answers_by(sides), "official"))
    assert named <= 12


def test_a_vendor_repeats_itself_only_where_the_baseline_provably_does_so_less() -> None:
    """Nineteen of twenty against eighteen is chance; twenty against ten is not. Two evaluations are two questions."""

    def side(same: int, suite: str = "trigger") -> list[Observation]:
        return [
            changed(row, repetition=number, said=f"{place} {number * (place >= same)}", suite=suite)
            for number in (0, 1) for place, row in enumerate(rows(20))
        ]  # fmt: skip

    def told(own: list[Observation], base: list[Observation]) -> set[tuple[str, str]]:
        sides = {"official": base, "one": own}
        found = who_answered(answers_by(sides), dict.fromkeys(sides, "model-1"), dict.fromkeys(sides, None), "official")
        return {(each.label, each.name) for each in found}

    assert told(side(19), side(17)) == set()
    assert told(side(20), side(19)) == {("official", "answers_repeated")}
    assert told(side(20), side(8)) == {("one", "answers_repeated")}
    once = [changed(row, said=f"{place}", suite=suite)
            for suite in ("trigger", "toolbench") for place, row in enumerate(rows(20))]  # fmt: skip
    assert told(once, side(8)) == set()


def test_one_host_behind_two_names_is_found_though_the_model_hardly_varies() -> None:
    alike = {("trigger", f"s{number}"): True for number in range(300)}
    itself = {("trigger", f"s{number}"): number % 10 != 0 for number in range(300)}
    assert oftener_alike(alike, itself) < 1e-6
    assert oftener_alike(itself, itself) == 1.0
    assert oftener_alike({each: not known for each, known in itself.items()}, itself) == pytest.approx(1.0)


def test_a_row_comes_from_a_record() -> None:
    """Short answers have no digest, failures have no answer, and the call's own id does not enter the digest."""

    def record(response: Response | None) -> Record:
        failure = None if response else Failure("http_5xx", "headers", "down", 500)
        turns = (TurnRecord((Attempt(1, response=response, failure=failure),)),)
        return Record("run", "m", "v", "v", "trigger", "s", 1, turns)

    long = [Response(tool_calls=(ToolCall("f", '{"a": "' + 40 * "x" + '"}', call),)) for call in ("1", "2")]
    one, two = (observed(record(response)) for response in long)
    assert one == two
    assert one.digest is not None
    short = observed(record(Response(text="Paris.", served_model="", usage=Usage(3, 2), request_id="r")))
    assert (short.digest, short.tries[-1].usage.output, short.response_id) == (None, 2, "r")
    assert not observed(record(None)).traits.is_answered
