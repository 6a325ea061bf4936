"""A native sample → the same question put in words: functions in the system prompt, calls in the text of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from vendor_verifier.suites.bfcl.categories import MULTI_TURN, SENSITIVITY, language_of
from vendor_verifier.suites.bfcl.function_docs import hinted
from vendor_verifier.suites.bfcl.native_rows import ServiceDocs, digest_of
from vendor_verifier.suites.bfcl.prompts import (
    DEFAULT_FORMAT,
    SENSITIVITY_FORMATS,
    PromptFormat,
    PromptTexts,
    prompted,
    system_prompt,
)
from vendor_verifier.suites.bfcl.text_calls import Reading
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample, numbered


@dataclass(frozen=True, slots=True)
class Prompting:
    """The wording of prompts, and for multi-turn rows the documents of the simulated services."""

    texts: PromptTexts
    service_docs: ServiceDocs | None = None


def as_written(sample: Sample, prompting: Prompting) -> Sample:
    """The sample as a model is asked it that writes its calls in the text."""
    if sample.expected["category"] in MULTI_TURN:
        return _conversation(sample, prompting)
    reading = Reading(_form(str(sample.expected["category"])))
    return _written(sample, sample.expected, DEFAULT_FORMAT, reading, prompting.texts)


def sensitivity_rows(samples: Sequence[Sample], texts: PromptTexts) -> Iterator[Sample]:
    """Each native sample in the 26 formats, under upstream's ids."""
    number = 0
    for sample in samples:
        for wanted in SENSITIVITY_FORMATS:
            name = f"{SENSITIVITY}_{number}:{wanted.name}:{sample.expected['id']}"
            judged_as = sample.expected["category"]
            expected = {**sample.expected, "id": name, "category": SENSITIVITY, "judged_as": judged_as}
            yield _written(sample, {**expected, "format": wanted.name}, wanted, wanted.reading, texts)
            number += 1


def _form(category: str) -> Any:
    """The form of a category's calls: the source of its language."""
    return language_of(category)


def _written(
    sample: Sample, expected: Mapping[str, Any], wanted: PromptFormat, reading: Reading, texts: PromptTexts
) -> Sample:
    documents = [hinted(function, language_of(str(expected["category"]))) for function in expected["functions"]]
    messages = prompted(sample.turn.messages, system_prompt(documents, wanted, texts))
    return _asked(sample, messages, {**expected, "reading": _stored(reading)}, texts)


def _conversation(sample: Sample, prompting: Prompting) -> Sample:
    """A multi-turn row. Functions that are withheld come in words at their turn, without a hint, as upstream does."""
    expected = sample.expected
    docs = [doc for name in expected["involved_classes"] for doc in (prompting.service_docs or {}).get(name, ())]
    by_name = {str(doc["name"]): doc for doc in docs}
    withheld = {
        turn: [by_name[tool["function"]["name"]] for tool in tools] for turn, tools in expected["withheld"].items()
    }
    hidden = {doc["name"] for found in withheld.values() for doc in found}
    shown = [hinted(doc, "python") for doc in docs if doc["name"] not in hidden]
    first, *others = expected["turns"]
    messages = prompted(first, system_prompt(shown, DEFAULT_FORMAT, prompting.texts))
    functions = [{"name": doc["name"], "parameters": doc.get("parameters")} for doc in docs]
    changed = {**expected, "turns": [messages, *others], "withheld": withheld, "functions": functions}
    return _asked(sample, messages, {**changed, "reading": _stored(Reading())}, prompting.texts)


def _stored(reading: Reading) -> dict[str, Any]:
    return {"form": reading.form, "tagged": reading.tagged}


def _asked(
    sample: Sample, messages: Sequence[Mapping[str, Any]], expected: Mapping[str, Any], texts: PromptTexts
) -> Sample:
    """The sample with these messages and no tools, under an identity of its own."""
    tags = {**sample.tags, "category": expected["category"], "bfcl_id": expected["id"], "bfcl_prompt": texts.origin}
    name = numbered(digest_of([sample.id, list(messages), expected.get("format")]), 1)
    turn = Turn(tuple(messages), (), sample.turn.parameters)
    return structs.replace(sample, id=name, turn=turn, expected=dict(expected), tags=tags)
