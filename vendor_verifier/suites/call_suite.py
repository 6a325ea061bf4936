"""The base class of the evaluations of tool calls: it asks, asks again while calls are missing, and reads the calls.

Calls are read where they were asked for: natively; in the text with ``answer_format: text``; in either place with
``auto`` and a prompt that asks for JSON. A failed or undecided answer scores 0 everywhere, so failing can never raise a
mean. A sample without readable expected calls scores None, and its details name the defect.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from msgspec import structs
from pydantic import Field

from vendor_verifier.errors import UsageError
from vendor_verifier.records.record import Attempt, Decision, Response, Score
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import AnyPlay
from vendor_verifier.suites.calls import Call, calls_in_text, first_problem, read_call, read_calls, reply_with_calls
from vendor_verifier.suites.trigger import complete_calls, decide
from vendor_verifier.wire.payload import as_dict

PLACEHOLDER = "{problem_statement}"
TEXT_PROMPT = """{problem_statement}

Answer with the tool calls that fulfil the request and with nothing else: one JSON array, in the order in which the \
tools are to be called. Each element is an object with "name", the tool, and "parameters", an object ({} for a tool \
without parameters). If no tool is needed, answer []."""


def first_turn(turn: Turn, answer_format: str, agent_prompt: str | None) -> Turn:
    """The sample's turn in the wording and format asked for; as text the question lists the tools and declares none."""
    in_text = answer_format == "text"
    if agent_prompt is None and not in_text:
        return turn
    tools = [as_dict(tool.get("function")) or tool for tool in turn.tools] if in_text else []
    shown = [{key: tool[key] for key in ("name", "description", "parameters") if key in tool} for tool in tools]
    listed = ["Available tools, one JSON object per line:", *(json.dumps(one, ensure_ascii=False) for one in shown)]
    # The last user message is reworded; a question without one gets one.
    places = [at for at, message in enumerate(turn.messages) if message.get("role") == "user"]
    at = places[-1] if places else len(turn.messages)
    asked = turn.messages[at] if places else {"role": "user", "content": ""}
    content = asked.get("content") or ""
    parts = [content] if isinstance(content, str) else [str(as_dict(part).get("text", "")) for part in content]
    pieces = [piece for piece in ("\n".join(parts), "\n".join(listed) if tools else "") if piece]
    reworded = {**asked, "content": (agent_prompt or TEXT_PROMPT).replace(PLACEHOLDER, "\n\n".join(pieces))}
    messages = (*turn.messages[:at], reworded, *turn.messages[at + 1 :])
    if not in_text:
        return structs.replace(turn, messages=messages)
    # These settings are about declared tools, and none are declared here.
    of_tools = ("tool_choice", "parallel_tool_calls")
    return Turn(messages, (), {key: value for key, value in turn.parameters.items() if key not in of_tools})


class Answered(NamedTuple):
    """What one answer called, and whether the calls were looked for in its text."""

    decision: Decision
    calls: tuple[Call, ...] = ()
    anomalies: tuple[str, ...] = ()
    in_text: bool = False


