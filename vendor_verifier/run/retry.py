"""Whether to try again and how long to wait first; it sends nothing and sleeps only through the function it is given.

Every attempt is recorded with its own timing; waits lie between attempts, never inside one. An attempt that already
delivered a token is not repeated: the vendor has begun to answer, and what it answered is the finding.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

from vendor_verifier.records.plan import RetryRules
from vendor_verifier.records.record import Attempt, Failure

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


def refuses_usage(attempt: Attempt) -> bool:
    """Whether this vendor takes no request that asks for usage at the end of a stream, which is our wish alone."""
    failure = attempt.failure
    if failure is None or failure.status not in (400, 422):
        return False
    return any(name in failure.message for name in ("stream_options", "include_usage"))


def stops_vendor(failure: Failure) -> bool:
    """Whether nothing more should be asked of this entry: no key, no credit, also inside a 200, or no way there.

    A 403 does not: it is as often about one prompt (a filter before the vendor) as about the key. Nobody else on the
    account is ended by it: gateways say 401 and 402 of single models and protocols, too.
    """
    return failure.rules.stops and failure.status != 403


def slows_account(failure: Failure) -> bool:
    """Whether this asks for fewer requests at a time: our rate was limited. An overloaded host says less about us."""
    return failure.rules.charge == "rate_limit"


async def attempt_until_done(
    first: Attempt,
    send: Callable[[int], Awaitable[Attempt]],
    rules: RetryRules,
    rng: random.Random,
    sleep: Callable[[float], Awaitable[None]],
    pause: Callable[[float], None],
) -> tuple[Attempt, ...]:
    """``first`` and all attempts after it: ``send(attempt_number)`` is called until it succeeds, fails for good, or the
    tries are used up.

    The wait before the next is what the vendor asked for, at most ``rules.max_wait_s``; else 0.5 s doubling up to 8 s,
    less up to a quarter at random so that a crowd does not come back as one. ``pause`` is called with the wait after
    failures that hold back the whole account, also after the last one.
    """
    # Most runs never come here, and loading it takes as long as a dozen requests.
    import tenacity

    attempts: list[Attempt] = []
    doubling = tenacity.wait_exponential(_FIRST_WAIT_S, max=min(_LONGEST_OWN_WAIT_S, rules.max_wait_s))

    async def once() -> Attempt:
        attempts.append(await send(len(attempts) + 1) if attempts else first)
        return attempts[-1]

    def wait(state: tenacity.RetryCallState) -> float:
        seconds = float(doubling(state)) * (1 - 0.25 * rng.random())
        failure = attempts[-1].failure
        if failure is not None and failure.retry_after_s is not None:
            seconds = min(failure.retry_after_s, rules.max_wait_s)
        if failure is not None and (failure.rules.pauses or failure.retry_after_s is not None):
            pause(seconds)
        return seconds

    retrying = tenacity.AsyncRetrying(
        retry=tenacity.retry_if_result(should_retry),
        stop=tenacity.stop_after_attempt(rules.retries + 1),
        wait=wait,
        sleep=sleep,
        retry_error_callback=lambda _state: None,
    )
    await retrying(once)
    return tuple(attempts)
