"""The suite ``probes``: questions for one token each, strings whose tokens are counted, and probes whose right answer
is known: texts to copy into a tool call, codes in long prompts, repeated prompts.

The samples are drawn from a seed. Vendors are compared by :mod:`vendor_verifier.findings.probes`.
"""

from __future__ import annotations

import difflib
import json
import random
import re
import unicodedata
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from msgspec import structs
from pydantic import Field

from vendor_verifier.errors import UsageError
from vendor_verifier.records.failures import SETTLED
from vendor_verifier.records.record import Attempt, FeatureStatus, Response, Score
from vendor_verifier.records.request import BUDGETS, Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import Judgement

NAME = "probes"
STRING, ECHO, NEEDLE, CACHE = "string", "echo", "needle", "cache"
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
_KINDS, STRING_LENGTHS = 8, 3
_RARE_WORDS = ("floccinaucinihilipilification", "sesquipedalian", "Donaudampfschifffahrtsgesellschaft", "xylographic")
_CHINESE = "今天气很好我们一起去公园散步看花鸟鱼虫山水云月"
_EMOJI = "😀🚀🌍🧪🐙🎻🥑🧵🪐🦔👩‍🔬🏳️‍🌈"
# A word of letters and digits; one sign alone of a script without blanks between words, or of none.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+|\S")

_WORDS = (
    "harbour", "lantern", "orchard", "copper", "meadow", "compass", "granite", "ribbon", "saddle", "timber", "velvet",
    "walnut", "anchor", "barley", "candle", "falcon", "ginger", "hammer", "kettle", "marble", "needle", "pepper",
)  # fmt: skip
_TEXT = {"type": "string", "description": "The text, unchanged"}
_TOOL = {
    "type": "function",
    "function": {
        "name": "submit_text",
        "description": "Submit a text exactly as it was given.",
        "parameters": {"type": "object", "properties": {"text": _TEXT}, "required": ["text"]},
    },
}
_INSTALLS = (
    "pip install {}==<version>",
    "python -m pip install --upgrade {}==<version>",
    'pip install --no-cache-dir "{}>=<version>"',
)
# Words in <brackets> are drawn again each time.
_TEXTS = (
    "npm install --save-exact <word>-cli@<version>",
    "curl -fsSL https://get.<word>.example/install.sh | sh -s -- --version <version>",
    "git clone --depth 1 https://git.example/<word>/<word>.git && cd <word>",
    "docker run --rm -v /srv/<word>:/data:ro registry.example/<word>:<version>",
    "find . -name '*.<word>' -mtime +<number> -print0 | xargs -0 rm -f",
    *["https://<word>.example.org/<word>?id=<hex12>&next=%2F<word>#<word>"] * 3,
    "sha256:<hex64>",
    "0x<hex40>",
    "<hex8>-<hex4>-4<hex3>-a<hex3>-<hex12>",
    "def <word>_<hex3>(rows):\n    return [row[<number>] for row in rows if row != '<word>']",
    "SELECT <word>, COUNT(*) FROM <word> WHERE <word> >= <number> GROUP BY 1 -- <hex6>",
    "const <word> = (<word><hex2>) => { return `${<word>}:<hex4>` ?? null; };",
    '  - name: <word>\n    env:\n      TOKEN: "<hex10>"\n    run: make <word>',
    r'{"<word>": [<number>, null, true], "note": "say \"<word>\" \\ <hex4>"}',
    r'{"body": "{\"<word>\": \"<hex8>\", \"path\": \"C:\\\\<word>\\\\<word>\"}"}',
    "Grüße aus <word>, naïve café № <number> – „<word>“",
    "価格は<number>円です。<word>を買う。",
    "🚀 <word> 👩‍🔬 Ω≈ç√∫ <hex4> ½",
    "   <word> <word>  <hex4>  ",
    "\t<word>\n\n<word>\n",
    *["<word> " * 100 + "<hex16>."] * 2,
)
_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_EVIDENCE = 110
DEPTHS = (10, 50, 90)  # per cent of a long prompt at which the codes are
_DOORS = ("red", "green", "blue")
# Without signs that look the same.
_CODE = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
LENGTHS = "4k,8k,12k,16k,32k"
_CACHED_TOKENS = 2_600  # length of the prompt that is repeated; vendors cache from 1,024 tokens on
_LONGEST = 2_000_000
# English text has about four characters a token.
_CHARACTERS = 4

