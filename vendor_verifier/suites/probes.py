"""The suite ``probes``: questions with many answers, asked often for one token each, strings whose tokens are counted,
and probes with known answers (:mod:`vendor_verifier.suites.known_answers`).

A score only says that a token came; :mod:`vendor_verifier.findings.probes` compares what all of them show.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial

from msgspec import structs

from vendor_verifier.errors import UsageError
from vendor_verifier.records.failures import SETTLED
from vendor_verifier.records.record import Attempt, FeatureStatus, Score
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import Judgement, known_answers
from vendor_verifier.suites.known_answers import Draws

NAME = "probes"
STRING = "string"
_BEGINNINGS = ("Give me", "Pick", "Choose", "Name", "Think of")
_ENDINGS = ("Only that, nothing else.", "One word only.", "Answer with it alone.", "No explanation.")
_THINGS = (
    "a random number from {low} to {high}", "any number between {low} and {high}", "a random even number below {high}",
    "a random odd number below {high}", "a random letter", "a random vowel", "a random consonant", "a day of the week",
    "a month", "a year in history", "a colour", "a shape", "a city", "a country", "a capital", "a river", "an island",
    "a mountain", "a language", "an animal", "a bird", "an insect", "a fish", "a breed of dog", "a flower", "a tree",
    "a fruit", "a vegetable", "a spice", "a drink", "a dessert", "a first name", "a last name", "a profession",
    "a hobby", "a sport", "a board game", "a card of a deck", "a dance", "a musical instrument", "a piece of furniture",
    "a tool", "a vehicle", "a piece of clothing", "a fabric", "a metal", "a gemstone", "a chemical element", "a planet",
    "a constellation", "a weather condition", "an emotion", "a virtue", "a body part", "a school subject",
    "a famous scientist", "a verb", "an adjective", "a word that begins with {letter}", "a word that ends in {letter}",
)  # fmt: skip
QUESTIONS, REPEATS = len(_THINGS), 20
# The kinds of strings, each in this many lengths, the shortest first: tokenizers divide them differently.
_KINDS, LENGTHS = 8, 3
_RARE_WORDS = ("floccinaucinihilipilification", "sesquipedalian", "Donaudampfschifffahrtsgesellschaft", "xylographic")
_CHINESE = "今天气很好我们一起去公园散步看花鸟鱼虫山水云月"
_EMOJI = "😀🚀🌍🧪🐙🎻🥑🧵🪐🦔👩‍🔬🏳️‍🌈"
# A word of letters and digits; one sign alone of a script without blanks between words, or of none.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+|\S")


@dataclass(frozen=True, slots=True)
class ProbesSuite:
    """``questions`` questions are asked ``repeats`` times each; ``lengths`` are those of long prompts, in tokens."""

    name: str = NAME
    questions: int = QUESTIONS
    repeats: int = REPEATS
    lengths: str = known_answers.LENGTHS

    def __post_init__(self) -> None:
        known_answers.read_lengths(self.lengths)
        for option, value, most in (("questions", self.questions, QUESTIONS), ("repeats", self.repeats, 1_000)):
            if not 2 <= value <= most:
                raise UsageError(f"{self.name}: {option} must be from 2 to {most}, not {value}")

    def play(self, sample: Sample) -> Generator[Turn, Attempt, Judgement]:
        """Ask with reasoning switched off where wire and vendor can, so that the first token is a visible one."""
        kind, turn = sample.tags["category"], structs.replace(sample.turn, thinking="off")
        if kind == known_answers.CACHE:
            status, evidence = yield from known_answers.play_cache(turn, again=sample.id.endswith("again"))
        else:
            attempt = yield turn
            if attempt.failure is not None and attempt.failure.kind in SETTLED - {"too_large"}:
                attempt = yield sample.turn
            status, evidence = _read(kind, sample.turn, attempt)
        details = {"check": self.name, "status": status, "evidence": evidence}
        return partial(Score, self.name, values={}, details=details)


def _read(kind: str, turn: Turn, attempt: Attempt) -> tuple[FeatureStatus, str]:
    """The status of an answer, and what it shows."""
    if kind == known_answers.NEEDLE:
        return known_answers.read_needle(turn, attempt)
    if attempt.response is None or not attempt.succeeded:
        return "not_measurable", ""
    if kind == known_answers.ECHO:
        return known_answers.read_echo(turn, attempt.response)
    token = first_token(attempt.response.text)
    return ("not_measurable", "") if token is None else ("kept", token)


def first_token(text: str) -> str | None:
    """The first visible word or sign of an answer, whatever more a wire's smallest output holds; None for no text."""
    found = _TOKEN.search(unicodedata.normalize("NFC", text))
    return found.group() if found else "(blank)" if text else None


