"""The questions of ``identity``, made anew from templates by a seed: probes whose answers spread, and odd strings.

A probe asks for one thing out of many (a number, a letter, a colour, a city …), in one of several languages and
phrasings and within bounds that the seed draws, so that a list of known questions recognises few of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vendor_verifier.suites.identity.suite import NAME, PROBE, PROBES, SAMPLES
from vendor_verifier.values.draws import Draws
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample

STRING = "string"
LENGTHS = 3
_KINDS = 8
# The least a model can be asked for; a wire whose smallest output is larger raises it.
_PARAMETERS: Mapping[str, Any] = {"max_tokens": 1, "temperature": 1}
_FIXED = ("max_tokens", "max_completion_tokens", "temperature", "top_p")


@dataclass(frozen=True, slots=True)
class _Language:
    """Beginnings and ends of a request, and what is asked for; ``{low}``, ``{high}`` and ``{letter}`` are drawn."""

    begins: tuple[str, ...]
    ends: tuple[str, ...]
    things: tuple[str, ...]


_LANGUAGES = (
    _Language(
        ("Give me", "Please pick", "Choose", "Name", "Think of", "Come up with"),
        ("Only that, nothing else.", "One word only.", "Answer with it alone.", "No explanation.", "Just the answer."),
        (
            "a random number from {low} to {high}", "any number between {low} and {high}", "a random letter",
            "a colour", "a city", "a country", "an animal", "a first name", "a fruit", "a profession", "a verb",
            "a musical instrument", "a word that begins with {letter}", "a river", "an emotion",
        ),
    ),
    _Language(
        ("Nenne", "Sag mir", "Wähle", "Denk dir aus:", "Gib mir"),
        ("Nur das, sonst nichts.", "Antworte mit einem Wort.", "Ohne Erklärung.", "Nur die Antwort."),
        (
            "eine zufällige Zahl von {low} bis {high}", "einen zufälligen Buchstaben", "eine Farbe", "eine Stadt",
            "ein Land", "ein Tier", "einen Vornamen", "eine Obstsorte", "einen Beruf",
            "ein Wort mit {letter} am Anfang", "ein Möbelstück", "einen Fluss",
        ),
    ),
    _Language(
        ("Dime", "Elige", "Nombra", "Piensa en", "Escribe"),
        ("Solo eso, nada más.", "Responde con una palabra.", "Sin explicación.", "Solo la respuesta."),
        (
            "un número al azar del {low} al {high}", "una letra al azar", "un color", "una ciudad", "un país",
            "un animal", "un nombre de persona", "una fruta", "una profesión", "una palabra que empiece por {letter}",
            "un instrumento musical", "una planta",
        ),
    ),
    _Language(
        ("Donne-moi", "Choisis", "Cite", "Propose", "Écris"),
        ("Rien d'autre.", "Réponds en un mot.", "Sans explication.", "Seulement la réponse."),
        (
            "un nombre au hasard de {low} à {high}", "une lettre au hasard", "une couleur", "une ville", "un pays",
            "un animal", "un prénom", "un fruit", "un métier", "un mot qui commence par {letter}", "un légume",
            "un sport",
        ),
    ),
    _Language(
        ("请说出", "随便选", "请给我", "想一想，告诉我"),
        ("只回答这个。", "不要解释。", "只用一个词回答。", "直接回答。"),
        (
            "{low}到{high}之间的一个随机数", "一个随机英文字母", "一种颜色", "一座城市", "一个国家", "一种动物",
            "一个姓氏", "一种水果", "一种职业", "一个汉字", "一种乐器", "一条河",
        ),
    ),
)  # fmt: skip
_RARE = (
    "antidisestablishmentarianism", "floccinaucinihilipilification", "sesquipedalian", "pulchritudinous",
    "Donaudampfschifffahrtsgesellschaft", "tergiversation", "honorificabilitudinitatibus", "xylographic",
)  # fmt: skip
_SIGNS = "今天气很好我们一起去公园散步看花鸟鱼虫山水云月"
_PICTURES = "😀🚀🌍🧪🐙🎻🥑🧵🪐🦔👩‍🔬🏳️‍🌈"


def identity_samples(probes: int = PROBES, samples: int = SAMPLES, seed: int = 0) -> tuple[Sample, ...]:
    """Every probe as often as it is asked, then every string once."""
    return tuple(_samples(probes, samples, Draws(f"{NAME} {seed}")))


def _samples(probes: int, samples: int, draws: Draws) -> Iterator[Sample]:
    for number, text in enumerate(_probes(probes, draws)):
        for again in range(samples):
            yield _sample(f"{number:03d}-{again:03d}", PROBE, f"{number:03d}", text)
    for number, text in enumerate(_strings(draws)):
        yield _sample(f"string-{number:02d}", STRING, f"{number:02d}", text)


def group_of(sample: str) -> str:
    """The probe or the string that a sample asks, by the sample's id."""
    name = sample.removeprefix(f"{NAME}-")
    return name if is_string(name) else name.partition("-")[0]