def next_turn(turn: Turn, response: Response, answered: Answered, texts: Sequence[str]) -> Turn:
    """The turn after ``response``: what it called, and the tools' answers to it, in order."""
    calls = answered.calls
    if answered.in_text:
        results = [f"{call.name}: {text}" for call, text in zip(calls, texts, strict=True)]
        go_on = "Go on in the same format with the calls that are still needed; answer [] if there are none."
        report = {"role": "user", "content": "\n".join(["Results of the tools:", *results, "", go_on])}
        return structs.replace(turn, messages=(*turn.messages, {"role": "assistant", "content": response.text}, report))
    made = [(f"call_{len(turn.messages)}_{at}", call.name, call.parameters) for at, call in enumerate(calls)]
    return structs.replace(turn, messages=(*turn.messages, *reply_with_calls(response.text, made, texts)))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSuite:
    """The options of every evaluation of tool calls; subclasses score an answer.

    ``max_iterations`` is the greatest number of turns per sample. Raises UsageError for a prompt without a question.
    """

    name: str
    answer_format: Literal["auto", "native", "text"] = "auto"
    agent_prompt: str | None = None
    max_iterations: Annotated[int, Field(ge=1)] = 1
    # The keys of ``Score.values``.
    VALUES: ClassVar[tuple[str, ...]] = ()
    # Why an answer cannot be scored where no call is expected.
    NOTHING_EXPECTED: ClassVar[str | None] = None
    # Whether calls that the text only describes count.
    READS_PROSE: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.agent_prompt is not None and PLACEHOLDER not in self.agent_prompt:
            raise UsageError(f"agent_prompt has no {PLACEHOLDER}, so the question would not be asked")

    def evaluate(self, expected: Sequence[Call], called: Sequence[Call]) -> dict[str, Any]:
        """The details of a whole answer; values are read from it by name."""
        raise NotImplementedError

    def read(self, sample: Sample, response: Response) -> Answered:
        """The calls of one answer. Calls in the other place are only an anomaly."""
        native, anomalies = complete_calls(response)
        names = [as_dict(tool.get("function")).get("name") for tool in sample.turn.tools]
        tools = {name for name in names if isinstance(name, str) and name} if self.READS_PROSE else None
        written = calls_in_text(response.text, tools)
        either = self.answer_format == "auto" and "json" in (self.agent_prompt or "").lower()
        if self.answer_format == "text" or (either and not native):
            unread = ("calls_only_native",) if native and not written else ()
            return Answered("called" if written else decide(response, ()), written, unread, in_text=True)
        unread = ("calls_only_in_text",) if written and not native else ()
        return Answered(decide(response, native), tuple(map(read_call, native)), (*anomalies, *unread))

    def play(self, sample: Sample) -> AnyPlay:
        """Yield the first turn and further ones while expected calls are missing, and return the judgement.

        The n-th call of a tool gets the recorded output of the n-th expected call of it, else a neutral success.
        """
        expected = read_calls(sample.expected.get("calls"))
        missing = Counter(call.name for call in expected)
        outputs = {name: iter([call.output for call in expected if call.name == name]) for name in missing}
        turn = first_turn(sample.turn, self.answer_format, self.agent_prompt)
        attempts: list[Attempt] = []
        while True:
            attempt = yield turn
            attempts.append(attempt)
            response = attempt.response
            if response is None or not attempt.succeeded or len(attempts) >= self.max_iterations or len(expected) < 2:
                break
            answered = self.read(sample, response)
            missing -= Counter(call.name for call in answered.calls)
            if not answered.calls or not missing or first_problem(answered.calls):
                break
            results = [next(outputs.get(call.name, iter(())), None) for call in answered.calls]
            texts = [json.dumps({"status": "ok"} if each is None else each, ensure_ascii=False) for each in results]
            turn = next_turn(turn, response, answered, texts)
        return partial(self.judge, sample, tuple(attempts))

    def defect(self, sample: Sample) -> str | None:
        """Why no answer to a sample can be scored."""
        if "calls" not in sample.expected:
            return "the sample does not say which calls are expected"
        expected = read_calls(sample.expected["calls"])
        return first_problem(expected) or (None if expected else self.NOTHING_EXPECTED)

    def judge(self, sample: Sample, attempts: Sequence[Attempt]) -> Score:
        """The score of the final attempts of all turns. One failed turn makes the whole sample undecided."""
        turns = [self.read(sample, one.response) for one in attempts if one.succeeded and one.response is not None]
        failure = attempts[-1].failure
        failed = None if attempts[-1].succeeded else failure.kind if failure else "no response"
        calls = tuple(call for turn in turns for call in turn.calls)
        decision: Decision = "undecided" if failed else "called" if calls else turns[-1].decision
        anomalies = () if failed else tuple(dict.fromkeys(anomaly for turn in turns for anomaly in turn.anomalies))
        expected = read_calls(sample.expected.get("calls"))
        if defect := self.defect(sample):
            return Score(self.name, decision, (), dict.fromkeys(self.VALUES), {"error": defect}, anomalies)
        details = self.evaluate(expected, () if decision == "undecided" else calls)
        values = {name: details.get(name, 0) for name in self.VALUES}
        if decision == "undecided":
            # What no answer can reach stays None, so that a failure leaves no mean and raises none.
            values = {name: None if value is None else 0 for name, value in values.items()}
            problem = f"no answer: {failed}" if failed else "no call before the answer ended"
            details = {"resolved": False, "error": problem}
        measured = {name: None if value is None else float(value) for name, value in values.items()}
        return Score(self.name, decision, (), measured, details, anomalies)
