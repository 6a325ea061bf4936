"""Write the table of docs/judgement.md that says which vice of a vendor is seen how often, and how often wrongly.

Every run is a world of its own: simulated questions, asked of an honest baseline twice, of an honest twin of it and of
the vendor with the vice, without a socket. Their answers go the way of recorded ones (records, observations, texts) to
the findings. All is a function of the seeds.

python scripts/make_detection_table.py               write the table (some twenty minutes)
python scripts/make_detection_table.py --runs 5      print it from so few runs, and write nothing
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import structs

from vendor_verifier.audit.answers import answers_findings, answers_tests
from vendor_verifier.audit.identity import who_answered
from vendor_verifier.audit.output_tokens import output_token_findings
from vendor_verifier.audit.probes import Replies, probes_findings, probes_tests
from vendor_verifier.audit.streaming import streaming_findings
from vendor_verifier.features.simulate.performance import Performance, perform
from vendor_verifier.features.simulate.personas import PERSONAS, Persona
from vendor_verifier.features.simulate.question import Question, question_of
from vendor_verifier.scoring.answer_texts import AnswerTexts
from vendor_verifier.scoring.observation import observe
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.scoring.withheld_speeds import withhold_speeds
from vendor_verifier.stats.intervals import wilson
from vendor_verifier.suites.probes import QUESTIONS, REPEATS, group_of, is_string, probes_samples
from vendor_verifier.values.event import ToolCall, Usage
from vendor_verifier.values.judgement import AnswersTest, Finding
from vendor_verifier.values.record import Attempt, Record, Response, Timing, TurnRecord
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.score import PlayedTask, Score
from vendor_verifier.words import english

TARGET = Path(__file__).resolve().parent.parent / "docs" / "judgement.md"
BEGIN, END = "<!-- detection: begin -->\n", "<!-- detection: end -->\n"
# By number of questions: runs with every defect, and further ones of honest twins alone.
RUNS: Mapping[int, tuple[int, int]] = {100: (20, 300), 500: (6, 10), 2_000: (2, 0)}
PROBED_RUNS = 4
# None below this was looked at while the findings were made.
FIRST_SEED = 20_000
TEMPERATURE = 0.7
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_SUITE, _MODEL = "trigger", "m"
_OFFICIAL, _TWIN, _SUSPECT = "official", "twin", "suspect"
# The one who is asked shipped questions; for this n all of them, and for more there are none.
# Of every vendor's first tokens, honest ones too, so many are late by chance.
_LATE_BY_CHANCE = 0.005


class Defect(NamedTuple):
    """One row: the persona, the finding that names it, and what that must say besides, if anything."""

    persona: str
    finding: str
    what: str
    sign: Callable[[Finding, AnswersTest, int], bool] | None = None


def _since_half(finding: Finding, test: AnswersTest, n: int) -> bool:
    if test.since is None or test.since not in finding.statement:
        return False
    place = (datetime.fromisoformat(test.since) - _BEGIN).total_seconds()
    return abs(place - n / 2) <= n / 10


def _where_long(finding: Finding, _test: AnswersTest, _n: int) -> bool:
    return english("answers_length_long") in finding.statement


DEFECTS = (
    Defect("mixture", "answers_unlike_baseline", "a fifth of the questions go to another model"),
    Defect("switching", "answers_unlike_baseline", "another model from half time"),
    Defect("switching", "answers_unlike_baseline", "the same, dated within a tenth of the run", _since_half),
    Defect("long-cutter", "answers_unlike_baseline", "the longest third of the prompts cut, billed whole"),
    Defect("long-cutter", "answers_unlike_baseline", "the same, with the long prompts named", _where_long),
    Defect("four-bit", "answers_unlike_baseline", "its probabilities are a little off, 0.03 per token"),
    Defect("probe-recogniser", "answers_unlike_baseline", "another model, but honest to probes of one token"),
    Defect("hot", "answers_unlike_baseline", "samples too hot"),
    Defect("cold", "answers_too_like_baseline", "ignores the temperature"),
    Defect("caching", "answers_repeated", "repeats its answer to a repeated question"),
    Defect("inflated", "output_tokens_inflated", "8 % more output tokens billed"),
    Defect("fake-stream", "stream_faked", "generated whole, then streamed"),
    Defect("upstream-retries", "first_token_late_at_times", "3 % of the first tokens six times later or more"),
)
FAMILIES: Mapping[str, str] = {
    "answers_unlike_baseline": "answers",
    "answers_too_like_baseline": "answers",
    "answers_repeated": "repeated",
    "output_tokens_inflated": "output tokens",
    "stream_faked": "streaming",
    "first_token_late_at_times": "streaming",
}


class Asked(NamedTuple):
    """A sample and the question as a vendor reads it."""

    sample: Sample
    question: Question


def questions(n: int, seed: int) -> list[Asked]:
    """``n`` questions of a few words to a few hundred, half of them with a tool."""
    dice = random.Random(f"questions {n} {seed}")
    words = ["".join(dice.choice("aeiou") + dice.choice("bcdfglmnprst") for _ in range(dice.randint(1, 5)))
             for _ in range(200)]  # fmt: skip
    place = {"type": "object", "properties": {"place": {"type": "string"}, "note": {"type": "string"}},
             "required": ["place", "note"]}  # fmt: skip
    tool = {"type": "function", "function": {"name": "look_up", "parameters": place}}
    made = []
    for number in range(n):
        text = " ".join(dice.choice(words) for _ in range(dice.randint(8, 68)))
        message = {"role": "user", "content": f"{number} {text}"}
        turn = Turn((message,), (tool,) if dice.random() < 0.5 else (), {"temperature": TEMPERATURE})
        made.append(Asked(Sample(f"q{number}", turn), question_of(turn)))
    return made


@dataclass(slots=True)
class World:
    """The baseline's and the twin's answers to one list of questions, and the means to ask another vendor."""

    n: int
    seed: int
    asked: list[Asked]
    texts: AnswerTexts
    tables: dict[str, ObservationTable]

    @classmethod
    def of(cls, asked: list[Asked], seed: int) -> World:
        """The world with this seed, in which baseline and twin have answered these questions."""
        task = PlayedTask(_SUITE, [each.sample for each in asked])
        made = cls(len(asked), seed, asked, AnswerTexts.of([task]), {})
        made.ask(_OFFICIAL, PERSONAS["faithful"], [1, 2])
        made.ask(_TWIN, PERSONAS["faithful"], [3])
        return made

    def ask(self, label: str, persona: Persona, times: Sequence[int]) -> None:
        """Let a vendor answer every question as often as there are ``times``, the counts of asking."""
        table = self.tables[label] = ObservationTable()
        self.texts.kept.pop((_MODEL, label), None)
        dice = random.Random(f"{label} {persona.name} {self.n} {self.seed}")
        for repetition, count in enumerate(times):
            for place, each in enumerate(self.asked):
                served = persona.after(place + 1)
                told = perform(each.question, served, self.seed, refused=0, asked=count)
                assert isinstance(told, Performance)
                attempt = _attempt(told, dice, _BEGIN + timedelta(seconds=place))
                turns = (TurnRecord((attempt,)),)
                record = Record("run", _MODEL, label, "simulated", _SUITE, each.sample.id, repetition, turns)
                row = observe(record, Score(_SUITE, "called" if told.answer.calls else "not_called"), each.sample)
                table.add(row)
                self.texts.take(record, each.sample, row)

    def found(self, family: str, labels: Sequence[str]) -> tuple[list[Finding], Mapping[str, AnswersTest]]:
        """The findings of one kind about these vendors, and the tests of answers if they rest on these."""
        answers = {label: self.texts.kept[_MODEL, label] for label in labels}
        tables = {label: self.tables[label] for label in labels}
        if family == "answers":
            tests = answers_tests(answers, _OFFICIAL, labels, np.random.default_rng(self.seed))
            return list(answers_findings(tests)), tests
        if family == "repeated":
            rows = {label: table.answers() for label, table in tables.items()}
            return list(who_answered(rows, dict.fromkeys(labels, _MODEL), dict.fromkeys(labels, None), _OFFICIAL)), {}
        if family == "output tokens":
            return list(output_token_findings(answers, _OFFICIAL)), {}
        for label, table in tables.items():
            withhold_speeds(table, tables[_OFFICIAL], is_baseline=label == _OFFICIAL)
        return list(streaming_findings(tables, _OFFICIAL)), {}


def _attempt(told: Performance, dice: random.Random, moment: datetime) -> Attempt:
    """The answer as a client would have recorded it, over a network that varies."""
    late = dice.uniform(4, 10) if dice.random() < _LATE_BY_CHANCE else 1.0
    first = int(1e9 * (0.005 + told.first_token_s * dice.lognormvariate(0, 0.2)) * late)
    pace = 1e9 * told.decode_s * dice.lognormvariate(0, 0.1) / (told.piece_count - 1)
    gaps = tuple(int(pace * dice.lognormvariate(0, 0.3)) for _ in range(told.piece_count - 1))
    last = first + sum(gaps)
    timing = Timing(
        moment.isoformat(), last, headers_ns=first // 2, first_event_ns=first, first_token_ns=first,
        first_answer_ns=first, last_token_ns=last, gaps_ns=gaps, first_chunk_share=1 / told.piece_count,
        connection_reused=True,
    )  # fmt: skip
    answer = told.answer
    response = Response(
        answer.text,
        tool_calls=tuple(ToolCall(call.name, call.arguments) for call in answer.calls),
        finish_reason=answer.finish,
        usage=Usage(answer.prompt_tokens, answer.output_tokens),
        request_id=told.answer_id,
    )
    return Attempt(1, timing, response)


def outcomes(n: int, seed: int) -> tuple[set[Defect], set[str]]:
    """The defects found in one world, and the kinds of findings that were made on the twin."""
    world = World.of(questions(n, seed), seed)
    seen: set[Defect] = set()
    for name in dict.fromkeys(each.persona for each in DEFECTS):
        rows = [each for each in DEFECTS if each.persona == name]
        persona = PERSONAS[name]
        if persona.switch_after is not None:
            persona = structs.replace(persona, switch_after=n // 2)
        if persona.prompt_room is not None:
            persona = structs.replace(persona, prompt_room=_room(world.asked))
        world.ask(_SUSPECT, persona, [1, 2] if persona.caches else [1])
        found, tests = world.found(FAMILIES[rows[0].finding], [_OFFICIAL, _SUSPECT, _TWIN])
        named = {each.name: each for each in found if each.label == _SUSPECT}
        for each in rows:
            said = named.get(each.finding)
            if said is not None and (each.sign is None or each.sign(said, tests[_SUSPECT], n)):
                seen.add(each)
    return seen, false_alarms(world)


def _room(asked: Iterable[Asked]) -> int:
    """The length beyond which the longest third of the messages begins."""
    lengths = sorted(len(str(each.question.turn.messages[0]["content"])) for each in asked)
    return lengths[2 * len(lengths) // 3]


def false_alarms(world: World) -> set[str]:
    """The kinds of findings made on the twin of the baseline."""
    labels, kinds = [_OFFICIAL, _TWIN], set(FAMILIES.values())
    return {kind for kind in kinds if any(f.label == _TWIN for f in world.found(kind, labels)[0])}


def honest(n: int, seed: int) -> tuple[set[Defect], set[str]]:
    """The same of a world in which no vendor has a vice."""
    return set(), false_alarms(World.of(questions(n, seed), seed))


def probed(seed: int) -> tuple[set[str], bool]:
    """The personas that ``--suite probes`` finds in one world of its own, and whether it doubts the twin.

    It asks the same number of questions however many samples there are.
    """
    samples = probes_samples(QUESTIONS, REPEATS, seed)
    asked = [(sample, group_of(sample.id), question_of(sample.turn)) for sample in samples]

    def replies(persona: Persona, after: int) -> Replies:
        times: Counter[str] = Counter()
        found = Replies()
        for place, (_, group, question) in enumerate(asked):
            times[group] += 1
            told = perform(question, persona.after(place), seed, refused=0, asked=after + times[group])
            assert isinstance(told, Performance)
            found.prompts.setdefault(group, []).append(told.answer.prompt_tokens)
            if not is_string(group):
                found.tokens.setdefault(group, []).append(told.answer.text)
                found.billed.append(told.answer.output_tokens)
        return found

    honest = PERSONAS["faithful"]
    official, twin = replies(honest, 0), replies(honest, 1_000)
    found = set()
    for name in dict.fromkeys(each.persona for each in DEFECTS):
        persona = PERSONAS[name]
        if persona.switch_after is not None:
            persona = structs.replace(persona, switch_after=len(asked) // 2)
        sides = {_OFFICIAL: official, _SUSPECT: replies(persona, 2_000), _TWIN: twin}
        tests = probes_tests(sides, _OFFICIAL, np.random.default_rng(seed))
        found |= {name for each in probes_findings(tests) if each.label == _SUSPECT}
    alone = probes_tests({_OFFICIAL: official, _TWIN: twin}, _OFFICIAL, np.random.default_rng(seed))
    return found, any(True for _ in probes_findings(alone))


class Measured(NamedTuple):
    """How often each defect was ``found`` in ``runs`` runs, and each kind of finding made ``wrong`` in ``of`` runs."""

    found: Counter[Defect]
    runs: int
    wrong: Counter[str]
    of: int


def measured(n: int, runs: int, honest_runs: int, first_seed: int, jobs: int = 1) -> Measured:
    """Over so many worlds of ``n`` questions, and further ones of honest vendors alone, from this seed on."""
    found: Counter[Defect] = Counter()
    wrong: Counter[str] = Counter()
    with ProcessPoolExecutor(jobs) as pool:
        seeds = range(first_seed, first_seed + runs)
        others = range(first_seed + runs, first_seed + runs + honest_runs)
        results = [*pool.map(partial(outcomes, n), seeds), *pool.map(partial(honest, n), others)]
    for seen, alarms in results:
        found.update(seen)
        wrong.update(alarms)
    return Measured(found, runs, wrong, len(results))


def all_probed(runs: int, jobs: int) -> tuple[Counter[str], int, int]:
    """How often ``--suite probes`` finds each persona, how often it doubts a twin, and in how many runs."""
    with ProcessPoolExecutor(jobs) as pool:
        results = list(pool.map(probed, range(FIRST_SEED, FIRST_SEED + runs)))
    return Counter(name for found, _ in results for name in found), sum(wrong for _, wrong in results), runs


def table(results: Mapping[int, Measured], seen: Counter[str], doubted: int, probed_runs: int) -> Iterator[str]:
    """The lines of the table in Markdown, and what they rest on."""
    sizes = " | ".join(f"n = {n:,}" for n in results)
    yield f"| Defect | Finding | {sizes} | `--suite probes` | on the honest twin |"
    yield "|---|---|" + "---|" * (len(results) + 2)
    for each in DEFECTS:
        shares = " | ".join(f"{100 * one.found[each] / one.runs:.0f} %" for n, one in results.items())
        wrong, of = _false(results, FAMILIES[each.finding])
        by_probes = f"{100 * seen[each.persona] / probed_runs:.0f} %" if each.sign is None else ""
        yield f"| `{each.persona}`: {each.what} | `{each.finding}` | {shares} | {by_probes} | {wrong} of {of:,} |"
    yield ""
    runs = ", ".join(f"{one.runs} of n = {n:,}" for n, one in results.items())
    wrong, of = _false(results, "answers")
    high = 100 * (wilson(wrong, of).high or 0.0)
    yield f"Runs with each defect: {runs}; all seeds from {FIRST_SEED:,} on. The last column counts findings of that"
    yield "kind, whichever they are, in these runs and in others without a defect. The answers test was wrong in"
    yield f"{wrong} of {of:,} runs (95 %: at most {high:.1f} %). With `--suite probes` {QUESTIONS} probes,"
    yield f"{REPEATS} times each, see it as `probes_unlike_baseline`, whatever n is: {probed_runs} runs, of which"
    yield f"{doubted} doubted the twin."


def _false(results: Mapping[int, Measured], kind: str) -> tuple[int, int]:
    """False alarms of that kind, and in how many runs that could have made one."""
    able = list(results.values())
    return sum(one.wrong[kind] for one in able), sum(one.of for one in able)


def main() -> int:
    """Measure, and write or print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, help="So many runs of each size; prints instead of writing.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="Processes at once.")
    said = parser.parse_args()
    wanted = said.runs
    results = {n: measured(n, wanted or a, wanted or b, FIRST_SEED, said.jobs) for n, (a, b) in RUNS.items()}
    made = "\n".join(table(results, *all_probed(wanted or PROBED_RUNS, said.jobs))) + "\n"
    if wanted is not None:
        sys.stdout.write(made)
        return 0
    before, _, rest = TARGET.read_text(encoding="utf-8").partition(BEGIN)
    TARGET.write_text(f"{before}{BEGIN}{made}{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
