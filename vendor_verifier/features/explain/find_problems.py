"""The problems in a vendor's answers of a stored run, and the evidence for them in each record.

It judges like scoring does, but runs no code: samples that need some are left out, and the result notes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from vendor_verifier.config.suite_options import build_suite, known_suite
from vendor_verifier.records.event import Usage
from vendor_verifier.records.manifest import EntryInfo, StoredTask
from vendor_verifier.records.record import Record, supersedes
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, sample_in
from vendor_verifier.records.score import CallVerdict, Decision, Score
from vendor_verifier.records.tool_use import ToolResult
from vendor_verifier.scoring.observation import Observation, Traits, observe
from vendor_verifier.scoring.row_keys import Key
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import Suite, with_results
from vendor_verifier.suites.judging import judged
from vendor_verifier.suites.schema import ArgumentChecker
from vendor_verifier.suites.trigger import KeptCheckers, complete_calls
from vendor_verifier.words import Sentence, english


class BadSample(msgspec.Struct, frozen=True):
    """One sample that went wrong at one vendor: ``reasons`` over its ``records`` repetitions, worst first."""

    model: str
    label: str
    suite: str
    sample: str
    repetition: int
    records: int
    reasons: tuple[Sentence, ...]


class BadSamples(msgspec.Struct, frozen=True):
    """The worst samples of the vendors asked about, and how many there are in all. ``notes`` say what is not looked at.

    ``records`` is the number of these vendors' answers that were read.
    """

    run: str
    shown: tuple[BadSample, ...]
    found: int
    records: int
    notes: tuple[str, ...] = ()


class OtherAnswer(msgspec.Struct, frozen=True):
    """The answer of another vendor, or of the same one in another repetition. ``outcome``: ``ok`` or the failure."""

    label: str
    repetition: int
    is_baseline: bool
    outcome: str
    decision: Decision
    calls: tuple[str, ...]
    verdicts: tuple[CallVerdict, ...]
    ttft_ms: float | None
    usage: Usage | None


class Violation(msgspec.Struct, frozen=True):
    """One place of one call's arguments that breaks the declared schema, or the one message there is on the call."""

    tool: str
    verdict: str
    pointer: str | None
    message: str | None


class Explanation(msgspec.Struct, frozen=True):
    """One record with all the evidence around it.

    ``asked`` are the turns as the evaluation put them, one per turn of the record (fewer where a conversation cannot be
    played again here). ``curl`` is a shell command without the key, ``no_curl`` why there is none.
    """

    record: Record
    sample: Sample
    score: Score
    asked: tuple[Turn, ...]
    violations: tuple[Violation, ...] = ()
    reasons: tuple[Sentence, ...] = ()
    defects: tuple[str, ...] = ()
    others: tuple[OtherAnswer, ...] = ()
    redacted: bool = False
    curl: str | None = None
    no_curl: str | None = None


_BAD_CALLS = ("invalid_json", "unknown_tool", "schema_mismatch")
Answers = dict[tuple[str, str], dict[Key, Observation]]
Decisions = dict[tuple[str, str], frozenset[str]]


def read_answers(folder: RunFolder, wanted: Iterable[EntryInfo]) -> Answers:
    """The observation of every record of ``wanted`` entries, by (model, label)."""
    tasks = folder.read_manifest().tasks
    samples = {name: folder.read_samples(name) for name in (task.suite for task in tasks)}
    suites = {task.suite: quiet_suite(task) for task in tasks}
    found: Answers = {(info.model, info.label): {} for info in wanted}
    checkers = KeptCheckers()
    for record in folder.read_records(lambda _line, _reason: None):
        own = found.get((record.model, record.label))
        sample = sample_in(samples, record.suite, record.sample)
        if own is None or sample is None:
            continue
        answer = observe(record, judged(record, suites[record.suite], sample, checkers), sample)
        before = own.get(answer.key)
        if before is None or supersedes(answer.traits, before.traits):
            own[answer.key] = answer
    return found


def quiet_suite(task: StoredTask) -> Suite:
    """The suite without services and functions, so that judging runs no foreign code."""
    return build_suite(known_suite(task.suite), task.options)


