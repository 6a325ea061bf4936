"""Which records a figure is taken over, and the order of vendors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_records import BASE, CALL, MS, RIVAL, SAMPLES, WRONG, bad, everything, ok, record, result, score, timing
from msgspec import structs

from vendor_verifier.records.manifest import EntryInfo
from vendor_verifier.records.record import Attempt, Record, Score, Usage
from vendor_verifier.records.results import VendorResult
from vendor_verifier.records.sample import Sample, Samples
from vendor_verifier.scoring.figures import ScorePlan, score_models
from vendor_verifier.scoring.metrics import RANK_METRICS
from vendor_verifier.scoring.set_aside import same_provider
from vendor_verifier.scoring.table import read_frames
from vendor_verifier.suites.trigger import TriggerSuite

DEAD = EntryInfo("m", "dead", "dead", "m-1")
PINNED = structs.replace(RIVAL, provider="novita")


def figures(found: VendorResult) -> list[float | None]:
    return [
        found.metric(name) for name in ("f1", "success_rate", "schema_accuracy", "avg_tokens", "avg_ttft_ms", "tps")
    ]


def test_figures_of_a_faithful_vendor() -> None:
    """All six metrics with what they were taken over, computed by hand."""
    found = result(score([*everything(BASE), *everything(RIVAL)]))
    assert figures(found) == [1.0, 1.0, 1.0, 110.0, 100.0, 100.0]
    assert found.measured == {
        "success_rate": 6, "f1": 6, "schema_accuracy": 3, "avg_tokens": 6, "avg_ttft_ms": 6, "tps": 6,
    }  # fmt: skip
    assert (found.planned, found.recorded, found.succeeded, found.failures) == (6, 6, 6, {})
    # First on all, each shared with the baseline.
    assert found.irf == pytest.approx(6 / 6.5)
    assert found.place == 1


def test_a_vendor_that_always_fails_is_last() -> None:
    """Its F1 and success are 0, the rest is missing; nothing is 0 that was not measured."""
    scored = score([*everything(BASE), *everything(RIVAL), *everything(DEAD, bad())], BASE, RIVAL, DEAD)
    dead = result(scored, "dead")
    assert figures(dead) == [0.0, 0.0, None, None, None, None]
    assert (list(scored.models["m"].vendors)[-1], dead.place, dead.failures) == ("dead", 3, {"http_5xx": 6})


@pytest.mark.parametrize(
    ("options", "success", "misses"),
    [
        ({"complete": True}, 4 / 6, 2),
        ({"complete": None}, 1.0, 0),
        ({"complete": False}, 1.0, 0),
        ({"complete": True, "imported": True}, 1.0, 0),
    ],
)
def test_missing_rows(options: dict[str, Any], success: float, misses: int) -> None:
    """A lost row of a complete run is a failure; what was never sent, or is in no imported file, is none."""
    scored = score([*everything(BASE), *everything(RIVAL)[:4]], **options)
    found = result(scored)
    assert (found.success_rate, found.counts and found.counts.fn) == (pytest.approx(success), misses)
    assert scored.complete == bool(options["complete"])


@pytest.mark.parametrize("kind", ["harness", "untranslatable", "proxy", "proxy_failed", "tool_server", "skipped"])
def test_what_was_not_sent_is_charged_to_nobody(kind: str) -> None:
    """A failure of this program leaves success and F1 of the other records alone."""
    found = result(score([*everything(BASE), *everything(RIVAL)[:5], record(RIVAL, 5, bad(kind))]))
    assert (found.success_rate, found.f1, found.measured["success_rate"], found.failures) == (1.0, 1.0, 5, {kind: 1})


@pytest.mark.parametrize("kind", ["auth", "no_credit"])
def test_refused_access(kind: str) -> None:
    """Who refuses our key or credit for everything has no figures; who answered once has failures."""
    refused = [record(RIVAL, at, bad(kind)) for at in range(5)] + [record(RIVAL, 5, bad("skipped"))]
    none = result(score([*everything(BASE), *refused]))
    assert [*figures(none), none.place] == [None] * 7
    once = result(score([*everything(BASE), record(RIVAL, 0, ok()), *refused[1:]]))
    assert (once.success_rate, once.place) == (pytest.approx(1 / 5), 2)


def test_a_vendor_that_is_down_answers_for_what_was_not_sent() -> None:
    """It would gain by being away for longer, or by letting nobody connect."""
    gone = [record(RIVAL, at, bad("skipped" if at > 2 else "connect_refused")) for at in range(1, 6)]
    found = result(score([*everything(BASE), record(RIVAL, 0, ok()), *gone]))
    assert (found.success_rate, found.counts and found.counts.fn) == (pytest.approx(1 / 6), 5)
    found = result(score([*everything(BASE), *everything(RIVAL)[:5], record(RIVAL, 5, bad("timeout_connect"))]))
    assert found.success_rate == pytest.approx(5 / 6)


@pytest.mark.parametrize(("policy", "expected"), [("lenient", 0.75), ("strict", 0.5)])
def test_schema_accuracy(policy: str, expected: float) -> None:
    """Empty arguments for a tool without required ones are valid when lenient only."""
    open_tools = ({"type": "function", "function": {"name": "g"}},)
    samples = Samples([structs.replace(SAMPLES[0], turn=structs.replace(SAMPLES[0].turn, tools=open_tools))])
    call = CALL[0]
    made = [
        ("g", "{}"), ("g", '{"x": 1}'), ("g", ""), ("unknown", "{}"),
    ]  # fmt: skip
    calls = [structs.replace(call, name=name, arguments=text) for name, text in made]
    found = read_frames([record(RIVAL, 0, ok(calls))], {"trigger": TriggerSuite()}, {"trigger": samples})
    plan = ScorePlan(entries=(RIVAL,), samples={"trigger": samples}, complete=True, schema_policy=policy)  # type: ignore[arg-type]
    assert score_models(found, plan).models["m"].vendors["rival"].schema_accuracy == expected


def late(count: int, late_ms: float) -> list[Record]:
    """The rival's records, the first ``count`` of them read late."""
    return [
        record(
            RIVAL, at, ok(() if at % 2 else CALL, timed=timing(our_lateness_ns=int(late_ms * MS) if at < count else 0))
        )
        for at in range(len(SAMPLES))
    ]


