"""What a report shows of single requests: bounded, independent of the records' order, and true to the records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate, pairwise

import synthetic_run
from changing import replace
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.records.details import MAX_ANSWERS, MAX_EXAMPLES, MAX_POINTS, ReportDetails, VendorDetails
from vendor_verifier.records.record import Attempt, Failure, Record, TurnRecord
from vendor_verifier.records.record_blocks import RecordBlocks
from vendor_verifier.records.score import PlayedTask
from vendor_verifier.scoring.collect import Tables, collect
from vendor_verifier.scoring.draws import Draw, LogCounts, key_digest
from vendor_verifier.scoring.report_samples import gather_details
from vendor_verifier.suites.trigger import TriggerSuite

LABELS = ("official", "good", "bad")


def details(heard: Sequence[Record], number: int, labels: Sequence[str] = LABELS) -> ReportDetails:
    return told([PlayedTask("trigger", synthetic_run.samples(number))], heard, labels)


def told(tasks: Sequence[PlayedTask], heard: Sequence[Record], labels: Sequence[str]) -> ReportDetails:
    """What is gathered while the records of ``tasks`` are collected."""
    who = synthetic_run.entries(labels)
    gathering = gather_details(who, ["trigger"])
    played = {task.suite: task for task in tasks}
    collect(Tables(), who, played, heard, {"trigger": TriggerSuite()}, 1, gathering.take)
    return gathering.finished()


@given(st.lists(st.integers(0, 7), max_size=40), st.sampled_from([1, 40]))
def test_blocks_of_records_change_nothing(sizes: list[int], number: int) -> None:
    """However records are cut into blocks, empty ones among them, every one is taken in its order."""
    heard = run(number)
    places = sorted({min(place, len(heard)) for place in accumulate(sizes)})
    cuts = [0, *places, len(heard), len(heard)]
    blocks = RecordBlocks([heard[begin:end] for begin, end in pairwise(cuts)])
    tasks, took = [PlayedTask("trigger", synthetic_run.samples(number))], list[Record]()
    who, played = synthetic_run.entries(LABELS), {task.suite: task for task in tasks}
    tables, expected = Tables(), Tables()
    collect(tables, who, played, blocks, {"trigger": TriggerSuite()}, 1, lambda record, *_: took.append(record))
    collect(expected, who, played, heard, {"trigger": TriggerSuite()}, 1)
    assert took == heard
    for key, table in expected.rows.items():
        assert list(tables.rows[key].every()) == list(table.every())
        assert list(tables.rows[key].tries) == list(table.tries)


def run(number: int, labels: Sequence[str] = LABELS) -> list[Record]:
    return list(synthetic_run.records(labels, synthetic_run.samples(number)))


def of(found: ReportDetails, label: str) -> VendorDetails:
    return found.models[synthetic_run.MODEL][label]


def test_the_order_of_records_does_not_matter() -> None:
    """Interleaved, shuffled and vendor by vendor, the same run gives the same details."""
    heard = run(120)
    shuffled = random.Random(3).sample(heard, len(heard))
    by_vendor = sorted(heard, key=lambda record: record.label)
    assert details(heard, 120) == details(shuffled, 120) == details(by_vendor, 120)


def test_samples_are_bounded_and_counted() -> None:
    """However long the run, a vendor has at most 400 points and 20 examples; the whole is told."""
    found = of(details(run(900), 900), "bad")
    assert len(found.points) == MAX_POINTS
    assert len(found.examples) == MAX_EXAMPLES < found.examples_found
    assert found.records == 900 == len(found.cases)
    assert found.points[0].t_s >= 0
    assert [point.t_s for point in found.points] == sorted(point.t_s for point in found.points)


def test_histograms_count_every_measured_answer() -> None:
    """Nothing is sampled in a histogram, its edges ascend and enclose what was measured."""
    heard = run(300)
    found = of(details(heard, 300), "good").histograms["ttft_ms"]
    measured = sum(record.label == "good" and record.succeeded for record in heard)
    assert sum(found.counts) == measured
    assert len(found.edges) == len(found.counts) + 1
    assert list(found.edges) == sorted(found.edges)


def test_a_success_makes_the_failure_under_its_key_forgotten() -> None:
    """A resumed sample is neither failed case nor example, whichever record comes first."""
    heard = run(12, ("official",))
    good = next(record for record in heard if record.succeeded)
    failed = replace(good, turns=(TurnRecord((Attempt(1, None, None, Failure("dns", "dns", "no such host")),)),))
    for order in ([failed, good], [good, failed], [failed, failed, good, good]):
        found = of(details(order, 12, ("official",)), "official")
        assert (found.records, found.examples_found, found.examples) == (1, 0, ())
        assert [case.failure for case in found.cases] == [None]
        assert [point.ok for point in found.points] == [True]


def test_examples_show_what_was_asked_and_what_came_back() -> None:
    """A failure has its message, a bad argument its schema and pointer, a disagreement the baseline's answer."""
    found = of(details(run(900), 900), "bad").examples
    kinds = {one.kind: one for one in found}
    assert kinds.keys() == {"failure", "arguments", "called", "not_called"}
    assert kinds["failure"].message is not None
    mismatch = next(one for one in found if one.reason == "schema_mismatch")
    assert mismatch.pointer == "/days"
    assert '"three"' in mismatch.reply
    assert (mismatch.expected or "").startswith('{"type":"object"')
    missed = kinds["not_called"]
    assert (missed.expected or "").startswith("get_weather(")
    assert missed.prompt.startswith("What will the weather be in city")
    assert (missed.source or "").startswith("weather.jsonl:")


