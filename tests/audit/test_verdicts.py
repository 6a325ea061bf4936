"""A vendor is as bad as its worst facet, and as sold only where something would have been seen."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from judged_vendors import BASELINE, World, asked, field_of, found, gap, gate, ranking, score_difference, scores
from msgspec import structs

from vendor_verifier.audit.verdicts import LARGEST_UNSEEN_LOSS, LEAST_ANSWERS, judge_vendors
from vendor_verifier.records.judgement import Difference
from vendor_verifier.records.score import TriggerCounts
from vendor_verifier.records.verdict import FACETS, FacetName, VendorVerdict

SPEEDS = ranking({}, [Difference("avg_ttft_ms", BASELINE, "v", 1.0, -5.0, 7.0)])


def judged(world: World, label: str = "v") -> VendorVerdict:
    return judge_vendors(world.model, world.verdict)[label]


def statuses(world: World, label: str = "v") -> dict[FacetName, str]:
    return {facet.name: facet.status for facet in judged(world, label).facets}


def test_a_faultless_vendor_is_as_sold_in_every_facet() -> None:
    """Each with a sentence that says on what it rests."""
    verdict = judged(field_of("v", ranking=SPEEDS))
    assert [(facet.name, facet.status) for facet in verdict.facets] == [(name, "as_sold") for name in FACETS]
    assert (verdict.status, verdict.is_reference) == ("as_sold", False)
    assert all(facet.reason for facet in verdict.facets)
    assert verdict.reason == verdict.facet("model").reason


def test_as_sold_says_what_would_have_been_seen() -> None:
    """In points of F1 and in 8 of 10 runs; more samples see less."""
    few, many = field_of("v"), field_of("v")
    many = replace(many, gaps=(structs.replace(gap(), delta=structs.replace(gap().delta, n=3000)),))
    assert (
        "a drop of 3.1 points of F1 would be seen in 8 of 10 such runs"
        in judged(replace(few, vendors=(asked(BASELINE), asked("v", trigger=TriggerCounts(tp=150, tn=150)))))
        .facet("tool_calls")
        .reason
    )
    assert "a drop of 0.4" in judged(many).facet("tool_calls").reason


def test_the_worst_facet_is_the_verdict_and_its_strongest_reason_the_facets() -> None:
    """Unusable before not as sold before doubtful, whatever else is fine."""
    doubt, fraud = found("id_families"), found("prompt_truncated")
    dead = found("requests_lost"), found("nothing_answered")
    world = field_of("v", findings=(doubt,))
    assert judged(world).status == "doubtful"
    world = field_of("v", findings=(doubt, fraud))
    assert (judged(world).status, judged(world).reason) == ("not_as_sold", "says prompt_truncated")
    world = field_of("v", findings=(doubt, fraud, *dead))
    assert (judged(world).status, judged(world).reason) == ("unusable", "says nothing_answered")
    assert judged(world).facet("model").finding == "prompt_truncated"


def test_findings_of_others_are_not_its_own() -> None:
    """A twin of a fraud stays as sold, and so does the reference."""
    world = field_of("v", "w", findings=(found("prompt_truncated", "w"),))
    assert judged(world, "w").status == "not_as_sold"
    assert judged(world).status == judged(world, BASELINE).status == "as_sold"


@pytest.mark.parametrize("answered", [0, LEAST_ANSWERS - 1])
def test_few_answers_are_too_little_evidence(answered: int) -> None:
    """In every facet, although nothing was found."""
    world = World((asked(BASELINE), asked("v", answered, answered)), gaps=(gap(),))
    assert set(statuses(world).values()) == {"too_little_evidence"}
    assert judged(world).status == "too_little_evidence"
    enough = asked("v", LEAST_ANSWERS, LEAST_ANSWERS)
    assert statuses(World((asked(BASELINE), enough), gaps=(gap(),)))["model"] == "as_sold"


def test_few_answers_do_not_hide_what_was_found() -> None:
    """A vendor that answered thrice as another model is not as sold."""
    finding = found("another_model_served", served="acme/model-2")
    world = World((asked(BASELINE), asked("v", 3, 3)), findings=(finding,))
    assert judged(world).status == "not_as_sold"


def test_without_a_baseline_only_what_a_vendor_shows_by_itself_is_judged() -> None:
    """Its reliability; the rest is open, and a finding still counts."""
    world = World((asked("v"), asked("w")), ceiling=None)
    assert statuses(world) == dict.fromkeys(FACETS, "too_little_evidence") | {"reliability": "as_sold"}
    assert judged(world).status == "too_little_evidence"
    assert "no baseline" in judged(world).facet("model").reason
    bad = replace(world, findings=(found("answers_cut", low=0.2),))
    assert judged(bad).status == "not_as_sold"


def test_a_baseline_that_did_not_answer_leaves_the_others_open() -> None:
    """As if there were none, and the sentence says why."""
    world = World((asked(BASELINE, 3), asked("v")), gaps=(gap(),))
    assert statuses(world) == dict.fromkeys(FACETS, "too_little_evidence") | {"reliability": "as_sold"}
    assert "the baseline answered 3 requests" in judged(world).facet("model").reason


def test_a_baseline_asked_once_leaves_tool_calls_open_and_says_how_to_mend_it() -> None:
    """Nothing else needs its noise; so the whole is too little evidence."""
    world = replace(field_of("v", ranking=SPEEDS), gaps=(), ceiling=None)
    assert statuses(world) == dict.fromkeys(FACETS, "as_sold") | {"tool_calls": "too_little_evidence"}
    assert "--baseline-repeats 2" in judged(world).facet("tool_calls").reason
    assert judged(world).status == "too_little_evidence"


def test_speed_and_bill_are_not_needed_to_be_as_sold() -> None:
    """Without times to compare or tokens reported a vendor is as sold; without tool calls compared it is not."""
    silent = World((asked(BASELINE), asked("v", measured={})), gaps=(gap(),))
    assert statuses(silent) == dict.fromkeys(FACETS, "as_sold") | {
        "bill": "too_little_evidence",
        "speed": "too_little_evidence",
    }
    assert judged(silent).status == "as_sold"
    nothing = World((asked(BASELINE, trigger=None), asked("v", trigger=None)))
    assert "nothing was asked" in judged(nothing).facet("tool_calls").reason
    assert judged(nothing).status == "too_little_evidence"


@pytest.mark.parametrize("metric", ["avg_ttft_ms", "tps"])
def test_speed_is_as_sold_where_times_were_compared_with_the_baseline(metric: str) -> None:
    """In either order of the pair; with another vendor's it says nothing."""
    for pair in ((BASELINE, "v"), ("v", BASELINE)):
        world = field_of("v", ranking=ranking({}, [Difference(metric, *pair, 1.0, -5.0, 7.0)]))
        assert statuses(world)["speed"] == "as_sold"
    world = field_of("v", "w", ranking=ranking({}, [Difference(metric, "w", "v", 1.0, -5.0, 7.0)]))
    assert statuses(world)["speed"] == "too_little_evidence"