Dice = random.Random
Finding = tuple[FeatureStatus, str]  # with what the answer shows


@dataclass(frozen=True, slots=True)
class ProbesSuite:
    """``questions`` questions are asked ``repeats`` times each; ``lengths`` are those of long prompts, in tokens.

    A score only says that there was an answer, and what it shows.
    """

    name: str = NAME
    questions: Annotated[int, Field(ge=2, le=QUESTIONS)] = QUESTIONS
    repeats: Annotated[int, Field(ge=2, le=1_000)] = REPEATS
    lengths: str = LENGTHS

    def __post_init__(self) -> None:
        read_lengths(self.lengths)

    def play(self, sample: Sample) -> Generator[Turn, Attempt, Judgement]:
        """Ask with reasoning switched off where wire and vendor can, so that the first token is a visible one."""
        kind, turn = sample.tags["category"], structs.replace(sample.turn, thinking="off")
        if kind == CACHE:
            status, evidence = yield from _play_cache(turn, again=sample.id.endswith("again"))
        else:
            attempt = yield turn
            if attempt.failure is not None and attempt.failure.kind in SETTLED - {"too_large"}:
                attempt = yield sample.turn
            status, evidence = _read(kind, sample.turn, attempt)
        details = {"check": self.name, "status": status, "evidence": evidence}
        return partial(Score, self.name, values={}, details=details)


def _read(kind: str, turn: Turn, attempt: Attempt) -> Finding:
    """The status of an answer, and what it shows."""
    if kind == NEEDLE:
        return _read_needle(turn, attempt)
    if attempt.response is None or not attempt.succeeded:
        return "not_measurable", ""
    if kind == ECHO:
        return read_echo(turn, attempt.response)
    token = first_token(attempt.response.text)
    return ("not_measurable", "") if token is None else ("kept", token)


def first_token(text: str) -> str | None:
    """The first visible word or sign of an answer, whatever more a wire's smallest output holds; None for no text."""
    found = _TOKEN.search(unicodedata.normalize("NFC", text))
    return found.group() if found else "(blank)" if text else None


def probes_samples(
    questions: int = QUESTIONS, repeats: int = REPEATS, seed: int = 0, lengths: str = LENGTHS
) -> tuple[Sample, ...]:
    """Every question as often as it is asked, then every other probe once."""
    dice = Dice(f"{NAME} {seed}")
    # One token is the least a model can be asked for; a wire whose smallest output is larger raises it.
    fixed = (*BUDGETS, "temperature", "top_p")
    found = []
    for number, text in enumerate(_questions(questions, dice)):
        turn = Turn(_said(text), parameters={"max_tokens": 1, "temperature": 1}, fixed=fixed)
        found += [(f"{number:03d}-{again:03d}", "probe", f"{number:03d}", turn) for again in range(repeats)]
    for number, text in enumerate(_strings(dice)):
        turn = Turn(_said(text), parameters={"max_tokens": 1, "temperature": 1}, fixed=fixed)
        found.append((f"string-{number:02d}", STRING, f"{number:02d}", turn))
    # From a seed of their own, so that other questions do not change them.
    own = Dice(f"{NAME} {seed} known")
    known = [(f"echo-{number:02d}", turn) for number, turn in enumerate(_echo_turns(own))]
    known += [(f"needle-{length_name(tokens)}", _needle_turn(tokens, own)) for tokens in read_lengths(lengths)]
    cached = structs.replace(_needle_turn(_CACHED_TOKENS, own), parameters={"max_tokens": 60})
    known += [("cache-again", cached), ("cache-later", cached)]
    found += [(name, name.partition("-")[0], name.partition("-")[2], turn) for name, turn in known]
    return tuple(
        Sample(f"{NAME}-{name}", turn, tags={"category": kind, "probe": group}) for name, kind, group, turn in found
    )