def bad_samples_of(info: EntryInfo, own: Mapping[Key, Observation], expected: Decisions) -> Iterator[BadSample]:
    """Samples with something wrong, in the order asked; its repetitions count as one."""
    by_sample: dict[tuple[str, str], list[tuple[int, tuple[Sentence, ...]]]] = {}
    for (suite, sample, repetition), answer in own.items():
        wrong = reasons(answer.traits, expected.get((suite, sample), frozenset()))
        if wrong:
            by_sample.setdefault((suite, sample), []).append((repetition, wrong))
    for (suite, sample), bad in by_sample.items():
        words = sorted({word for _, wrong in bad for word in wrong}, key=lambda word: (severity(word), word))
        first, _ = min(bad, key=lambda row: (min(map(severity, row[1])), row[0]))
        yield BadSample(info.model, info.label, suite, sample, first, len(bad), tuple(words))


def reasons(traits: Traits, expected: frozenset[str]) -> tuple[Sentence, ...]:
    """The problems of an answer, in words; empty when it has none."""
    kind = known_suite(traits.suite)
    found = []
    if not traits.succeeded and not kind.apart:
        found.append(english("wrong_failed", failure=failure_of(traits)))
    found += [english("wrong_call", verdict=each) for each in dict.fromkeys(traits.classes) if each in _BAD_CALLS]
    if traits.succeeded and expected and traits.decision in _DECIDED and traits.decision not in expected:
        found.append(english("wrong_decision", decision=traits.decision, expected=_either(expected)))
    value = None if kind.ranks_by is None else dict(traits.scores).get(kind.ranks_by)
    if value is not None and value < 1 and (traits.succeeded or kind.apart):
        found.append(english("wrong_score", value=f"{value:.2f}"))
    return tuple(found)


_DECIDED = ("called", "not_called")
_SEVERITY = ("wrong_failed", "wrong_call", "wrong_decision", "wrong_score")


def _either(decisions: frozenset[str]) -> str:
    ordered = sorted(decisions)
    return ordered[0] if len(ordered) == 1 else english("wrong_either", one=ordered[0], other=ordered[1])


def failure_of(traits: Traits) -> str:
    """The kind of failure of an unsuccessful answer, or that there is none: its recording states no reason."""
    return (traits.phase and traits.failure) or english("wrong_no_answer")


def severity(reason: Sentence) -> int:
    """The rank of a problem in severity, the smaller the worse."""
    return _SEVERITY.index(reason.name)


def expected_decisions(infos: Sequence[EntryInfo], info: EntryInfo, answers: Answers) -> Decisions:
    """The decisions of the baseline of ``info``'s model, by (suite, sample); empty where ``info`` is the baseline."""
    baseline = next((other for other in infos if other.model == info.model and other.is_baseline), None)
    found: Decisions = {}
    if baseline is None or baseline == info:
        return found
    for (suite, sample, _), answer in answers.get((baseline.model, baseline.label), {}).items():
        decision = answer.traits.decision
        if decision in _DECIDED and answer.traits.succeeded and not known_suite(suite).apart:
            found[suite, sample] = found.get((suite, sample), frozenset()) | {decision}
    return found


def turns_asked(suite: Suite, sample: Sample, record: Record) -> Iterator[Turn]:
    """The turns that the record answers, by playing again with its own answers."""
    returned: tuple[ToolResult, ...] = ()
    play = with_results(suite.play(sample), lambda _step: returned)
    try:
        turn = next(play)
        for answered in record.turns:
            yield turn
            if not answered.attempts:
                return
            returned = answered.tool_results
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


def other_answer(record: Record, score: Score, answer: Observation, *, is_baseline: bool) -> OtherAnswer:
    """Another answer to the same sample, given its record, score and observation."""
    final = record.final
    response = final.response if final is not None else None
    timing = final.timing if final is not None else None
    first_ns = timing.first_token_ns if timing is not None else None
    return OtherAnswer(
        label=record.label,
        repetition=record.repetition,
        is_baseline=is_baseline,
        outcome="ok" if record.succeeded else failure_of(answer.traits),
        decision=score.decision,
        calls=tuple(f"{call.name}({call.arguments})" for call in response.tool_calls) if response else (),
        verdicts=score.calls,
        ttft_ms=None if first_ns is None else first_ns / 1e6,
        usage=response.usage if response is not None else None,
    )