def test_records_outside_the_plan_leave_no_trace() -> None:
    """Unknown labels, samples, suites and repetitions, and tasks that stand apart, are passed over."""
    record = run(3, ("official",))[0]
    strangers = [
        replace(record, label="nobody"), replace(record, sample="other"),
        replace(record, suite="other"), replace(record, repetition=1),
    ]  # fmt: skip
    found = details(strangers, 3, ("official",))
    assert (of(found, "official"), found.started_at) == (VendorDetails(), None)
    apart = [PlayedTask("trigger", synthetic_run.samples(3), apart=True)]
    provoked = told(apart, [record], ("official",))
    assert of(provoked, "official") == VendorDetails()


@given(st.lists(st.integers(0, 10_000), max_size=200), st.integers(0, 20))
def test_a_draw_keeps_the_smallest_whatever_the_order(digests: list[int], most: int) -> None:
    """The sample is a function of the keys alone, and it is known beforehand what it would keep."""
    drawn: Draw[int] = Draw(most)
    for digest in digests:
        wanted = drawn.wants(digest)
        drawn.add(digest, digest)
        assert wanted == (digest in drawn.kept)
    assert drawn.items() == sorted(set(digests))[:most]


@given(st.lists(st.floats(1e-3, 1e7), min_size=1, max_size=200))
def test_bins_lose_no_number_and_are_few(values: list[float]) -> None:
    """Every positive number is in a bin, and the bins fit a chart."""
    counts = LogCounts()
    for value in [*values, 0.0, float("inf")]:
        counts.add(value)
    found = counts.histogram()
    assert found is not None
    assert sum(found.counts) == len(values)
    assert len(found.counts) <= 48
    assert found.edges[0] <= min(values) * (1 + 1e-9)
    assert max(values) <= found.edges[-1] * (1 + 1e-9)


def test_nothing_counted_is_no_histogram() -> None:
    """A vendor that measured nothing has no picture, not an empty one."""
    assert LogCounts().histogram() is None
    assert key_digest("a", "b", 1) != key_digest("a", "b1")


def test_answers_stand_beside_the_baselines_to_the_same_samples() -> None:
    """Every entry holds the same samples, each with whether it decided as the baseline did and its share of tokens."""
    found = details(run(120), 120)
    good = {answer.sample: answer for answer in of(found, "good").answers}
    bad = {answer.sample: answer for answer in of(found, "bad").answers}
    assert len(good) == 120
    assert good.keys() == bad.keys()
    assert {answer.agreement for answer in bad.values()} >= {"agrees", "differs"}
    assert all(answer.token_ratio is not None for answer in good.values() if answer.agreement == "agrees")
    # Asked once, the baseline cannot be held against itself.
    assert of(found, "official").answers == ()


def test_a_broken_answer_is_cut_and_another_failure_failed() -> None:
    """What broke off and what never came are told apart, and neither is held against the baseline's decision."""
    heard = run(20)
    cut, failed = (record for record in heard[:20] if record.label != "official" and record.sample == heard[0].sample)
    others = [record for record in heard if record not in (cut, failed)]
    found = details([*others, broken(cut, "truncated"), broken(failed, "http_5xx")], 20)
    told_of = {
        record.label: next(a.agreement for a in of(found, record.label).answers if a.sample == record.sample)
        for record in (cut, failed)
    }
    assert told_of == {cut.label: "cut", failed.label: "failed"}


def test_compared_answers_are_bounded() -> None:
    """Of a long run the same few hundred samples are kept for every entry."""
    found = details(run(MAX_ANSWERS + 60), MAX_ANSWERS + 60)
    good, bad = ({answer.sample for answer in of(found, label).answers} for label in ("good", "bad"))
    assert good == bad
    assert len(good) == MAX_ANSWERS


def broken(record: Record, kind: str) -> Record:
    """The record with a failure of that kind instead of its answer."""
    failure = Failure(kind, "stream", "it broke")  # type: ignore[arg-type]
    attempt = record.turns[0].attempts[0]
    return replace(record, turns=(TurnRecord((replace(attempt, response=None, failure=failure),)),))
