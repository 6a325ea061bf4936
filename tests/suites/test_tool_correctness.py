"""Tool Correctness: the page's examples, every known row of the original in compat, and its strict counterpart."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from vendor_verifier.errors import UsageError
from vendor_verifier.suites.tool_calls.calls import Call
from vendor_verifier.suites.tool_correctness import ToolCorrectness, score, score_calls


@pytest.mark.parametrize("mode", ["strict", "compat"])
@pytest.mark.parametrize(
    ("called", "exact_match", "value"),
    [
        (["search", "validate", "book"], False, 1.0), (["search"], False, 0.5), (["validate"], False, 0.0),
        (["search", "book"], True, 1.0), (["search", "validate", "book"], True, 0.0),
    ],
)  # fmt: skip
def test_the_pages_scoring_examples(mode: Any, called: list[str], exact_match: bool, value: float) -> None:
    """Every number on the page holds in both modes, and success follows the threshold of 0.5."""
    result = score(["search", "book"], called, exact_match=exact_match, mode=mode)
    assert (result.score, result.success) == (value, value >= 0.5)


@pytest.mark.parametrize("mode", ["strict", "compat"])
def test_the_pages_hotel_example(mode: Any) -> None:
    """The default passes, exact fails on the extra tool, and the order is right."""
    expected, called = ["search_hotels", "book_hotel"], ["search_hotels", "sort_by_price", "book_hotel"]
    assert score(expected, called, mode=mode).success is True
    assert score(expected, called, exact_match=True, mode=mode).success is False
    assert score(expected, called, check_ordering=True, mode=mode).score == 1.0


@pytest.mark.parametrize("mode", ["strict", "compat"])
def test_repeated_tools_are_counted_one_to_one(mode: Any) -> None:
    """[a, a] with one a called is 0.5, and a second a is not counted for b."""
    assert score(["a", "a"], ["a"], mode=mode).score == 0.5
    assert score(["a", "b"], ["a", "a"], mode=mode).score == 0.5


def test_a_repeated_tool_called_once_has_a_wrong_reason_in_compat() -> None:
    """Compat says by sets that all were called; strict names the missing one."""
    assert score(["a", "a"], ["a"], mode="compat").reason == "All expected tools ['a', 'a'] were called."
    assert score(["a", "a"], ["a"]).reason == "Missing tools ['a']. Expected ['a', 'a'], called ['a']."


@pytest.mark.parametrize("exact_match", [False, True])
@pytest.mark.parametrize("check_ordering", [False, True])
def test_nothing_expected_and_nothing_called(exact_match: bool, check_ordering: bool) -> None:
    """A full score in both modes under every option."""
    for mode in ("strict", "compat"):
        assert score([], [], exact_match=exact_match, check_ordering=check_ordering, mode=mode).score == 1.0


@pytest.mark.parametrize(
    ("options", "in_compat"), [({}, 1.0), ({"check_ordering": True}, 1.0), ({"exact_match": True}, 0.0)]
)
def test_nothing_expected_and_something_called(options: dict[str, bool], in_compat: float) -> None:
    """Compat scores 1.0 unless exact; strict gives 0.0, for calling was wrong."""
    assert score([], ["a"], mode="compat", **options).score == in_compat
    assert score([], ["a"], **options) == ToolCorrectness(0.0, False, "No tool was expected, called ['a'].")


def test_exact_match_in_another_order() -> None:
    """Compat compares lists, though its page says set; strict compares multisets, and lists when ordering is asked."""
    assert score(["a", "b"], ["b", "a"], exact_match=True, mode="compat").score == 0.0
    assert score(["a", "b"], ["b", "a"], exact_match=True).score == 1.0
    assert score(["a", "b"], ["b", "a"], exact_match=True, check_ordering=True).score == 0.0
    assert score(["a", "b"], ["a", "a", "b"], exact_match=True).score == 0.0


def test_exact_match_wins_over_ordering_in_compat() -> None:
    """With both set the original never computes an order."""
    result = score(["a", "b"], ["a"], exact_match=True, check_ordering=True, mode="compat")
    assert result == ToolCorrectness(0.0, False, "Mismatch: expected ['a', 'b'], called ['a'].")


@pytest.mark.parametrize("mode", ["strict", "compat"])
@pytest.mark.parametrize(
    ("called", "value"),
    [(["a", "b", "c"], 1.0), (["x", "a", "y", "b", "c", "z"], 1.0), (["c", "b", "a"], 1 / 3), (["b", "c", "a"], 2 / 3)],
)
def test_ordering_is_the_longest_common_subsequence_without_weights(mode: Any, called: list[str], value: float) -> None:
    """Length over the number expected; extra calls are free."""
    assert score(["a", "b", "c"], called, check_ordering=True, mode=mode).score == value


@pytest.mark.parametrize("mode", ["strict", "compat"])
def test_success_is_the_score_against_the_threshold(mode: Any) -> None:
    """Equal passes; a threshold of 0 always passes."""
    assert score(["a", "b"], ["a"], threshold=0.5, mode=mode).success is True
    assert score(["a", "b"], ["a"], threshold=0.51, mode=mode).success is False
    assert score(["a"], [], threshold=0, mode=mode).success is True


def test_none_is_an_empty_list() -> None:
    """In both modes, on both sides."""
    for mode in ("strict", "compat"):
        assert score(None, None, mode=mode).score == 1.0
        assert score(["a"], None, mode=mode).score == 0.0


@pytest.mark.parametrize("wrong", ["abc", [None], [1], [{"name": "a"}], 5])
def test_what_is_no_list_of_names_crashes_the_original(wrong: Any) -> None:
    """Compat raises pydantic's ValidationError; strict scores 0 and says what was read."""
    with pytest.raises(pydantic.ValidationError):
        score(wrong, ["a"], mode="compat")
    with pytest.raises(pydantic.ValidationError):
        score(["a"], wrong, mode="compat")
    result = score(["a"], wrong)
    assert (result.score, result.success) == (0.0, False)
    assert result.reason.startswith("The called tools are a list of names, read ")
    assert score(wrong, ["a"]).success is False


