"""Hints in plain words from the answers of one model's vendors beside each other; no part of any verdict.

Every vendor of a model was asked the same few words, so large differences in what they count have a cause that is worth
knowing before thousands of requests are paid for. One question decides nothing, so nothing is judged by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median_low

from vendor_verifier.features.doctor.diagnose import prompt_tokens
from vendor_verifier.features.doctor.values import Answer, Case, Topic
from vendor_verifier.words import Sentence, english

# Chat templates and tokenizers of one model differ by some tokens from host to host, and the template of tools by more.
MIN_RATIO = 1.5
MIN_TOKENS = 20
_TOPICS: tuple[Topic, ...] = ("text", "tools")


def hints(cases: Sequence[Case]) -> tuple[tuple[Sentence, ...], ...]:
    """For each case, in the order given, how its counts differ from those of the model's other vendors.

    The baseline is what others are held against, where it answered; else the vendor with the middle count.
    """
    found: list[list[Sentence]] = [[] for _ in cases]
    for model in dict.fromkeys(case.entry.model for case in cases):
        group = [number for number, case in enumerate(cases) if case.entry.model == model]
        for topic in _TOPICS:
            counts = {number: count for number in group if (count := prompt_tokens(cases[number], topic))}
            for number, count, reference in _unlike(counts, cases):
                # What one question shows the other need not repeat.
                found[number] = found[number] or [_prompt_hint(topic, count, counts[reference], cases[reference])]
        for number, count, reference in _unlike_outputs(group, cases):
            found[number].append(_output_hint(count, cases[reference]))
    return tuple(map(tuple, found))


def _unlike(counts: dict[int, int], cases: Sequence[Case]) -> Iterator[tuple[int, int, int]]:
    """Number and count of each case far from the reference, and the reference's number."""
    if len(counts) < 2:
        return
    baselines = [number for number in counts if cases[number].entry.is_baseline]
    middle = median_low(counts.values())
    reference = baselines[0] if baselines else next(number for number, count in counts.items() if count == middle)
    for number, count in counts.items():
        fewer, more = sorted((count, counts[reference]))
        if more >= MIN_RATIO * fewer and more - fewer >= MIN_TOKENS:
            yield number, count, reference


def _unlike_outputs(group: Sequence[int], cases: Sequence[Case]) -> Iterator[tuple[int, int, int]]:
    """The same of output tokens, among the vendors that answered the question of text with the very same text."""
    said: dict[str, dict[int, int]] = {}
    for number in group:
        answer = next((answer for answer in cases[number].about("text") if answer.succeeded), None)
        if answer is not None and (count := _output_tokens(answer)) and answer.response is not None:
            said.setdefault(answer.response.text.strip(), {})[number] = count
    for counts in said.values():
        yield from _unlike(counts, cases)


def _output_tokens(answer: Answer) -> int | None:
    """The output tokens of an answer that shows no thinking, which would be counted with them."""
    response = answer.response
    if response is None or response.usage is None or response.reasoning:
        return None
    return response.usage.output


def _prompt_hint(topic: Topic, count: int, reference: int, other: Case) -> Sentence:
    name = "hint_prompt_more" if count > reference else "hint_prompt_fewer"
    question = english(f"question_{topic}")
    return english(name, question=question, count=count, reference=reference, other=other.entry.label)


def _output_hint(count: int, other: Case) -> Sentence:
    answer = next(answer for answer in other.about("text") if answer.succeeded)
    reference = _output_tokens(answer) or 0
    name = "hint_output_more" if count > reference else "hint_output_fewer"
    return english(name, count=count, reference=reference, other=other.entry.label)