def is_string(group: str) -> bool:
    """Whether it is a string whose tokens are counted, not a probe."""
    return group.startswith(STRING)


def kind_of(group: str) -> int:
    """The kind of a string: blanks, digits, code …; of each there are ``LENGTHS`` lengths, the shortest first."""
    return int(group.rpartition("-")[2]) % _KINDS


def _sample(name: str, kind: str, group: str, text: str) -> Sample:
    turn = Turn(({"role": "user", "content": text},), parameters=_PARAMETERS, fixed=_FIXED)
    return Sample(f"{NAME}-{name}", turn, tags={"category": kind, "probe": group})


def _probes(count: int, draws: Draws) -> list[str]:
    """So many different probes, all things in all languages before any of them comes again."""
    found: dict[str, None] = {}
    things: list[tuple[_Language, str]] = []
    while len(found) < count:
        if not things:
            things = [(language, thing) for language in _LANGUAGES for thing in language.things]
            things.sort(key=lambda _: draws.below(2**32))
        language, thing = things.pop()
        asked = thing.format(
            low=draws.between(1, 9), high=draws.between(60, 140), letter=draws.one_of("ABCDEFGHILMNOPRST")
        )
        parts = (draws.one_of(language.begins), asked)
        joined = "".join(parts) if language is _LANGUAGES[-1] else " ".join(parts) + "."
        found[f"{joined}{'。' if language is _LANGUAGES[-1] else ' '}{draws.one_of(language.ends)}"] = None
    return list(found)


def _strings(draws: Draws) -> list[str]:
    """Strings that tokenizers divide differently: each kind in three lengths, so that a pattern can show."""
    made = []
    for times in (8, 24, 72):
        made += [
            "x" + " " * (times + draws.between(0, 3)) + "y",
            "x" + "\n" * (times + draws.between(0, 3)) + "y" + "\t" * times + "z",
            "".join(draws.one_of("0123456789") for _ in range(times)),
            "".join(_chosen(_PICTURES, times // 2, draws)),
            "".join(_chosen(_SIGNS, times, draws)),
            "\n".join(_code(draws) for _ in range(times // 8)),
            " ".join(_url(draws) for _ in range(times // 8)),
            " ".join(_chosen(_RARE, times // 4, draws)),
        ]
    return made


def _chosen(signs: Sequence[str], times: int, draws: Draws) -> list[str]:
    return [draws.one_of(signs) for _ in range(times)]


def _code(draws: Draws) -> str:
    name, number = draws.one_of(("total", "index_of", "isReady", "__init__")), draws.between(10, 99_999)
    return f"    def {name}_{number}(self, *args: int) -> None:  # {number:#x}"


def _url(draws: Draws) -> str:
    path = "/".join("".join(_chosen("abcdefghijklmnopqrstuvwxyz0123456789-_", 7, draws)) for _ in range(3))
    return f"https://sub.example{draws.between(1, 99)}.org/{path}?q=%E4%BD%A0&id={draws.between(1, 10**9)}"
