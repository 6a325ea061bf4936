"""Budgets a minute on a clock of the test's own: never more than allowed and one, however requests come."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vendor_verifier.records.event import Usage
from vendor_verifier.records.record import Attempt, Failure, Response
from vendor_verifier.run.budgets import MINUTE_S, WAY_S, Ask, RequestBudget, TokenBudget, ask_for

# From one request's wish to send to the next one's, and how late it wakes after waiting, seconds.
GAPS = st.lists(
    st.tuples(st.floats(0, 5), st.sampled_from([0.0, 0.0, 0.001, 0.03, 2.0]), st.floats(0, WAY_S)),
    min_size=1,
    max_size=150,
)


def most_in_a_minute(moments: Sequence[float], weights: Sequence[float]) -> Iterator[tuple[float, float]]:
    """For each request: what the minute that begins with it holds, and the weight of the last one in it."""
    for first, begun in enumerate(moments):
        inside = [weight for at, weight in zip(moments[first:], weights[first:], strict=True) if at < begun + MINUTE_S]
        yield sum(inside), max(inside)


def after(now: float, seconds: float) -> float:
    """A moment later, however few seconds: a clock never stands still."""
    return max(now + seconds, math.nextafter(now, math.inf))


@settings(max_examples=80, deadline=None)
@given(st.floats(0.5, 3000), GAPS)
def test_no_minute_holds_more_requests_than_the_budget_and_one(
    per_minute: float, gaps: list[tuple[float, ...]]
) -> None:
    """Whenever requests want to be sent, however late each wakes, however long each is on its way."""
    budget, now = RequestBudget(per_minute), 0.0
    arrived: list[float] = []
    for gap, late, way in gaps:
        now += gap
        while (wait := budget.wait_s(now)) > 0:
            now = after(now, wait + late)
        budget.take(now)
        arrived.append(now + way)
    arrived.sort()
    assert all(count <= per_minute + 1 for count, _ in most_in_a_minute(arrived, [1] * len(arrived)))


def test_a_request_budget_is_used_up_evenly() -> None:
    """Whoever always has something to send gets the budget but for half a percent, and no burst."""
    budget, now, begun = RequestBudget(600), 0.0, []
    while now < 300:
        while (wait := budget.wait_s(now)) > 0:
            now = after(now, wait)
        budget.take(now)
        begun.append(now)
    assert 0.995 * 600 <= len(begun) / 5 <= 600
    assert all(later - earlier >= 0.09 for earlier, later in pairwise(begun))


@dataclass
class World:
    """Requests that take a while and then turn out to have used something; ``now`` is the only clock."""

    budget: TokenBudget
    now: float = 0.0
    under_way: list[tuple[float, Ask, int]] = field(default_factory=list)
    begun: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)

    def send(self, ask: Ask, output: int, takes_s: float, late_s: float = 0.0) -> None:
        while (wait := self.budget.wait_s(self.now, ask)) > 0:
            next_answer = min((at for at, _, _ in self.under_way), default=math.inf)
            self.pass_until(min(after(self.now, wait + late_s), next_answer))
        self.budget.take(self.now, ask)
        self.begun.append(self.now)
        self.used.append(ask.size // 4 + output)
        self.under_way.append((self.now + takes_s, ask, output))

    def pass_until(self, moment: float) -> None:
        self.now = max(self.now, moment)
        for answer in sorted(self.under_way, key=lambda one: one[0]):
            if answer[0] <= self.now:
                self.under_way.remove(answer)
                self.budget.settle(answer[1], answered(answer[1].size // 4, answer[2]))


def answered(tokens_in: int | None, tokens_out: int | None) -> Attempt:
    return Attempt(1, response=Response(usage=Usage(tokens_in, tokens_out)))


@settings(max_examples=80, deadline=None)
@given(
    st.integers(50, 20_000),
    st.lists(
        st.tuples(
            st.floats(0, 20), st.integers(0, 4000), st.integers(1, 3000), st.floats(0, 1), st.floats(0, 90),
            st.sampled_from([0.0, 0.01, 1.0]),
        ),
        min_size=1, max_size=60,
    ),
)  # fmt: skip
def test_no_minute_holds_more_tokens_than_the_budget_and_one_request_s(
    per_minute: int, asked: list[tuple[float, int, int, float, float, float]]
) -> None:
    """With a limit stated in each request: what is really used stays within, however long answers take."""
    world = World(TokenBudget(per_minute))
    for gap, size, limit, share, takes_s, late_s in asked:
        world.pass_until(world.now + gap)
        world.send(Ask(size, limit), int(share * limit), takes_s, late_s)
    assert all(tokens <= per_minute + largest for tokens, largest in most_in_a_minute(world.begun, world.used))


def test_answers_shorter_than_their_limit_let_more_requests_begin() -> None:
    """A budget is spent by what is used, not by what was allowed: 100 tokens each of 6,000, limits of 1,000."""
    world = World(TokenBudget(6000))
    while world.now < 600:
        world.send(Ask(0, 1000), 100, 1.0)
    # What is put by for the one under way is the rest; by their limits it would have been 6 requests a minute.
    assert sum(world.used) / 10 > 0.8 * 6000


def test_a_request_larger_than_the_budget_goes_alone() -> None:
    """It is not held back for ever, and nothing goes with it in its minute."""
    world = World(TokenBudget(100))
    for _ in range(3):
        world.send(Ask(4000, 50), 50, 1.0)
    assert all(later - earlier >= MINUTE_S for earlier, later in pairwise(world.begun))


def test_without_a_limit_the_longest_answer_so_far_is_put_by() -> None:
    """A thousand tokens until one has come; a vendor that counts more tokens a byte than a quarter is believed."""
    budget = TokenBudget(1e6)
    ask = Ask(400)
    assert budget.estimate(ask) == 100 + 1024
    budget.take(0, ask)
    budget.settle(ask, answered(200, 3000))
    assert budget.estimate(ask) == 200 + 3000
    assert budget.estimate(Ask(400, 10)) == 200 + 10


@pytest.mark.parametrize(
    ("attempt", "left"),
    [
        (answered(80, 20), 900),
        (answered(None, None), 400),
        (Attempt(1, failure=Failure("rate_limited", "headers", "slow down", 429)), 900),
    ],
)
def test_what_was_put_by_is_corrected_by_what_the_vendor_says(attempt: Attempt, left: int) -> None:
    """Its count, or the estimate where it gives none; a refusal is charged as a prompt."""
    budget = TokenBudget(1000)
    ask = Ask(400, 500)
    budget.take(0, ask)
    budget.settle(ask, attempt)
    assert budget.wait_s(45, Ask(0, left)) <= 0
    assert budget.wait_s(45, Ask(0, left + 1)) > 0


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        (b'{"messages":[{"content":"hi"}],"max_tokens":7}', 7),
        (b'{"max_completion_tokens":8}', 8),
        (b'{"input":[],"max_output_tokens":9}', 9),
        (b'{"generationConfig":{"maxOutputTokens":10,"temperature":0}}', 10),
        (b'{"max_tokens":"many"}', None),
        (b'{"messages":[]}', None),
        (b"no json", None),
    ],
)
def test_a_request_s_own_limit_is_read_on_every_protocol(body: bytes, limit: int | None) -> None:
    """From the body as it is sent, so defaults of a protocol and extra_body count as well."""
    ask = ask_for(body, reads_limit=True)
    assert (ask.size, ask.most_tokens) == (len(body), limit)
    assert ask_for(body, reads_limit=False).most_tokens is None
