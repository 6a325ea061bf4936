"""The suite ``bfcl``: the leaderboard's questions, asked and judged by its rules, without a baseline; and its options.

A single-turn sample is one question. A multi-turn sample is a conversation with simulated services, which are injected:
without them it asks nothing and says so. Every score holds both verdicts, upstream's (``compat``) and the one that
mends what is plainly wrong there (``strict``); ``mode`` says which of them is ``correct``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from vendor_verifier.errors import DataError, UsageError
from vendor_verifier.suites import Play
from vendor_verifier.suites.bfcl.categories import (
    EXECUTABLE,
    MULTI_TURN,
    REST,
    expand,
    not_run_reason,
)
from vendor_verifier.suites.bfcl.checker import judge_reply
from vendor_verifier.suites.bfcl.executable import Fetched, Functions, judge_execution, judge_rest
from vendor_verifier.suites.bfcl.multi_turn import Conversation, Services, check_conversation, converse, extra_calls
from vendor_verifier.suites.bfcl.replies import Reply, exact_match, made_calls, read_answer
from vendor_verifier.suites.bfcl.results import Version
from vendor_verifier.suites.bfcl.verdict import MODES, Mode, Verdict
from vendor_verifier.values.record import Attempt
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import Decision, Score


@dataclass(frozen=True, slots=True)
class BfclSuite:
    """``mode``: which verdict counts as ``correct``. ``services``: what multi-turn rows talk to, if it is there.
    ``functions``: what executable rows call, likewise. ``fetched``: what services answered to the calls of rest rows.

    A score's ``values`` are ``correct``, ``compat`` and ``strict``, each 1.0 or 0.0; a failure is 0.0 but where
    ``compat`` credits it as abstention. A row that cannot be checked or was not run has ``None`` and counts in no
    mean. Custom rows that name their calls add ``function_name_accuracy`` and ``function_name_and_args_accuracy``, and
    the latter is ``correct``. ``details`` are ``category``, ``outcome``, ``error_type`` and ``error``.
    """

    name: str = "bfcl"
    mode: Mode = "strict"
    services: Services | None = None
    functions: Functions | None = None
    fetched: Mapping[str, Fetched] = field(default_factory=dict)

    def play(self, sample: Sample) -> Play:
        """Yield each turn to send, take its final attempt, and return the judgement."""
        category = sample.expected["category"]
        if category in EXECUTABLE and self.functions is None:
            return partial(self._not_run, sample)
        if category not in MULTI_TURN:
            attempt = yield sample.turn
            return partial(self.judge, sample, attempt)
        if self.services is None:
            return partial(self._not_run, sample)
        conversation = yield from converse(sample, self.services)
        return partial(self.judge_conversation, sample, conversation, self.services)

    def judge(self, sample: Sample, attempt: Attempt) -> Score:
        """The score of a single-turn sample's final attempt."""
        try:
            reply = read_answer(sample.expected, attempt)
        except DataError as error:
            return self._uncheckable(sample, "not_run", "undecided", error)
        if sample.expected["category"] in REST:
            verdict = judge_rest(sample.id, sample.expected, reply, self.fetched)
            if verdict is None:
                found = {"error_type": "not_run", "error": ["nobody has asked the service"]}
                return self._unmeasured(sample, reply.outcome, found, _decision((reply,)))
            return self._score(sample, reply.outcome, _decision((reply,)), verdict, verdict)
        if "calls" in sample.expected:
            return self._judge_exactly(sample, reply)
        try:
            compat = self._verdict(sample, reply, "compat")
            strict = self._verdict(sample, reply, "strict")
        except DataError as error:
            return self._uncheckable(sample, reply.outcome, _decision((reply,)), error)
        return self._score(sample, reply.outcome, _decision((reply,)), compat, strict)

    def _verdict(self, sample: Sample, reply: Reply, mode: Mode) -> Verdict:
        if self.functions is not None and sample.expected["category"] in EXECUTABLE:
            return judge_execution(sample.expected, reply, self.functions, mode)
        return judge_reply(sample.expected, reply, mode)

    def _judge_exactly(self, sample: Sample, reply: Reply) -> Score:
        """A custom row that names its calls: they and no others, exactly. The checker's verdicts are kept beside it."""
        wanted = [(str(call["name"]), call["arguments"]) for call in sample.expected["calls"]]
        matched = exact_match(wanted, made_calls(reply))
        correct = matched["function_name_and_args_accuracy"]
        checked: dict[str, float | None] = {}
        for mode in MODES:
            try:
                checked[mode] = float(judge_reply(sample.expected, reply, mode).valid)
            except DataError:
                checked[mode] = None
        found: dict[str, Any] = {"error_type": None if correct else "not_the_expected_calls", "error": []}
        details = {"category": sample.expected["category"], "outcome": reply.outcome, **found}
        return Score(self.name, _decision((reply,)), values={"correct": correct, **checked, **matched}, details=details)

    def judge_conversation(self, sample: Sample, conversation: Conversation, services: Services) -> Score:
        """The score of a multi-turn sample. Both modes agree; calls where none was right are a finding."""
        outcome = _worst_outcome(conversation)
        decision = _decision(conversation.replies)
        try:
            verdict = check_conversation(sample.expected, conversation, services)
        except DataError as error:
            return self._uncheckable(sample, outcome, decision, error)
        extra = extra_calls(sample.expected, conversation)
        more: dict[str, Any] = {"turns": len(conversation.turns), "steps": len(conversation.replies)}
        if extra:
            more["extra_calls"] = list(extra)
        if conversation.forced_end:
            more["forced_end"] = True
        return self._score(sample, outcome, decision, verdict, verdict, more, ("extra_calls",) if extra else ())

    def _score(
        self,
        sample: Sample,
        outcome: str,
        decision: Decision,
        compat: Verdict,
        strict: Verdict,
        more: dict[str, Any] | None = None,
        anomalies: tuple[str, ...] = (),
    ) -> Score:
        counted = strict if self.mode == "strict" else compat
        values = {"correct": float(counted.valid), "compat": float(compat.valid), "strict": float(strict.valid)}
        found = {"error_type": counted.error_type, "error": list(counted.error)}
        kept = {"format": sample.expected["format"]} if "format" in sample.expected else {}
        details = {"category": sample.expected["category"], "outcome": outcome, **found, **kept, **(more or {})}
        return Score(self.name, decision, values=values, details=details, anomalies=anomalies)

    def _uncheckable(self, sample: Sample, outcome: str, decision: Decision, error: DataError) -> Score:
        reason = error.problems[0].message
        return self._unmeasured(sample, outcome, {"error_type": "dataset_error", "error": [reason]}, decision)

    def _not_run(self, sample: Sample) -> Score:
        reason = not_run_reason(sample.expected["category"]) or "not run"
        return self._unmeasured(sample, "not_run", {"error_type": "not_run", "error": [reason]})

    def _unmeasured(
        self, sample: Sample, outcome: str, found: dict[str, Any], decision: Decision = "undecided"
    ) -> Score:
        details = {"category": sample.expected["category"], "outcome": outcome, **found}
        return Score(self.name, decision, values={"correct": None, "compat": None, "strict": None}, details=details)


