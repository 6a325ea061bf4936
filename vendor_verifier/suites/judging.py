"""The judgement of a stored record: the score of its evaluation, and the verdict on every tool call it made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import structs

from vendor_verifier.records.record import CallVerdict, Record, Score, ToolCall
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import Suite, replay, suite_kind
from vendor_verifier.suites.trigger import NOT_JUDGED, KeptCheckers, complete_calls


class JudgedCall(msgspec.Struct, frozen=True):
    """A call of the answer to turn ``turn`` (from 0 on), and the verdict on its arguments."""

    turn: int
    call: ToolCall
    verdict: CallVerdict


def judged(record: Record, suite: Suite, sample: Sample, checkers: KeptCheckers) -> Score:
    """The score of one record: stored with it, else found by playing again; an unfinished recording decides nothing.

    Calls are held against the tools of their own turn in every evaluation whose turns declare some.
    """
    score, asked = _played(record, suite, sample)
    if score.calls or not _is_counted(record, sample):
        return score
    calls = tuple(each.verdict for each in _checked(record, asked, checkers))
    doubts = (NOT_JUDGED,) if any(call.verdict == "not_judged" for call in calls) else ()
    return structs.replace(score, calls=calls, anomalies=(*score.anomalies, *doubts)) if calls else score


def judged_calls(record: Record, suite: Suite, sample: Sample, checkers: KeptCheckers) -> list[JudgedCall]:
    """Every call that counts, with its verdict; none of a failure, of an answer in text, nor of redacted texts."""
    if record.score is not None or not _is_counted(record, sample):
        return []
    return list(_checked(record, _played(record, suite, sample)[1], checkers))


def _played(record: Record, suite: Suite, sample: Sample) -> tuple[Score, list[Turn]]:
    """The suite's own score, and the turns it asked."""
    asked: list[Turn] = []
    if record.score is not None:
        return record.score, asked
    return replay(suite.play(sample), record.turns, asked) or Score(suite.name), asked


def _is_counted(record: Record, sample: Sample) -> bool:
    """Whether the calls of a record count: not of a failure, nor where questions are meant to break something.

    Rows of BFCL in Java or JavaScript declare types of these languages, which are no JSON Schema.
    """
    kind = suite_kind(record.suite)
    if record.suite == "bfcl":
        # Imported here, because other runs do not load BFCL.
        from vendor_verifier.suites.bfcl.categories import language_of

        if language_of(str(sample.expected.get("category", ""))) != "python":
            return False
    return record.succeeded and not (kind is not None and kind.apart)


def _checked(record: Record, asked: Sequence[Turn], checkers: KeptCheckers) -> Iterator[JudgedCall]:
    finals = [turn.attempts[-1] for turn in record.turns if turn.attempts]
    # The play may have asked once more than was answered.
    for number, (turn, attempt) in enumerate(zip(asked, finals, strict=False)):
        if turn.tools and attempt.response is not None and attempt.response.tool_calls:
            checker = checkers.of(turn.tools)
            for call in complete_calls(attempt.response)[0]:
                yield JudgedCall(number, call, checker.check(call))