@pytest.mark.lateness
@pytest.mark.parametrize(
    ("count", "late_ms", "ttft", "tps"),
    [(6, 40, 100.0, 100.0), (1, 60, 100.0, 100.0), (2, 60, None, 100.0), (2, 600, None, None)],
)
def test_lateness_of_ours(count: int, late_ms: float, ttft: float | None, tps: float | None) -> None:
    """A time is discarded where more than half of it may be ours; with more than a fifth discarded nobody is ranked."""
    scored = score([*everything(BASE), *late(count, late_ms)])
    found = result(scored)
    assert (found.avg_ttft_ms, found.tps) == (ttft, tps)
    lost = [name for name, value in (("avg_ttft_ms", ttft), ("tps", tps)) if value is None]
    assert list(scored.models["m"].unranked) == lost
    assert found.irf == pytest.approx((6 - len(lost)) / 6.5)
    assert bool(scored.warnings) == (late_ms > 50)


def test_times_from_the_schedule() -> None:
    """Where a cap of the user's held requests back, TTFT counts from when a request was due."""
    waited = ok(timed=timing(100, scheduled_ns=-50 * MS))
    records = [each for entry in (BASE, RIVAL) for each in everything(entry, waited, offered_s=1.0)]
    assert result(score(records, ttft="ttft_due_ms")).avg_ttft_ms == 150.0
    assert result(score(records)).avg_ttft_ms == 100.0


def test_answers_of_another_provider() -> None:
    """They are left out of every figure; a single other name is another spelling."""

    def served(*names: str) -> Iterator[Record]:
        for at, name in enumerate(names):
            yield record(RIVAL, at, ok(() if at % 2 else CALL, served_provider=name))

    scored = score(
        [*everything(BASE), *served("Novita AI", "Novita AI", "Cheap", "Cheap", "Novita", "Novita")], BASE, PINNED
    )
    found = result(scored)
    assert (found.recorded, found.success_rate, found.measured["f1"]) == (4, 1.0, 4)
    assert scored.records["misrouted"].sum() == 2
    assert "2 rows left out" in scored.warnings[0]
    respelt = score([*everything(BASE), *served(*["Other"] * 6)], BASE, PINNED)
    assert result(respelt).recorded == 6
    assert "spelling" in respelt.warnings[0]