def _decision(replies: tuple[Reply, ...]) -> Decision:
    outcomes = {reply.outcome for reply in replies}
    if "error" in outcomes or not outcomes:
        return "undecided"
    return "called" if outcomes & {"calls", "unparsable"} else "not_called"


def _worst_outcome(conversation: Conversation) -> str:
    """One word for the whole conversation: an error or an unreadable call if there was one, else whether it called."""
    counts = Counter(reply.outcome for reply in conversation.replies)
    return next((word for word in ("error", "unparsable", "calls", "text") if counts[word]), "no_call")


@dataclass(frozen=True, slots=True, kw_only=True)
class BfclOptions:
    """Everything ``bfcl`` takes.

    ``answer_format``: calls are asked for natively or in the ``text`` of the answer; ``auto`` is natively, unless the
    job says otherwise. ``data`` is ``shipped``, ``installed``, a folder, or ``hf://datasets/…``; ``category`` names
    categories and groups with commas between; ``version`` is the formula of ``Overall Acc``. ``tools`` is a file of
    tools for custom rows that bring none, ``infer_tools`` makes them from the expected calls even where those leave
    something open. ``job`` is a job file, which says what is asked instead. Raises UsageError for options that cannot
    be meant.
    """

    name: str = "bfcl"
    mode: Mode = "strict"
    data: str = "shipped"
    category: str = "ast"
    version: Version = "v3"
    limit_per_category: int | None = None
    tools: str | None = None
    infer_tools: bool = False
    job: str | None = None
    answer_format: Literal["auto", "native", "text"] = "auto"

    def __post_init__(self) -> None:
        if self.limit_per_category is not None and self.limit_per_category < 1:
            raise UsageError(f"{self.name}: limit_per_category is at least 1, read {self.limit_per_category}")
        if not expand([self.category]):
            raise UsageError(f"{self.name}: category is empty")


def bfcl_suite(options: BfclOptions) -> BfclSuite:
    """The suite without what only a running program has: simulated services and functions."""
    return BfclSuite(options.name, options.mode)
