"""Whether to try again and how long to wait first; it sends nothing and sleeps only through the function it is given.

Every attempt is recorded with its own timing; waits lie between attempts, never inside one. An attempt that already
delivered a token is not repeated: the vendor has begun to answer, and what it answered is the finding.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from vendor_verifier.values.plan import RetryRules
from vendor_verifier.values.record import Attempt, Failure

if TYPE_CHECKING:
    import tenacity

_FIRST_WAIT_S = 0.5
_LONGEST_OWN_WAIT_S = 8.0


def should_retry(attempt: Attempt) -> bool:
    """Whether this attempt's failure is worth another try."""
    failure = attempt.failure
    has_token = attempt.timing is not None and attempt.timing.first_token_ns is not None
    if failure is None or has_token:
        return False
    retried = failure.rules.retried
    return retried == "always" or (retried == "once" and attempt.number == 1)


def stops_vendor(failure: Failure) -> bool:
    """Whether nothing more should be asked of this entry: no key, no credit, also inside a 200, or no way there.

    A 403 does not: it is as often about one prompt (a filter before the vendor) as about the key. Nobody else on the
    account is ended by it: gateways say 401 and 402 of single models and protocols, too.
    """
    return failure.rules.stops and failure.status != 403


def slows_account(failure: Failure) -> bool:
    """Whether this asks for fewer requests at a time: our rate was limited. An overloaded host says less about us."""
    return failure.rules.charge == "rate_limit"


def wait_s(failure: Failure | None, attempt_number: int, rules: RetryRules, rng: random.Random) -> float:
    """Seconds before the next attempt.

    What the vendor asked for, capped at ``rules.max_wait_s``; else 0.5 s doubling per attempt up to 8 s, less up to a
    quarter at random so that a crowd does not come back as one.
    """
    if failure is not None and failure.retry_after_s is not None:
        return min(failure.retry_after_s, rules.max_wait_s)
    doubled: float = _FIRST_WAIT_S * 2.0 ** min(attempt_number - 1, 10)
    return min(doubled, _LONGEST_OWN_WAIT_S, rules.max_wait_s) * (1 - 0.25 * rng.random())


async def attempt_until_done(
    send: Callable[[int], Awaitable[Attempt]],
    rules: RetryRules,
    rng: random.Random,
    sleep: Callable[[float], Awaitable[None]],
    pause: Callable[[Failure, float], None],
) -> tuple[Attempt, ...]:
    """All attempts: ``send(attempt_number)`` is called until it succeeds, fails for good, or the tries are used up.

    ``pause`` is called with failures that hold back the whole account, and the seconds to wait.
    """
    first = await send(1)
    if not should_retry(first):
        return (first,)
    # Most runs never come here, and loading it takes as long as a dozen requests.
    import tenacity

    attempts = [first]
    is_known = True

    async def once() -> Attempt:
        nonlocal is_known
        if is_known:
            is_known = False
            return first
        attempt = await send(len(attempts) + 1)
        attempts.append(attempt)
        return attempt

    def wait(_state: tenacity.RetryCallState) -> float:
        last = attempts[-1]
        seconds = wait_s(last.failure, last.number, rules, rng)
        if last.failure is not None and _holds_back(last.failure):
            pause(last.failure, seconds)
        return seconds

    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_result(should_retry),
        stop=tenacity.stop_after_attempt(rules.retries + 1),
        wait=wait,
        sleep=sleep,
        retry_error_callback=lambda _state: attempts[-1],
    )
    await retrying(once)
    return tuple(attempts)


def _holds_back(failure: Failure) -> bool:
    return failure.rules.pauses or failure.retry_after_s is not None