@pytest.mark.parametrize(
    ("pin", "served", "same"),
    [
        ("google-vertex/us-east5", "Google", True), ("novita/fp8", "Novita AI", True), ("moonshotai", "Moonshot", True),
        ("z-ai", "Zhipu", True), ("novita", "NovitaCheap", True), ("novita", "Together", False), ("", "Any", True),
    ],
)  # fmt: skip
def test_names_of_a_provider(pin: str, served: str, same: bool) -> None:
    assert same_provider(pin, served) == same


def streams(entry: EntryInfo, count: int, **odd: Any) -> list[Record]:
    """Answers of 20 to 600 tokens at 50 a second, or finished before they are streamed, or with hidden tokens."""
    dice = random.Random(entry.label)
    records = []
    for number in range(count):
        tokens = dice.randint(20, 600)
        ttft = 200 * dice.lognormvariate(0, 0.1) + (20 * tokens if odd.get("fakes") else 0)
        last = int((ttft + (tokens if odd.get("fakes") else 20 * tokens)) * MS)
        usage = Usage(10, tokens + odd.get("hidden", 0), reasoning=odd.get("hidden"))
        answer = ok((), timed=timing(ttft, last_token_ns=last, end_ns=last), usage=usage, text="word " * tokens)
        made = record(entry, 0, answer)
        records.append(structs.replace(made, sample=f"t{number}-1"))
    return records


@pytest.mark.parametrize(
    ("odd", "measured"),
    [({}, True), ({"fakes": True}, False), ({"hidden": 50}, False), ({"fakes": True, "hidden": 0}, False)],
)
def test_withheld_speeds(odd: dict[str, Any], measured: bool) -> None:
    """A faked stream and hidden tokens have no TPS, which then ranks nobody but the others."""
    samples = Samples([Sample(f"t{number}-1", SAMPLES[0].turn) for number in range(60)])
    records = [*streams(BASE, 60), *streams(RIVAL, 60, **odd)]
    found = read_frames(records, {"trigger": TriggerSuite()}, {"trigger": samples})
    scored = score_models(found, ScorePlan(entries=(BASE, RIVAL), samples={"trigger": samples}, complete=True))
    assert (result(scored).tps is not None) == measured == (not scored.warnings)
    assert scored.models["m"].unranked == ()
    assert result(scored, "official").tps is not None


def evaluated(entry: EntryInfo, *values: float) -> list[Record]:
    """Records of an evaluation with these scores; −1 fails."""
    return [
        record(
            entry, at, bad() if value < 0 else ok(()), suite="tool_correctness",
            score=Score("tool_correctness", values={"score": max(0.0, value)}),
        )
        for at, value in enumerate(values)
    ]  # fmt: skip


def score_evaluation(records: list[Record], *entries: EntryInfo, **options: Any) -> Any:
    samples = {"tool_correctness": SAMPLES}
    found = read_frames(records, {"tool_correctness": TriggerSuite("tool_correctness")}, samples)
    return score_models(found, ScorePlan(entries=entries, samples=samples, **{"complete": True, **options}))


def test_scores_of_an_evaluation() -> None:
    """A failure and a lost row count 0; the mean score alone orders the vendors, and ties share a place."""
    third = structs.replace(RIVAL, label="third")
    records = [*evaluated(BASE, 1, 1, 0, 0, 1, 0), *evaluated(RIVAL, 1, 1, 1, -1), *evaluated(third, 1, 1, 1, 1, 1, -1)]
    scored = score_evaluation(records, BASE, RIVAL, third)
    vendors = scored.models["m"].vendors
    assert {label: vendor.suites["tool_correctness"].score for label, vendor in vendors.items()} == {
        "third": pytest.approx(5 / 6), "official": 0.5, "rival": 0.5,
    }  # fmt: skip
    assert [vendor.place for vendor in vendors.values()] == [1, 2, 2]
    assert [vendor.irf for vendor in vendors.values()] == [None] * 3
    suite = vendors["rival"].suites["tool_correctness"]
    assert (suite.planned, suite.judged, vendors["rival"].metric("tool_correctness")) == (6, 4, 0.5)
    rest = score_evaluation(records, BASE, RIVAL, third, imported=True).models["m"].vendors["rival"]
    assert rest.suites["tool_correctness"].score == 0.75