def test_a_drop_that_only_one_comparison_would_prove_is_too_little_evidence() -> None:
    """Neither accused nor called as sold; where only failures lower F1, its calls are as sold."""
    hint = gap(value=-0.04, high=-0.01, p_value=0.03)
    world = field_of("v", gaps=(hint,))
    assert statuses(world)["tool_calls"] == "too_little_evidence"
    assert "4 points below" in judged(world).facet("tool_calls").reason
    by_failures = structs.replace(hint, excess=structs.replace(hint.excess, p_exact=0.6))
    assert statuses(field_of("v", gaps=(by_failures,)))["tool_calls"] == "as_sold"


def test_a_run_that_could_only_see_a_large_loss_is_too_little_evidence() -> None:
    """With 30 samples, or with a baseline that contradicts itself on most of them."""
    small = structs.replace(gap(), delta=structs.replace(gap().delta, n=30))
    world = field_of("v", gaps=(small,))
    assert statuses(world)["tool_calls"] == "too_little_evidence"
    assert "over 30 samples only a loss of" in judged(world).facet("tool_calls").reason
    assert statuses(field_of("v", ceiling=0.6))["tool_calls"] == "too_little_evidence"
    assert 0 < LARGEST_UNSEEN_LOSS < 1


def test_evaluations_are_judged_without_a_second_run_of_the_baseline() -> None:
    """A score beside the baseline's is as sold with the drop that would have been seen, of the blindest evaluation."""
    vendors = (asked(BASELINE, trigger=None), asked("v", trigger=None, suites=scores()))
    good = score_difference("v", BASELINE, 0.0, 0.9)
    world = World(vendors, differences=(good,), ceiling=None)
    assert statuses(world)["tool_calls"] == "as_sold"
    assert "scores as the baseline does; a drop of 7.2 points" in judged(world).facet("tool_calls").reason
    blind = score_difference("v", BASELINE, 0.0, 0.9, n=40, suite="bfcl")
    facet = judged(replace(world, differences=(good, structs.replace(blind, p_value=None)))).facet("tool_calls")
    assert facet.estimate == blind.delta
    hint = structs.replace(good, delta=structs.replace(good.delta, value=-0.05, low=-0.09, high=-0.01), p_value=0.03)
    assert statuses(replace(world, differences=(hint,)))["tool_calls"] == "too_little_evidence"