@pytest.mark.parametrize(
    ("expected", "called", "options", "reason"),
    [
        (["a"], ["a"], {"exact_match": True}, "Exact match: all expected tools ['a'] were called exactly."),
        (["a"], ["b"], {"exact_match": True}, "Mismatch: expected ['a'], called ['b']."),
        (["a"], ["a"], {"check_ordering": True}, "Correct tool usage and order."),
        (["a", "b"], ["b"], {"check_ordering": True}, "Incomplete or unordered: expected ['a', 'b'], got ['b']."),
        (["a"], ["a", "b"], {}, "All expected tools ['a'] were called."),
        (["a", "b"], ["a"], {}, "Missing tools ['b']. Expected ['a', 'b'], got ['a']."),
    ],
)
def test_compat_gives_the_originals_reasons(
    expected: list[str], called: list[str], options: dict[str, bool], reason: str
) -> None:
    """Word for word."""
    assert score(expected, called, mode="compat", **options).reason == reason


@pytest.mark.parametrize(
    ("called", "options", "reason"),
    [
        (["a", "b"], {}, "All expected tools ['a', 'b'] were called."),
        (["b", "c", "a"], {}, "All expected tools ['a', 'b'] were called. Also called: ['c']."),
        (["a"], {}, "Missing tools ['b']. Expected ['a', 'b'], called ['a']."),
        (["a", "b"], {"exact_match": True}, "All expected tools ['a', 'b'] were called, and no other."),
        (
            ["a", "b", "b"],
            {"exact_match": True},
            "Superfluous tools ['b']. Expected ['a', 'b'], called ['a', 'b', 'b'].",
        ),
        (["b", "a"], {"check_ordering": True}, "The order differs. Expected ['a', 'b'], called ['b', 'a']."),
        (["a", "b"], {"check_ordering": True}, "All expected tools ['a', 'b'] were called in order."),
    ],
)
def test_strict_reasons_name_what_is_missing_superfluous_or_out_of_order(
    called: list[str], options: dict[str, bool], reason: str
) -> None:
    """In words, and in an order that does not change from run to run."""
    assert score(["a", "b"], called, **options).reason == reason


def test_parameters_are_paired_for_the_best_sum_and_not_greedily() -> None:
    """The half-right first call must not take the call that is wholly right for the second."""
    expected = [Call("a", {"x": 1}), Call("a", {"x": 1, "y": 2})]
    called = [Call("a", {"x": 1, "y": 2}), Call("a", {"x": 1})]
    assert score_calls(expected, called).score == 1.0
    assert score_calls(expected, called, exact_match=True).score == 1.0
    assert score_calls(expected, called, check_ordering=True).score == 0.5
    assert score_calls(expected, called, exact_match=True, check_ordering=True).score == 0.0


def test_two_identical_calls_are_two_calls() -> None:
    """[a, a] against [a, a] is 1.0 under every option."""
    twice = [Call("a", {"x": 1})] * 2
    for options in ({}, {"exact_match": True}, {"check_ordering": True}):
        assert score_calls(twice, twice, **options).score == 1.0


def test_parameters_earn_a_share_and_the_reason_says_so() -> None:
    """One right of two names on either side is half a call."""
    result = score_calls([Call("a", {"x": 1})], [Call("a", {"x": 1, "y": 2})], threshold=1.0)
    assert result == ToolCorrectness(
        0.5, False, "The tools ['a'] were called, but not all with the expected parameters."
    )


def test_a_malformed_call_is_like_no_other_when_parameters_count() -> None:
    """Its parameters are unknown, so it earns nothing, also where none are expected."""
    assert score_calls([Call("a")], [Call("a", problem="not JSON")]).score == 0.0
    assert score_calls([Call("a")], [Call("a")]).score == 1.0


def test_no_expected_calls_score_one_only_when_none_were_made() -> None:
    """With parameters as without."""
    assert score_calls([], []).score == 1.0
    assert score_calls([], [Call("a")]).score == 0.0


def test_a_misspelled_mode_does_not_pass_for_strict() -> None:
    """Scores of the wrong mode would look like scores."""
    with pytest.raises(UsageError, match="mode is strict or compat, read 'Compat'"):
        score(["a"], ["a"], mode="Compat")  # type: ignore[arg-type]
