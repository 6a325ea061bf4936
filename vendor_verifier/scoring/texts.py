"""The beginnings of answers to a bounded choice of samples, kept while records are read, for comparing them as texts.

Of all samples those with the smallest digests are kept, so the same run gives the same choice. Only what every side
shows is compared: reasoning that some host hides is no difference.
"""

from __future__ import annotations

import heapq
import unicodedata
from collections.abc import Mapping
from hashlib import blake2b

import msgspec

from vendor_verifier.records.record import Attempt, Record, Response, ToolCall
from vendor_verifier.records.sample import Samples
from vendor_verifier.scoring.answer import reported_usage

MOST_SAMPLES = 2_000
# As many as are compared; each part is cut by itself, since they are joined only when they are.
_MOST_CHARACTERS = 1_000
_decode, _encode = msgspec.json.Decoder().decode, msgspec.json.Encoder(order="sorted").encode
EntryKey = tuple[str, str]
Question = tuple[str, str]


class AnswerText(msgspec.Struct, frozen=True):
    """One answer: its text, its reasoning and its calls without ids, arguments in canonical form.

    ``characters`` are all that it shows, uncut, ``output_tokens`` what it bills for them; None where it bills reasoning
    that it does not show.
    """

    text: str
    reasoning: str
    calls: str
    characters: int = 0
    output_tokens: int | None = None

    @property
    def shown(self) -> str:
        """Text and calls, which every vendor shows."""
        return f"{self.text}\0{self.calls}"


class AnswerTexts(msgspec.Struct):
    """Answers by (model, label), then question (suite, sample), then repetition."""

    chosen: frozenset[Question] = frozenset()
    kept: dict[EntryKey, dict[Question, dict[int, AnswerText]]] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, samples: Mapping[str, Samples]) -> AnswerTexts:
        """An empty store for at most ``MOST_SAMPLES`` samples of these evaluations, the same in every scoring."""
        every = [(suite, name) for suite, found in samples.items() for name in found.ids]
        if len(every) > MOST_SAMPLES:
            every = heapq.nsmallest(MOST_SAMPLES, every, key=lambda one: blake2b("/".join(one).encode()).digest())
        return cls(frozenset(every))

    def take(self, record: Record) -> None:
        """Keep the answer of a successful record, if its sample is chosen and it is one of the first two."""
        question = (record.suite, record.sample)
        if record.repetition > 1 or question not in self.chosen or not record.succeeded:
            return
        final = record.final
        if final is not None and final.response is not None:
            found = _answer(final)
            self.kept.setdefault((record.model, record.label), {}).setdefault(question, {})[record.repetition] = found


def _answer(attempt: Attempt) -> AnswerText:
    answer, usage = attempt.response or Response(), reported_usage(attempt)
    return AnswerText(
        text=_plain(answer.text),
        reasoning=_plain(answer.reasoning),
        calls="\x00".join([_plain(canonical_call(call)) for call in answer.tool_calls])[:_MOST_CHARACTERS],
        characters=len(answer.text) + len(answer.reasoning) + sum(len(call.arguments) for call in answer.tool_calls),
        output_tokens=None if usage.reasoning else usage.output,
    )


def _plain(text: str) -> str:
    """The beginning of a text in NFC, without blanks around it."""
    return text and unicodedata.normalize("NFC", text[: 2 * _MOST_CHARACTERS]).strip()[:_MOST_CHARACTERS]


def canonical_call(call: ToolCall) -> str:
    """A call with its arguments in canonical JSON; arguments that are no JSON stay as they are."""
    try:
        return f"{call.name}({_encode(_decode(call.arguments)).decode()})"
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return f"{call.name}({call.arguments})"