def probes_samples(
    questions: int = QUESTIONS, repeats: int = REPEATS, seed: int = 0, lengths: str = known_answers.LENGTHS
) -> tuple[Sample, ...]:
    """Every question as often as it is asked, then every other probe once."""
    draws = Draws(f"{NAME} {seed}")
    asked = [
        _sample(f"{number:03d}-{again:03d}", "probe", f"{number:03d}", text)
        for number, text in enumerate(_questions(questions, draws))
        for again in range(repeats)
    ]
    strings = enumerate(_strings(draws))
    counted = (_sample(f"string-{number:02d}", STRING, f"{number:02d}", text) for number, text in strings)
    # From a seed of their own, so that other questions do not change them.
    own = Draws(f"{NAME} {seed} known")
    known = [(f"echo-{number:02d}", turn) for number, turn in enumerate(known_answers.echo_turns(own))]
    for tokens in known_answers.read_lengths(lengths):
        known.append((f"needle-{known_answers.length_name(tokens)}", known_answers.needle_turn(tokens, own)))
    cached = known_answers.cache_turn(own)
    known += [("cache-again", cached), ("cache-later", cached)]
    return (*asked, *counted, *(_known(name, turn) for name, turn in known))


def _known(name: str, turn: Turn) -> Sample:
    kind, _, group = name.partition("-")
    return Sample(f"{NAME}-{name}", turn, tags={"category": kind, "probe": group})


def group_of(sample: str) -> str:
    """The question or the string that a sample asks, by the sample's id."""
    name = sample.removeprefix(f"{NAME}-")
    return name.partition("-")[0] if name[:1].isdigit() else name


def is_question(group: str) -> bool:
    """Whether it is a question that is asked for one token."""
    return group[:1].isdigit()


def is_string(group: str) -> bool:
    """Whether it is a string whose tokens are counted, not a question."""
    return group.startswith(STRING)


def kind_of(group: str) -> int:
    """The kind of a string: blanks, digits, code …"""
    return int(group.rpartition("-")[2]) % _KINDS


def _sample(name: str, kind: str, group: str, text: str) -> Sample:
    """One token is the least a model can be asked for; a wire whose smallest output is larger raises it."""
    fixed = ("max_tokens", "max_completion_tokens", "temperature", "top_p")
    turn = Turn(({"role": "user", "content": text},), parameters={"max_tokens": 1, "temperature": 1}, fixed=fixed)
    return Sample(f"{NAME}-{name}", turn, tags={"category": kind, "probe": group})


def _questions(count: int, draws: Draws) -> Iterator[str]:
    for thing in draws.shuffled(_THINGS)[:count]:
        low, high, letter = draws.between(1, 9), draws.between(60, 140), draws.one_of("ABCDEFGHILMNOPRST")
        asked = thing.format(low=low, high=high, letter=letter)
        yield f"{draws.one_of(_BEGINNINGS)} {asked}. {draws.one_of(_ENDINGS)}"


def _strings(draws: Draws) -> Iterator[str]:
    for length in (8, 24, 72):
        yield "x" + " " * (length + draws.between(0, 3)) + "y"
        yield "x" + "\n" * (length + draws.between(0, 3)) + "y" + "\t" * length + "z"
        yield "".join(draws.one_of("0123456789") for _ in range(length))
        yield "".join(draws.one_of(_EMOJI) for _ in range(length // 2))
        yield "".join(draws.one_of(_CHINESE) for _ in range(length))
        yield "\n".join(f"    def index_of_{draws.below(10**5)}(self, *args: int) -> None:" for _ in range(length // 8))
        yield " ".join(f"https://sub.example.org/{draws.below(10**15):x}?q=%E4%BD%A0&id=1" for _ in range(length // 8))
        yield " ".join(draws.one_of(_RARE_WORDS) for _ in range(length // 4))
