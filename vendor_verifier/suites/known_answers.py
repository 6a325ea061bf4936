"""Probes whose right answer is known: texts to copy into a tool call, codes in long prompts, repeated prompts.

The samples are drawn from a seed and read here; :mod:`vendor_verifier.findings.known_answers` compares vendors by them.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import structs

from vendor_verifier.errors import UsageError
from vendor_verifier.records.record import Attempt, FeatureStatus, Response
from vendor_verifier.records.request import Turn

ECHO, NEEDLE, CACHE = "echo", "needle", "cache"
DEPTHS = (10, 50, 90)  # per cent of a long prompt at which the codes are
LENGTHS = "4k,8k,12k,16k,32k"
CACHED_TOKENS = 2_600  # length of the prompt that is repeated; vendors cache from 1,024 tokens on
_LONGEST = 2_000_000
# English text has about four characters a token.
_CHARACTERS = 4
_DOORS = ("red", "green", "blue")
_HEX = "0123456789abcdef"
# Without signs that look the same.
_CODE = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_TOOL = {
    "type": "function",
    "function": {
        "name": "submit_text",
        "description": "Submit a text exactly as it was given.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The text, unchanged"}},
            "required": ["text"],
        },
    },
}
_PACKAGES = ("requests", "numpy", "cryptography")
_WORDS = (
    "harbour", "lantern", "orchard", "copper", "meadow", "compass", "granite", "ribbon", "saddle", "timber", "velvet",
    "walnut", "anchor", "barley", "candle", "falcon", "ginger", "hammer", "kettle", "marble", "needle", "pepper",
)  # fmt: skip
_PIECE = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_EVIDENCE = 110


Thing = TypeVar("Thing")


class Draws:
    """A row of draws; the same ``seed`` gives the same row on every machine and with every version of Python."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._made = 0

    def below(self, end: int) -> int:
        """A whole number from 0 on, below ``end``."""
        self._made += 1
        digest = hashlib.blake2b(f"{self._seed} {self._made}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % end

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``."""
        return low + self.below(high - low + 1)

    def one_of(self, things: Sequence[Thing]) -> Thing:
        """One of them."""
        return things[self.below(len(things))]

    def shuffled(self, things: Iterable[Thing]) -> list[Thing]:
        """All of them in another order."""
        return [thing for _, thing in sorted(((self.below(2**62), thing) for thing in things), key=lambda one: one[0])]


def read_lengths(text: str) -> tuple[int, ...]:
    """The lengths of ``8k,32k,500`` in tokens, the shortest first.

    Raises:
        UsageError: a length is no number from 500 on, with or without a k.
    """
    found = []
    for word in text.split(","):
        number = re.fullmatch(r"(\d{1,7})(k?)", word.strip().lower())
        tokens = int(number[1]) * (1_000 if number[2] else 1) if number else 0
        if not 500 <= tokens <= _LONGEST:
            raise UsageError(f"probes: lengths must be numbers of tokens from 500 on, such as 8k,32k; not {word!r}")
        found.append(tokens)
    return tuple(sorted(set(found)))


def length_name(tokens: int) -> str:
    """``8k`` for 8,000."""
    return f"{tokens // 1_000}k" if tokens % 1_000 == 0 else str(tokens)


def echo_turns(draws: Draws) -> Iterator[Turn]:
    """Sixty requests to copy a text into a tool call."""
    for text in echo_texts(draws):
        content = (
            "Call the tool submit_text once. Set `text` to exactly what is between <text> and </text>: every "
            f"character, also blanks at its beginning and end.\n<text>{text}</text>"
        )
        yield Turn(({"role": "user", "content": content},), (_TOOL,), {"max_tokens": 1_000})


def echo_text(content: str) -> str:
    """The text that a message asks to copy."""
    return content[content.index("\n<text>") + 7 : -len("</text>")]


def echo_texts(draws: Draws) -> list[str]:
    """Texts of nine kinds: package installs, shell commands, addresses, hashes, code, JSON, Unicode, blanks, prose."""

    def version() -> str:
        return f"{draws.between(1, 9)}.{draws.below(40)}.{draws.below(20)}"

    def word() -> str:
        return draws.one_of(_WORDS)

    def signs(count: int, alphabet: str = _HEX) -> str:
        return "".join(draws.one_of(alphabet) for _ in range(count))

    found = []
    for package in _PACKAGES:
        found += [
            f"pip install {package}=={version()}",
            f"python -m pip install --upgrade {package}=={version()}",
            f'pip install --no-cache-dir "{package}>={version()}"',
        ]
    for _ in range(2):
        found += [
            f"npm install --save-exact {word()}-cli@{version()}",
            f"curl -fsSL https://get.{word()}.example/install.sh | sh -s -- --version {version()}",
            f"git clone --depth 1 https://git.example/{word()}/{word()}.git && cd {word()}",
            f"docker run --rm -v /srv/{word()}:/data:ro registry.example/{word()}:{version()}",
            f"find . -name '*.{word()}' -mtime +{draws.below(90)} -print0 | xargs -0 rm -f",
        ]
        found += [f"https://{word()}.example.org/{word()}?id={signs(12)}&next=%2F{word()}#{word()}" for _ in range(3)]
        found += [f"sha256:{signs(64)}", f"0x{signs(40)}", f"{signs(8)}-{signs(4)}-4{signs(3)}-a{signs(3)}-{signs(12)}"]
        found += [
            f"def {word()}_{signs(3)}(rows):\n    return [row[{draws.below(9)}] for row in rows if row != '{word()}']",
            f"SELECT {word()}, COUNT(*) FROM {word()} WHERE {word()} >= {draws.below(999)} GROUP BY 1 -- {signs(6)}",  # noqa: S608
            f"const {word()} = ({word()}{signs(2)}) => {{ return `${{{word()}}}:{signs(4)}` ?? null; }};",
            f'  - name: {word()}\n    env:\n      {word().upper()}: "{signs(10)}"\n    run: make {word()}',
        ]
        found += [
            json.dumps({word(): [draws.below(99), None, True], "note": f'say "{word()}" \\ {signs(4)}'}),
            json.dumps({"body": json.dumps({word(): signs(8), "path": f"C:\\{word()}\\{word()}"})}),
        ]
        found += [
            f"Grüße aus {word()}, naïve café № {draws.below(99)} – „{word()}“",
            f"価格は{draws.below(9999)}円です。{word()}を買う。",
            f"🚀 {word()} 👩‍🔬 Ω≈ç√∫ {signs(4)} ½",
        ]
        found += [f"   {word()} {word()}  {signs(4)}  ", f"\t{word()}\n\n{word()}\n"]
        found += [" ".join(word() for _ in range(draws.between(90, 120))) + f" {signs(16)}." for _ in range(2)]
    found += [f"{word()}{number}:{signs(24, _CODE)}" for number in range(60 - len(found))]
    return found


def changes(asked: str, copied: str) -> list[tuple[str, str]]:
    """The words that differ, as (asked, copied)."""
    one, two = _PIECE.findall(asked), _PIECE.findall(copied)
    steps = difflib.SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    return [("".join(one[a:b]), "".join(two[c:d])) for kind, a, b, c, d in steps if kind != "equal"]


def read_echo(turn: Turn, response: Response) -> tuple[FeatureStatus, str]:
    """Whether the argument is the text; else its first changes, a line ``asked``, tab, ``copied`` each.

    Not measurable without a call whose arguments can be read.
    """
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


def needle_turn(tokens: int, draws: Draws) -> Turn:
    """A log of about this number of tokens with a code at each of the depths; the question is at both of its ends."""
    question = "The log names a code for the red, the green and the blue door. Answer with these three codes only."
    codes = ["".join(draws.one_of(_CODE) for _ in range(4)) + f"-{draws.between(1000, 9999)}" for _ in _DOORS]
    lines: list[str] = []
    size = 0
    while size < tokens * _CHARACTERS:
        one, two = draws.one_of(_WORDS), draws.one_of(_WORDS)
        came, left = draws.below(90), draws.below(90)
        lines.append(f"Day {len(lines) + 1}: {came} crates of {one} came in and {left} of {two} left.")
        size += len(lines[-1]) + 1
    for door, code, depth in reversed(list(zip(_DOORS, codes, DEPTHS, strict=True))):
        lines.insert(len(lines) * depth // 100, f"The code of the {door} door is {code}.")
    content = "\n".join([question, "<log>", *lines, "</log>", question])
    return Turn(({"role": "user", "content": content},), parameters={"max_tokens": 200})


def read_needle(turn: Turn, attempt: Attempt) -> tuple[FeatureStatus, str]:
    """Whether all codes came back; else the depths in per cent whose code is missing, or ``refused``."""
    if attempt.failure is not None and attempt.failure.kind == "too_large":
        return "broken", "refused"
    if attempt.response is None or not attempt.succeeded or not attempt.response.text.strip():
        return "not_measurable", ""
    codes = re.findall(r"The code of the \w+ door is (\S+)\.", str(turn.messages[-1]["content"]))
    said = attempt.response.text.upper()
    lost = [str(depth) for depth, code in zip(DEPTHS, codes, strict=True) if code not in said]
    return ("broken" if lost else "kept"), ",".join(lost)


def cache_turn(draws: Draws) -> Turn:
    """A prompt that is long enough to be cached."""
    content = needle_turn(CACHED_TOKENS, draws).messages[-1]["content"]
    return Turn(({"role": "user", "content": content},), parameters={"max_tokens": 60})


def play_cache(turn: Turn, *, again: bool) -> Generator[Turn, Attempt, tuple[FeatureStatus, str]]:
    """Ask a prompt once; ``again`` asks it twice, then another one, then the first once more.

    The evidence has ``input/cached/ttft_ms`` for each answer, ``-`` where it is not reported.
    """
    message = turn.messages[-1]
    # Another prompt from its first token on.
    reversed_lines = "\n".join(str(message["content"]).split("\n")[::-1])
    other = structs.replace(turn, messages=({**message, "content": reversed_lines},))
    found = []
    for each in (turn, turn, other, turn) if again else (turn,):
        attempt = yield each
        if attempt.response is None or not attempt.succeeded or attempt.response.usage is None:
            return "not_measurable", ""
        usage, timing = attempt.response.usage, attempt.timing
        first_ms = None if timing is None or timing.first_token_ns is None else round(timing.first_token_ns / 1e6)
        figures: Sequence[int | None] = (usage.input, usage.cached, first_ms)
        found.append("/".join("-" if figure is None else str(figure) for figure in figures))
    return "kept", " ".join(found)
