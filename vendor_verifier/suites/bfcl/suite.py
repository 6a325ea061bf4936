"""The suite ``bfcl``: the leaderboard's questions, asked and judged by its rules, without a baseline.

A multi-turn sample is a conversation with simulated services, which are injected; without them nothing is asked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from vendor_verifier.errors import DataError, UsageError
from vendor_verifier.records.record import Attempt, Decision, Score
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import Play
from vendor_verifier.suites.bfcl.categories import MULTI_TURN, REST, expand, is_relevance, not_run_reason
from vendor_verifier.suites.bfcl.check_value import VALID, Verdict, invalid
from vendor_verifier.suites.bfcl.checker import Reply, check, exact_match, read_reply
from vendor_verifier.suites.bfcl.multi_turn import Conversation, Services, check_conversation, converse

_GIVEN = {"is_option": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class BfclSuite:
    """``data`` is ``shipped``, ``installed``, a folder, or ``hf://datasets/…``; ``job`` is a job file in its place.

    A run gives ``services``, what multi-turn rows talk to, and ``rest``, the verdicts on calls of live services by
    :func:`rest_key`. A score's ``values`` has ``correct``: 1.0, 0.0, or None for a row that cannot be checked or was
    not run. Custom rows that name their calls add the two ``function_name…`` values; the second is ``correct``.
    """

    name: str = "bfcl"
    data: str = "shipped"
    category: str = "ast"
    job: str | None = None
    services: Services | None = field(default=None, metadata=_GIVEN)
    rest: Mapping[str, Verdict] = field(default_factory=dict, metadata=_GIVEN)

    def __post_init__(self) -> None:
        if not expand([self.category]):
            raise UsageError("category is empty")

    def play(self, sample: Sample) -> Play:
        """Yield each turn to send, take its final attempt, and return the judgement."""
        category = sample.expected["category"]
        if category not in MULTI_TURN:
            attempt = yield sample.turn
            return partial(self.judge, sample, attempt)
        if self.services is None:
            return partial(self._score, sample, [], invalid("not_run", not_run_reason(category) or ""))
        conversation = yield from converse(sample, self.services)
        return partial(self.judge_conversation, sample, conversation, self.services)

    def judge(self, sample: Sample, attempt: Attempt) -> Score:
        """The score of a single-turn sample's final attempt."""
        reply, expected = read_reply(attempt), sample.expected
        matched: dict[str, float] = {}
        if "calls" in expected:
            matched = exact_match([(str(call["name"]), call["arguments"]) for call in expected["calls"]], reply)
            is_right = bool(matched["function_name_and_args_accuracy"])
            verdict = VALID if is_right else invalid("not_the_expected_calls")
        elif expected["category"] in REST and reply.outcome == "calls":
            verdict = self.rest.get(rest_key(sample.id, reply)) or invalid("not_run", "the service was not asked")
        else:
            verdict = _checked(partial(judge_reply, expected, reply))
        return self._score(sample, [reply], verdict, matched)

    def judge_conversation(self, sample: Sample, conversation: Conversation, services: Services) -> Score:
        """The score of a multi-turn sample. Calls in turns where none was right are the anomaly ``extra_calls``."""
        # Upstream runs these calls but does not judge them.
        pairs = enumerate(zip(conversation.turns, sample.expected["answer"], strict=False))
        extra = [index for index, (calls, sources) in pairs if calls and not sources]
        verdict = _checked(partial(check_conversation, sample.expected, conversation, services))
        more = {"turns": len(conversation.turns), "steps": len(conversation.replies)}
        return self._score(sample, conversation.replies, verdict, {}, {**more, "extra_calls": extra} if extra else more)

    def _score(
        self,
        sample: Sample,
        replies: Sequence[Reply],
        verdict: Verdict,
        matched: Mapping[str, float] = {},
        more: Mapping[str, Any] = {},
    ) -> Score:
        outcomes = {reply.outcome for reply in replies}
        words = ("error", "unparsable", "calls", "text", "no_call")
        outcome = next((word for word in words if word in outcomes), "not_run")
        decision: Decision = "called" if outcomes & {"calls", "unparsable"} else "not_called"
        is_measured = verdict.error_type not in ("not_run", "dataset_error")
        return Score(
            self.name,
            "undecided" if outcome in ("error", "not_run") else decision,
            values={"correct": float(verdict.valid) if is_measured else None, **matched},
            details={
                "category": sample.expected["category"],
                "outcome": outcome,
                "error_type": verdict.error_type,
                "error": list(verdict.error),
                **more,
            },
            anomalies=("extra_calls",) if "extra_calls" in more else (),
        )


def _checked(judge: Callable[[], Verdict]) -> Verdict:
    """The verdict, which for a row that cannot be checked names the row's fault."""
    try:
        return judge()
    except DataError as error:
        return invalid("dataset_error", error.problems[0].message)


def judge_reply(expected: Mapping[str, Any], reply: Reply) -> Verdict:
    """The verdict on one single-turn reply, with bfcl_eval's error types; DataError where the row cannot be checked.

    Upstream counts a failed request and a broken call as right where no call was to be made. Here they are wrong: a
    failure must never improve a score.
    """
    category = expected["category"]
    if is_relevance(category):
        if "irrelevance" in category and reply.outcome == "error":
            return invalid("irrelevance_error:no_answer", reply.reason or "no answer")
        if "irrelevance" in category and reply.outcome == "unparsable":
            return invalid("irrelevance_error:unreadable_call", reply.reason or "")
    elif reply.outcome in ("error", "text") or (reply.outcome == "unparsable" and not reply.calls):
        return invalid("ast_decoder:decoder_failed", reply.reason or "text instead of calls")
    if category in REST:
        return invalid("executable_decoder:decoder_failed", "no call was made")
    functions, answer = list(expected["functions"]), expected.get("answer")
    return check(functions, reply.calls, answer, category)


def rest_key(sample: str, reply: Reply) -> str:
    """The key of a stored verdict of a live service: a digest of the row and of the calls as the vendor made them."""
    return hashlib.sha256(json.dumps([sample, reply.calls], sort_keys=True).encode()).hexdigest()[:24]
