"""The beginnings of answers to a bounded choice of samples, kept while records are read, for comparing them as texts.

Of all samples those with the smallest digests are kept, so the same run gives the same choice. Only what every side
shows is compared: reasoning that some host hides is no difference.
"""

from __future__ import annotations

import heapq
import json
import unicodedata
from collections.abc import Iterable, Mapping

import msgspec

from vendor_verifier.records.event import ToolCall, Usage
from vendor_verifier.records.record import Record, Response
from vendor_verifier.records.sample import Sample, listed
from vendor_verifier.records.score import PlayedTask
from vendor_verifier.scoring.draws import key_digest
from vendor_verifier.scoring.observation import Observation
from vendor_verifier.wire.payload import parse_json

MOST_SAMPLES = 2_000
# As many as are compared; each part is cut by itself, since they are joined only when they are.
_MOST_CHARACTERS = 1_000
_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False)
EntryKey = tuple[str, str]
Question = tuple[str, str]


class AnswerText(msgspec.Struct, frozen=True):
    """One answer: its text, its reasoning and its calls without ids, arguments in canonical form.

    ``asked_characters`` is the length of all messages asked, ``provider`` who served it, as far as it says.
    ``characters`` are all that it shows, uncut, ``output_tokens`` what it bills for them; None where it bills reasoning
    apart, of which nobody sees how much there was. ``reworded`` are our wire's notes of what it asked in other words.
    """

    text: str
    reasoning: str
    calls: str
    asked_characters: int
    sent_s: float | None
    provider: str | None = None
    characters: int = 0
    output_tokens: int | None = None
    reworded: tuple[str, ...] = ()


class AnswerTexts(msgspec.Struct):
    """Answers by (model, label), then question, then repetition."""

    chosen: frozenset[Question]
    kept: dict[EntryKey, dict[Question, dict[int, AnswerText]]] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, tasks: Iterable[PlayedTask]) -> AnswerTexts:
        """An empty store for at most ``MOST_SAMPLES`` samples of the tasks that join the ranking."""
        every = [(task.suite, name) for task in tasks if not task.apart for name in listed(task.samples).ids]
        if len(every) <= MOST_SAMPLES:
            return cls(frozenset(every))
        return cls(frozenset(heapq.nsmallest(MOST_SAMPLES, every, key=lambda one: key_digest(*one))))

    def take(self, record: Record, sample: Sample, row: Observation) -> None:
        """Keep the answer of a successful record, if its sample is chosen and it is one of the first two."""
        question = (record.suite, record.sample)
        if record.repetition > 1 or question not in self.chosen or not row.traits.succeeded:
            return
        final = record.final
        answer = None if final is None else final.response
        if answer is not None:
            found = _answer(answer, sample, row)
            self.kept.setdefault((record.model, record.label), {}).setdefault(question, {})[record.repetition] = found


def _answer(answer: Response, sample: Sample, row: Observation) -> AnswerText:
    usage = row.tries[-1].usage if row.tries else Usage()
    return AnswerText(
        text=_plain(answer.text),
        reasoning=_plain(answer.reasoning),
        calls="\x00".join(map(_call, answer.tool_calls))[:_MOST_CHARACTERS],
        asked_characters=sum(map(_characters, sample.turn.messages)),
        sent_s=row.sent_s,
        provider=row.traits.served_provider,
        characters=len(answer.text) + len(answer.reasoning) + sum(len(call.arguments) for call in answer.tool_calls),
        output_tokens=None if usage.reasoning else usage.output,
        reworded=row.traits.reworded,
    )


def _characters(message: Mapping[str, object]) -> int:
    content = message.get("content")
    return len(content) if isinstance(content, str) else 0


def _plain(text: str) -> str:
    """The beginning of a text in NFC, without blanks around it."""
    return text and unicodedata.normalize("NFC", text[: 2 * _MOST_CHARACTERS]).strip()[:_MOST_CHARACTERS]


def _call(call: ToolCall) -> str:
    try:
        arguments = _CANONICAL.encode(parse_json(call.arguments))
    except ValueError:
        arguments = call.arguments
    return f"{call.name}({_plain(arguments)})"
