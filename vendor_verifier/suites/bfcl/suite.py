"""The suite ``bfcl``: the leaderboard's questions, asked and judged by its rules, without a baseline; and its job file.

A single-turn sample is one question. A multi-turn sample is a conversation with simulated services, which are injected:
without them it asks nothing and says so. Every score holds both verdicts, upstream's (``compat``) and the one that
mends what is plainly wrong there (``strict``); ``mode`` says which of them is ``correct``.

Every key of a job file is read or refused: one that did nothing would change what was measured without a word.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

from vendor_verifier.errors import ConfigError, DataError, Problem, UsageError
from vendor_verifier.suites import Play
from vendor_verifier.suites.bfcl.categories import (
    AGENTIC,
    EXECUTABLE,
    MULTI_TURN,
    REST,
    SINGLE_TURN,
    UNSCORED,
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
        details = {"category": sample.expected["category"], "outcome": outcome, **found, **(more or {})}
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


# By type of a job, the categories that version of the leaderboard has not (``None``: all but these are left out).
_LEFT_OUT: Mapping[str, Collection[str]] = MappingProxyType(
    {"bfcl": (), "bfclv3": (*AGENTIC,), "bfclv2": (*AGENTIC, *MULTI_TURN)}
)
_AST_ONLY = "_ast"
_TYPES = ("bfcl", "bfclv3", "bfclv3_ast", "bfclv2", "bfclv2_ast")
_FORMATS = ("native", "openai", "custom")
_KEYS = ("type", "name", "namespace", "params", "tasks")
_TASK_KEYS = ("type", "params", "dataset")
_DATASET_KEYS = ("format", "files_url", "path")
_TASK_PARAMS = ("limit_samples",)


@dataclass(frozen=True, slots=True)
class Task:
    """One task: categories (v4 names), the data it names if it is not the leaderboard's own, and its own limit."""

    name: str
    categories: tuple[str, ...]
    data_format: str | None = None
    files: str | None = None
    limit_samples: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A whole job. ``limit_samples`` applies to each task without its own; ``parallelism`` is requests in flight,
    ``request_timeout`` seconds of a whole attempt, ``max_retries`` further attempts after a failure."""

    tasks: tuple[Task, ...]
    name: str | None = None
    namespace: str | None = None
    limit_samples: int | None = None
    parallelism: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    request_timeout: float | None = None
    max_retries: int | None = None


def read_job(fields: Mapping[str, Any]) -> Job:
    """The job of a parsed job file.

    Raises:
        ConfigError: every problem of it, together.
    """
    problems = [*_unknown(fields, _KEYS, "")]
    kind = fields.get("type")
    if kind not in _TYPES:
        problems.append(Problem(f"read {kind!r}, expected one of {', '.join(_TYPES)}", key="type"))
    name, namespace = (_text(fields.get(key), key, problems) for key in ("name", "namespace"))
    params = _params(fields.get("params"), "params", _PARAMS, problems)
    tasks = fields.get("tasks")
    if not isinstance(tasks, dict) or not tasks:
        problems.append(Problem("expected an object with at least one task", key="tasks"))
        tasks = {}
    read = [_task(name, task, kind if kind in _TYPES else "bfcl", problems) for name, task in tasks.items()]
    if problems:
        raise ConfigError(problems)
    return Job(tuple(task for task in read if task), name, namespace, **params)


def _task(name: str, task: object, kind: str, problems: list[Problem]) -> Task | None:
    where = f"tasks.{name}"
    if not isinstance(task, dict) or not isinstance(task.get("type"), str):
        problems.append(Problem("expected an object with a type", key=where))
        return None
    problems += _unknown(task, _TASK_KEYS, f"{where}.")
    limits = _params(task.get("params"), f"{where}.params", _TASK_PARAMS, problems)
    try:
        categories = _of_version(expand([task["type"]]), kind)
    except UsageError as error:
        problems.append(Problem(str(error), key=f"{where}.type"))
        return None
    dataset = task.get("dataset")
    if dataset is None:
        return Task(name, categories, **limits)
    if not isinstance(dataset, dict):
        problems.append(Problem(f"read {dataset!r}, expected an object with a files_url", key=f"{where}.dataset"))
        return None
    problems += _unknown(dataset, _DATASET_KEYS, f"{where}.dataset.")
    data_format, files = dataset.get("format"), dataset.get("files_url", dataset.get("path"))
    if data_format is not None and data_format not in _FORMATS:
        problems.append(
            Problem(f"read {data_format!r}, expected one of {', '.join(_FORMATS)}", key=f"{where}.dataset.format")
        )
    if "files_url" in dataset and "path" in dataset:
        problems.append(Problem("the same as files_url, which is there too; keep one", key=f"{where}.dataset.path"))
    if not isinstance(files, str) or not files:
        problems.append(Problem("expected the address of the files", key=f"{where}.dataset.files_url"))
        return None
    return Task(name, categories, data_format, files, **limits)


def _of_version(categories: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """Those of the categories that the job's type has.

    Raises:
        UsageError: none of them.
    """
    only_ast = kind.endswith(_AST_ONLY)
    left_out = _LEFT_OUT[kind.removesuffix(_AST_ONLY)]
    kept = tuple(
        name for name in categories
        if name not in left_out and (not only_ast or name in SINGLE_TURN or name in UNSCORED)
    )  # fmt: skip
    if not kept:
        raise UsageError(f"a job of the type {kind} has none of {', '.join(categories)}; make it of the type bfcl")
    return kept


def _unknown(fields: Mapping[str, Any], known: Collection[str], where: str) -> Iterator[Problem]:
    for key in fields:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            yield Problem(f"nothing reads this key; {hint}", key=f"{where}{key}")


def _params(value: object, where: str, known: Collection[str], problems: list[Problem]) -> dict[str, Any]:
    """The parameters that are set; what is unknown or out of bounds is a problem."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.append(Problem(f"read {value!r}, expected an object", key=where))
        return {}
    # The keys of a job under `extra` are for other programs.
    inner = value.get("extra")
    further = {f"extra.{key}": each for key, each in inner.items()} if isinstance(inner, dict) else {}
    fields = {key: each for key, each in value.items() if key != "extra" or not isinstance(inner, dict)} | further
    problems += _unknown(fields, known, f"{where}.")
    found = {}
    for name in known:
        stated = fields.get(name)
        if stated is None:
            continue
        kind, fits, expected = _PARAMS[name]
        if isinstance(stated, bool) or not isinstance(stated, kind) or not fits(stated):
            problems.append(Problem(f"read {stated!r}, expected {expected}", key=f"{where}.{name}"))
        else:
            found[name] = stated
    return found