def _said(content: str) -> tuple[dict[str, str]]:
    return ({"role": "user", "content": content},)


def group_of(sample: str) -> str:
    """The question or the string that a sample asks, by the sample's id."""
    name = sample.removeprefix(f"{NAME}-")
    return name.partition("-")[0] if name[:1].isdigit() else name


def is_string(group: str) -> bool:
    """Whether it is a string whose tokens are counted, not a question."""
    return group.startswith(STRING)


def kind_of(group: str) -> int:
    """The kind of a string: blanks, digits, code …"""
    return int(group.rpartition("-")[2]) % _KINDS


def _questions(count: int, dice: Dice) -> Iterator[str]:
    for thing in dice.sample(_THINGS, count):
        low, high, letter = dice.randint(1, 9), dice.randint(60, 140), dice.choice("ABCDEFGHILMNOPRST")
        asked = thing.format(low=low, high=high, letter=letter)
        yield f"{dice.choice(_BEGINNINGS)} {asked}. {dice.choice(_ENDINGS)}"


def _strings(dice: Dice) -> Iterator[str]:
    for length in (8, 24, 72):
        yield "x" + " " * (length + dice.randint(0, 3)) + "y"
        yield "x" + "\n" * (length + dice.randint(0, 3)) + "y" + "\t" * length + "z"
        yield "".join(dice.choices("0123456789", k=length))
        yield "".join(dice.choices(_EMOJI, k=length // 2))
        yield "".join(dice.choices(_CHINESE, k=length))
        yield "\n".join(f"    def at_{dice.randrange(10**5)}(self, *args: int) -> None:" for _ in range(length // 8))
        yield " ".join(f"https://sub.example.org/{dice.getrandbits(48):x}?q=%E4%BD%A0&id=1" for _ in range(length // 8))
        yield " ".join(dice.choices(_RARE_WORDS, k=length // 4))


def _echo_turns(dice: Dice) -> Iterator[Turn]:
    """Sixty requests to copy a text into a tool call: shell commands, addresses, code, JSON, Unicode, blanks, prose."""

    def drawn(place: re.Match[str]) -> str:
        if place[1] == "word":
            return dice.choice(_WORDS)
        if place[1] == "version":
            return f"{dice.randint(1, 9)}.{dice.randrange(40)}.{dice.randrange(20)}"
        return "".join(dice.choices("0123456789abcdef", k=int(place[2]))) if place[2] else str(dice.randrange(99))

    installs = [form.format(package) for package in ("requests", "numpy", "cryptography") for form in _INSTALLS]
    for form in (*installs, *_TEXTS, *_TEXTS, *["<word>:<hex24>"] * 3):
        text = re.sub(r"<(word|version|number|hex(\d+))>", drawn, form)
        content = (
            "Call the tool submit_text once. Set `text` to exactly what is between <text> and </text>: every "
            f"character, also blanks at its beginning and end.\n<text>{text}</text>"
        )
        yield Turn(_said(content), (_TOOL,), {"max_tokens": 1_000})


def echo_text(content: str) -> str:
    """The text that a message asks to copy."""
    return content[content.index("\n<text>") + 7 : -len("</text>")]


def changes(asked: str, copied: str) -> list[tuple[str, str]]:
    """The words that differ, as (asked, copied)."""
    one, two = _PIECE.findall(asked), _PIECE.findall(copied)
    steps = difflib.SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    return [("".join(one[a:b]), "".join(two[c:d])) for kind, a, b, c, d in steps if kind != "equal"]


def read_echo(turn: Turn, response: Response) -> Finding:
    """Whether the argument is the text; else its first changes, a line ``asked``, tab, ``copied`` each.
    Not measurable without a call whose arguments can be read."""
    for call in response.tool_calls:
        try:
            copied = json.loads(call.arguments)["text"]
        except (ValueError, LookupError, TypeError):
            continue
        if not isinstance(copied, str):
            continue
        asked, lines = echo_text(str(turn.messages[-1]["content"])), []
        for old, new in changes(asked, copied):
            lines.append(f"{old[:40]}\t{new[:40]}")
            if sum(map(len, lines)) > _MOST_EVIDENCE:
                lines = lines[:-1] or [lines[0][:_MOST_EVIDENCE]]
                break
        return ("kept" if copied == asked else "broken"), "\n".join(lines)
    return "not_measurable", ""


def read_lengths(text: str) -> tuple[int, ...]:
    """The lengths of ``8k,32k,500`` in tokens, the shortest first; UsageError for others than numbers from 500 on."""
    found = set()
    for word in text.split(","):
        number = re.fullmatch(r"(\d{1,7})(k?)", word.strip().lower())
        tokens = int(number[1]) * (1_000 if number[2] else 1) if number else 0
        if not 500 <= tokens <= _LONGEST:
            raise UsageError(f"lengths must be numbers of tokens from 500 on, such as 8k,32k; not {word!r}")
        found.add(tokens)
    return tuple(sorted(found))


def length_name(tokens: int) -> str:
    """``8k`` for 8,000."""
    return f"{tokens // 1_000}k" if tokens % 1_000 == 0 else str(tokens)


def _needle_turn(tokens: int, dice: Dice) -> Turn:
    """A log of about this number of tokens with a code at each of the depths; the question is at both of its ends."""
    question = "The log names a code for the red, the green and the blue door. Answer with these three codes only."
    lines: list[str] = []
    size = 0
    while size < tokens * _CHARACTERS:
        (one, two), came, left = dice.choices(_WORDS, k=2), dice.randrange(90), dice.randrange(90)
        lines.append(f"Day {len(lines) + 1}: {came} crates of {one} came in and {left} of {two} left.")
        size += len(lines[-1]) + 1
    for door, depth in reversed(list(zip(_DOORS, DEPTHS, strict=True))):
        code = "".join(dice.choices(_CODE, k=4)) + f"-{dice.randint(1000, 9999)}"
        lines.insert(len(lines) * depth // 100, f"The code of the {door} door is {code}.")
    content = "\n".join([question, "<log>", *lines, "</log>", question])
    return Turn(_said(content), parameters={"max_tokens": 200})


def _read_needle(turn: Turn, attempt: Attempt) -> Finding:
    """Whether all codes came back; else the depths in per cent whose code is missing, or ``refused``."""
    if attempt.failure is not None and attempt.failure.kind == "too_large":
        return "broken", "refused"
    if attempt.response is None or not attempt.succeeded or not attempt.response.text.strip():
        return "not_measurable", ""
    codes = re.findall(r"The code of the \w+ door is (\S+)\.", str(turn.messages[-1]["content"]))
    said = attempt.response.text.upper()
    lost = [str(depth) for depth, code in zip(DEPTHS, codes, strict=True) if code not in said]
    return ("broken" if lost else "kept"), ",".join(lost)


def _play_cache(turn: Turn, *, again: bool) -> Generator[Turn, Attempt, Finding]:
    """Ask a prompt once; ``again`` asks it twice, then another one, then the first once more.
    The evidence has ``input/cached/ttft_ms`` for each answer, ``-`` where it is not reported."""
    # Another prompt from its first token on.
    reversed_lines = "\n".join(str(turn.messages[-1]["content"]).split("\n")[::-1])
    other = structs.replace(turn, messages=_said(reversed_lines))
    found = []
    for each in (turn, turn, other, turn) if again else (turn,):
        attempt = yield each
        if attempt.response is None or not attempt.succeeded or attempt.response.usage is None:
            return "not_measurable", ""
        usage, timing = attempt.response.usage, attempt.timing
        first_ms = None if timing is None or timing.first_token_ns is None else round(timing.first_token_ns / 1e6)
        figures = (usage.input, usage.cached, first_ms)
        found.append("/".join("-" if figure is None else str(figure) for figure in figures))
    return "kept", " ".join(found)
