"""The parts of an explanation that come from one record: what was asked, what breaks a schema, what was said instead.

It reads no file.
"""

from __future__ import annotations

from collections.abc import Iterator

from vendor_verifier.pipeline.slips import told_of
from vendor_verifier.suites.base import Suite
from vendor_verifier.suites.schema import ArgumentChecker
from vendor_verifier.suites.trigger import complete_calls
from vendor_verifier.values.explanation import OtherAnswer, Violation
from vendor_verifier.values.record import Record
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Score


def turns_asked(suite: Suite, sample: Sample, record: Record) -> Iterator[Turn]:
    """The turns that the record answers, by playing again with its own answers."""
    play = suite.play(sample)
    try:
        turn = next(play)
        for answered in record.turns:
            yield turn
            if not answered.attempts:
                return
            turn = play.send(answered.attempts[-1])
    except StopIteration:
        return
    finally:
        play.close()


def violations_of(record: Record, score: Score, sample: Sample, *, is_redacted: bool) -> Iterator[Violation]:
    """Every schema error of the final answer's calls; of a redacted one the verdicts that were kept."""
    final = record.final
    if is_redacted or final is None or final.response is None or not final.succeeded:
        for call in score.calls:
            if call.verdict != "valid":
                yield Violation(call.tool, call.verdict, call.pointer, call.message)
        return
    checker = ArgumentChecker(sample.turn.tools)
    for made in complete_calls(final.response)[0]:
        verdict = checker.check(made)
        if verdict.verdict == "schema_mismatch":
            for pointer, message in checker.violations(made):
                yield Violation(made.name, verdict.verdict, pointer, message)
        elif verdict.verdict != "valid":
            yield Violation(made.name, verdict.verdict, verdict.pointer, verdict.message)


def other_answer(record: Record, score: Score, *, is_baseline: bool) -> OtherAnswer:
    final = record.final
    response = final.response if final is not None else None
    timing = final.timing if final is not None else None
    first_ns = timing.first_token_ns if timing is not None else None
    told = told_of(record, score)
    return OtherAnswer(
        label=record.label,
        repetition=record.repetition,
        is_baseline=is_baseline,
        outcome="ok" if record.succeeded else told.failure or "no answer",
        decision=score.decision,
        calls=tuple(f"{call.name}({call.arguments})" for call in response.tool_calls) if response else (),
        verdicts=score.calls,
        ttft_ms=None if first_ns is None else first_ns / 1e6,
    )