def _text(value: object, key: str, problems: list[Problem]) -> str | None:
    if value is None or isinstance(value, str):
        return value
    problems.append(Problem(f"read {value!r}, expected text", key=key))
    return None


_Rule = tuple[type | tuple[type, ...], Callable[[Any], bool], str]
_FROM_1: _Rule = (int, lambda count: count >= 1, "a whole number from 1")
_PARAMS: Mapping[str, _Rule] = MappingProxyType(
    {
        "limit_samples": _FROM_1,
        "parallelism": _FROM_1,
        "max_tokens": _FROM_1,
        "max_retries": (int, lambda count: count >= 0, "a whole number from 0"),
        "temperature": ((int, float), lambda value: 0 <= value <= 2, "a number from 0 to 2"),
        "top_p": ((int, float), lambda value: 0 < value <= 1, "a number above 0, at most 1"),
        "request_timeout": ((int, float), lambda seconds: 0 < seconds < float("inf"), "seconds, above 0"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BfclOptions:
    """Everything ``bfcl`` takes.

    ``data`` is ``shipped``, ``installed``, a folder, or ``hf://datasets/…``; ``category`` names categories and groups
    with commas between; ``version`` is the formula of ``Overall Acc``. ``tools`` is a file of tools for custom rows
    that bring none, ``infer_tools`` makes them from the expected calls. ``job`` is a job file, which says what is
    asked instead. Raises UsageError for options that cannot be meant.
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

    def __post_init__(self) -> None:
        if self.limit_per_category is not None and self.limit_per_category < 1:
            raise UsageError(f"{self.name}: limit_per_category is at least 1, read {self.limit_per_category}")
        if not expand([self.category]):
            raise UsageError(f"{self.name}: category is empty")


def bfcl_suite(options: BfclOptions) -> BfclSuite:
    """The suite without what only a running program has: simulated services and functions."""
    return BfclSuite(options.name, options.mode)