def test_checks_of_the_contract() -> None:
    """The worst outcome of a check counts, and its failures touch no other figure."""
    checks = Samples([structs.replace(each, tags={"check": f"check {at}"}) for at, each in enumerate(SAMPLES)])
    statuses = ["kept", "broken", "not_offered", "not_measurable", "kept"]
    records = [
        record(RIVAL, at, bad(), suite="contract", score=Score("contract", details={"status": status}))
        for at, status in enumerate(statuses)
    ]
    again = record(
        RIVAL, 0, bad(), suite="contract", repetition=1, score=Score("contract", details={"status": "broken"})
    )
    samples = {"contract": checks, "trigger": SAMPLES}
    suites = {"contract": TriggerSuite("contract"), "trigger": TriggerSuite()}
    found = read_frames([*everything(BASE), *everything(RIVAL), *records, again], suites, samples)
    vendor = result(score_models(found, ScorePlan(entries=(BASE, RIVAL), samples=samples, complete=False)))
    suite = vendor.suites["contract"]
    assert list(suite.checks.values()) == [
        "broken", "broken", "not_offered", "not_measurable", "kept", "not_measurable",
    ]  # fmt: skip
    assert (suite.score, suite.judged) == (0.5, 4)
    assert (vendor.success_rate, vendor.failures) == (1.0, {})


def test_calls_that_were_not_read() -> None:
    """Where no call was read but the texts hold some, a warning names the option."""
    samples = {"toolbench": SAMPLES}
    said = Score("toolbench", "not_called", values={"resolved": 0.0}, anomalies=("calls_only_in_text",))
    records = [structs.replace(each, suite="toolbench", score=said) for each in everything(RIVAL, ok(()))]
    found = read_frames(records, {"toolbench": TriggerSuite("toolbench")}, samples)
    scored = score_models(found, ScorePlan(entries=(RIVAL,), samples=samples, complete=True))
    assert ["--answer-format text" in warning for warning in scored.warnings] == [True]


ATTEMPTS = st.sampled_from([ok(), ok(()), ok(WRONG), ok(finish_reason="length"), bad(), bad("auth"), bad("harness")])


@settings(max_examples=15, deadline=None)
@given(st.lists(ATTEMPTS, min_size=6, max_size=6), st.integers(0, 5))
def test_failing_raises_no_figure(attempts: list[Attempt], at: int) -> None:
    """An answer replaced by a failure of the vendor raises neither F1 nor success."""
    before = [record(RIVAL, number, each) for number, each in enumerate(attempts)]
    after = [*before[:at], record(RIVAL, at, bad()), *before[at + 1 :]]
    if not before[at].succeeded:
        return
    old, new = (result(score([*everything(BASE), *records])) for records in (before, after))
    assert (new.f1 or 0) <= (old.f1 or 0) + 1e-12
    assert (new.success_rate or 0) < (old.success_rate or 0)


@settings(max_examples=8, deadline=None)
@given(st.lists(ATTEMPTS, min_size=6, max_size=6), st.randoms())
def test_the_order_of_records_changes_nothing(attempts: list[Attempt], dice: random.Random) -> None:
    """Records come as they end, and a record that comes twice counts once."""
    records = [*everything(BASE), *(record(RIVAL, at, each) for at, each in enumerate(attempts))]
    mixed = [*records, *records[:3]]
    dice.shuffle(mixed)
    assert figures(result(score(mixed))) == pytest.approx(figures(result(score(records))))


def test_rank_metrics_can_be_added() -> None:
    samples = {"trigger": SAMPLES, "tool_correctness": SAMPLES}
    suites = {"trigger": TriggerSuite(), "tool_correctness": TriggerSuite("tool_correctness")}
    records = [*everything(BASE), *everything(RIVAL), *evaluated(BASE, *[1] * 6), *evaluated(RIVAL, *[0] * 6)]
    plan = ScorePlan(
        entries=(BASE, RIVAL), samples=samples, complete=True, rank_metrics=(*RANK_METRICS, "tool_correctness")
    )
    found = score_models(read_frames(records, suites, samples), plan).models["m"].vendors
    assert found["official"].irf == pytest.approx(6 / 6.5 + 1 / 6)
    assert found["rival"].irf == pytest.approx(6 / 6.5 + 1 / 7)