def test_of_too_few_samples_a_score_says_nothing() -> None:
    """They have no interval; that is not as sold."""
    few = score_difference("v", BASELINE, 0.0, None, n=4)
    few = structs.replace(few, delta=structs.replace(few.delta, low=None, high=None))
    world = World((asked(BASELINE, trigger=None), asked("v", trigger=None)), differences=(few,), ceiling=None)
    assert statuses(world)["tool_calls"] == "too_little_evidence"


def test_of_the_baseline_is_judged_what_needs_no_other() -> None:
    """It is the reference, and unusable where it is."""
    world = field_of("v")
    assert judged(world, BASELINE).is_reference
    assert judged(world, BASELINE).status == "as_sold"
    failing = World((asked(BASELINE, 100), asked("v")))
    assert judged(failing, BASELINE).status == "unusable"
    promised = replace(world, gates=(gate("FAIL", label=BASELINE),))
    assert judged(promised, BASELINE).status == "not_as_sold"


def test_the_same_records_give_the_same_verdicts() -> None:
    """Whatever order the vendors and the findings come in, and after a copy."""
    findings = (found("id_families"), found("prompt_truncated", "w"), found("requests_lost"), found("answers_repeated"))
    world = field_of("v", "w", findings=findings)
    verdicts = judge_vendors(world.model, world.verdict)
    turned = replace(world, vendors=world.vendors[::-1], gaps=world.gaps[::-1])
    assert judge_vendors(turned.model, turned.verdict) == verdicts
    assert pickle.loads(pickle.dumps(verdicts)) == verdicts
    shuffled = replace(world, findings=findings[::-1])
    again = judge_vendors(shuffled.model, shuffled.verdict)
    assert {label: [facet.status for facet in verdict.facets] for label, verdict in again.items()} == {
        label: [facet.status for facet in verdict.facets] for label, verdict in verdicts.items()
    }


def test_what_was_not_asked_is_not_called_unanswered() -> None:
    """Where only evaluations that stand apart were asked, nobody "answered 0 requests"."""
    world = replace(field_of("v"), vendors=(asked(BASELINE, 0, 0, recorded=0), asked("v", 0, 0, recorded=0)))
    assert {facet.status for facet in judged(world).facets} == {"too_little_evidence"}
    assert {facet.reason for facet in judged(world).facets} == {"nothing was asked that shows it"}
