"""Samples made anew by their templates: other numbers and names, tools in another order, decisions as before.

A sample that has a template says under ``template`` which of its words may be others: ``{"P-10442": "digits", "Porto":
"city"}``. Digits stay digits and the first one stays, a city becomes a city, a person a person, everywhere in the
conversation alike; a short message is signed with a name besides. Its id stays that of the template, so that runs join.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import structs

from vendor_verifier.loaders.fresh_words import CITIES, NAMES, PEOPLE, SIGNATURES
from vendor_verifier.values.draws import Draws
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample, Samples, content_digest, listed

TEMPLATE, HALF = "template", "prompt"
Half = Literal["fresh", "known"]
_ENGLISH = "en"
# Ways in which a sample must be able to differ; a signature is added where its own words give fewer.
_ENOUGH_WAYS = 1_000


def half_of(sample: Sample) -> Half | None:
    """Whether the sample is of the half made anew or of the other; None outside of both."""
    half = sample.tags.get(HALF)
    return half if half in ("fresh", "known") else None


def asked_instead(sample: Sample) -> str | None:
    """The content digest of a sample made anew; None of any other, whose id holds it."""
    return content_digest(sample.turn) if half_of(sample) == "fresh" else None


class FreshSamples(Samples):
    """``whole`` with half of the samples that have a template made anew, those that come first by digests of seed and
    id; every one is made when it is taken."""

    def __init__(self, whole: Sequence[Sample], seed: int) -> None:
        self._whole = listed(whole)
        self._seed = seed
        able = [place for place, sample in enumerate(self._whole) if TEMPLATE in sample.tags]
        able.sort(key=lambda place: _digest(seed, self._whole.ids[place]))
        self._half: dict[int, Half] = {
            place: "fresh" if rank < len(able) / 2 else "known" for rank, place in enumerate(able)
        }

    @property
    def ids(self) -> Sequence[str]:
        return self._whole.ids

    def at(self, place: int) -> Sample:
        sample, half = self._whole.at(place), self._half.get(place)
        if half is None:
            return sample
        made = made_anew(sample, self._seed) if half == "fresh" else sample
        return structs.replace(made, tags={**sample.tags, HALF: half})

    @property
    def made(self) -> int:
        """The number of samples that are made anew."""
        return sum(half == "fresh" for half in self._half.values())


def made_anew(sample: Sample, seed: int) -> Sample:
    """The sample with other words by its template; the same for the same seed."""
    dice = Draws(_digest(seed, sample.id))
    language = str(sample.tags.get("language", _ENGLISH))
    template: Mapping[str, str] = sample.tags[TEMPLATE]
    others, ways = _substitutes(template, language, dice)
    messages = tuple(_with(others, message) for message in sample.turn.messages)
    if ways < _ENOUGH_WAYS:
        messages = _signed(messages, language, dice)
    tools = dice.shuffled(sample.turn.tools)
    turn = sample.turn
    return structs.replace(
        sample, turn=Turn(messages, tuple(tools), turn.parameters, turn.stream, turn.thinking, turn.fixed)
    )


def _digest(seed: int, sample: str) -> str:
    return hashlib.sha256(f"{seed} {sample}".encode()).hexdigest()


def _substitutes(template: Mapping[str, str], language: str, dice: Draws) -> tuple[dict[str, str], float]:
    """The other word for each word of the template, none twice, and in how many ways they might have been drawn."""
    others: dict[str, str] = {}
    ways = 1.0
    for word, kind in sorted(template.items()):
        if kind == "digits":
            others[word] = _other_digits(word, dice)
            ways *= 10.0 ** (sum(map(str.isdigit, word)) - 1)
            continue
        pool = (CITIES if kind == "city" else PEOPLE).get(language, ())
        left = [each for each in pool if each not in template and each not in others.values()]
        if left:
            others[word] = dice.one_of(left)
            ways *= len(left)
    return others, ways


def _other_digits(word: str, dice: Draws) -> str:
    """The word with other digits after its first one."""
    first = re.search(r"[0-9]", word)
    head = 0 if first is None else first.end()
    while True:
        made = word[:head] + re.sub(r"[0-9]", lambda _: str(dice.below(10)), word[head:])
        if made != word:
            return made


def bounded(word: str) -> str:
    """A pattern that finds the word where no other Latin letter or digit touches it."""
    return rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])"


def _with(others: Mapping[str, str], value: Any) -> Any:
    """A message, or a part of it, with every word replaced in all of its texts."""
    if not others:
        return value
    if isinstance(value, str):
        pattern = "|".join(bounded(word) for word in sorted(others, key=len, reverse=True))
        return re.sub(pattern, lambda found: others[found[0]], value)
    if isinstance(value, Mapping):
        return {key: _with(others, part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_with(others, part) for part in value]
    return value


def _signed(messages: Iterable[Mapping[str, Any]], language: str, dice: Draws) -> tuple[Mapping[str, Any], ...]:
    """The messages with a name below the user's last one."""
    signed = list(messages)
    spoken = [place for place, message in enumerate(signed) if message.get("role") == "user"]
    if spoken and isinstance(signed[spoken[-1]].get("content"), str):
        parts = [dice.one_of(names) for names in NAMES.get(language, NAMES[_ENGLISH])]
        name = ("" if language in ("zh", "ja") else " ").join(parts)
        ending = dice.one_of(SIGNATURES.get(language, SIGNATURES[_ENGLISH])).format(name)
        message = signed[spoken[-1]]
        signed[spoken[-1]] = {**message, "content": f"{message['content']}\n{ending}"}
    return tuple(signed)
