"""A dozen runs as a buyer sees them: the verdicts and the first line are what an honest expert would say.

Simulated vendors answer without sockets or clocks, so how busy this machine is decides nothing.
"""

from __future__ import annotations

import json
import random
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vendor_verifier.features.simulate.model import PERSONAS, answer_to
from vendor_verifier.features.simulate.server import AnswerKey, digest, known_answers, timed
from vendor_verifier.loaders import read_dataset_file
from vendor_verifier.pipeline.bfcl.data import answered_rows
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.plan import RetryRules, Task
from vendor_verifier.records.record import Attempt, Exchange, Failure, Record, TurnRecord
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.records.results import ModelResult
from vendor_verifier.records.sample import Sample
from vendor_verifier.resources import shipped
from vendor_verifier.run.conversation import should_retry, stops_vendor
from vendor_verifier.run.journal import Journal
from vendor_verifier.sample_store import open_lines
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.store import RunFolder
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.parse_answer import read_answer

pytestmark = pytest.mark.slow

MODEL = "simulated-model"
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_ROUND_TRIP_NS = 5_000_000
_WIRE = OpenAIChat()
SKIPPED = Attempt(1, failure=Failure("skipped", "plan", "the vendor was stopped earlier in this run"))
_ENDPOINT = Endpoint(base_url="http://127.0.0.1:1/v1", model_id=MODEL)


@dataclass(frozen=True)
class Vendor:
    """One simulated vendor under a label."""

    label: str
    persona: str
    repeat: int = 1
    key: AnswerKey = field(default_factory=dict, compare=False)
    crowded: bool = False

    def records(self, samples: Sequence[Sample], suite: str) -> list[Record]:
        """Its answers to all samples, one after the other, as the product would have recorded them."""
        dice = random.Random(f"0 {self.label}")
        made: list[Record] = []
        stopped = False
        for repetition in range(self.repeat):
            for number, sample in enumerate(samples):
                moment = _BEGIN + timedelta(seconds=number + 1000 * repetition)
                attempts = (SKIPPED,) if stopped else self._attempts(sample, repetition, dice, moment)
                last = attempts[-1].failure
                stopped = stopped or (last is not None and stops_vendor(last))
                turns = (TurnRecord(attempts),)
                made.append(Record("run", MODEL, self.label, "simulated", suite, sample.id, repetition, turns))
        return made

    def _attempts(self, sample: Sample, repetition: int, dice: random.Random, moment: datetime) -> tuple[Attempt, ...]:
        body = json.loads(_WIRE.request(sample.turn, _ENDPOINT).body)
        attempts: list[Attempt] = []
        # Another number for every label, repetition and attempt, so that what is sampled differs.
        before = zlib.crc32(self.label.encode()) + 1000 * repetition
        for number in range(1, RetryRules().retries + 2):
            exchange = self._exchange(body, before + number, number > 1, dice, moment)
            attempts.append(Attempt(number, *read_answer(exchange, _WIRE.reader(sample.turn.tools))))
            if not should_retry(attempts[-1]):
                break
        return tuple(attempts)

    def _exchange(
        self, body: dict[str, Any], asked: int, is_again: bool, dice: random.Random, moment: datetime
    ) -> Exchange:
        """What the transport would have seen."""
        messages, tools = body["messages"], body.get("tools") or ()
        sent, persona = moment.isoformat(), PERSONAS[self.persona]
        persona = persona.crowd if self.crowded and persona.crowd else persona

        def draw(*words: object) -> random.Random:
            return random.Random(f"0 {digest(messages, tools)} {words}")

        if persona.refusal is not None or (not is_again and draw("burst").random() < persona.burst_rate):
            status, at = persona.refusal or 503, _ROUND_TRIP_NS
            refusal = b'{"error": {"message": "simulated"}}'
            return Exchange(sent, at, status, {"content-type": "application/json"}, [(at, refusal)], at)
        answer = answer_to(body, draw, persona, self.key.get(digest(messages, tools)), asked)
        steps, ending = timed(body, draw, persona, answer, 6 * persona.wait_s)
        pace = dice.lognormvariate(0, 0.1)
        moments = [_ROUND_TRIP_NS + int(at_s * pace * 1e9) for at_s, _ in steps]
        pieces = [steps[0][1].partition(b"\r\n\r\n")[2], *(piece for _, piece in steps[1:])]
        chunks = [(at, _unframed(piece)) for at, piece in zip(moments, pieces, strict=True)]
        cut = Failure("truncated", "stream", "the connection was reset") if ending in ("closed", "reset") else None
        headers = {"content-type": "text/event-stream"}
        return Exchange(sent, moments[-1], 200, headers, chunks, chunks[0][0], failure=cut)


def _unframed(data: bytes) -> bytes:
    """The bytes in the chunks of a chunked body."""
    found = b""
    while data:
        size, _, rest = data.partition(b"\r\n")
        found, data = found + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return found


@cache
def asked_in(suite: str, count: int) -> tuple[Sequence[Sample], AnswerKey]:
    """The samples of an evaluation (``count`` is for questions of our own), and their answers."""
    samples = questions(count) if suite == "trigger" else evaluation(suite)
    return samples, known_answers([Task(suite, samples)])


@cache
def records_of(vendor: Vendor, suite: str, count: int) -> list[Record]:
    """The answers of a vendor: the baseline's are those of many stories."""
    return vendor.records(asked_in(suite, count)[0], suite)


def run_folder(path: Path, vendors: Sequence[Vendor], suite: str, count: int, baseline: int | None) -> RunFolder:
    """A finished run of ``vendors``, ready to be scored; ``baseline`` is the place of the baseline among them."""
    folder, samples = RunFolder(path), asked_in(suite, count)[0]
    folder.create()
    folder.write_samples(suite, samples)
    entries = [
        {"model": MODEL, "label": vendor.label, "vendor": "simulated", "model_id": MODEL, "wire": "openai",
         "url": f"sim://{vendor.persona}", "is_baseline": place == baseline, "repeat": vendor.repeat}
        for place, vendor in enumerate(vendors)
    ]  # fmt: skip
    task = {"suite": suite, "options": {}, "file": "samples", "sha256": "", "count": len(samples)}
    manifest = {
        "schema": 1, "run": "run", "created_at": _BEGIN.isoformat(), "status": "finished", "entries": entries,
        "tasks": [task | {"skipped": [], "defects": [], "not_run": {}}], "settings": {"repeat": 1, "seed": 0},
        "score": {},
    }  # fmt: skip
    folder.write_manifest(msgspec.convert(manifest, Manifest))
    with Journal(folder) as journal:
        for vendor in vendors:
            journal.append(records_of(vendor, suite, count))
    return folder


CITY = {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 7}}
WEATHER = {"name": "get_weather", "parameters": {"type": "object", "properties": CITY, "required": ["city", "days"]}}
CLOCK = {"name": "clock_now", "parameters": {"type": "object", "properties": {}}}
TOOLS = tuple({"type": "function", "function": function} for function in (WEATHER, CLOCK))


def questions(count: int) -> list[Sample]:
    """Questions of different lengths about weather and time."""
    texts = (f"How is the weather in town {number}? {'Please. ' * (number % 40)}" for number in range(count))
    turns = (Turn(({"role": "user", "content": text},), TOOLS) for text in texts)
    return [Sample(f"s{number}", turn) for number, turn in enumerate(turns)]


def evaluation(suite: str) -> Sequence[Sample]:
    """The rows that ship with an evaluation."""
    if suite == "bfcl":
        return answered_rows("shipped")
    path = shipped(f"datasets/{suite}.jsonl")
    return read_dataset_file(open_lines(path), dataset=path.name, file=path).samples


def played(
    *personas: str, baseline: str | None = "faithful", repeats: int = 2, samples: int = 315, suite: str = "trigger"
) -> ScoredRun:
    """A scored run of these personas, labelled by their names, with the baseline ``official``.

    ``a=faithful`` labels the faithful one ``a``.
    """
    _, key = asked_in(suite, samples)
    named = [(name.partition("=")[0], name.rpartition("=")[2]) for name in personas]
    vendors = [Vendor(label, persona, key=key, crowded=True) for label, persona in named]
    if baseline is not None:
        vendors.insert(0, Vendor("official", baseline, repeat=repeats, key=key))
    with tempfile.TemporaryDirectory() as place:
        folder = run_folder(Path(place) / "run", vendors, suite, samples, None if baseline is None else 0)
        return score_folder(folder)


# Persona → its verdict, and the facet that shows it.
ALONE = {
    "faithful": ("matches", None),
    "quantised": ("differs", "tool_calls"),
    "padded": ("differs", "bill"),
    "slow": ("check", "speed"),
    "bursty": ("check", "reliability"),
    "cutter": ("differs", "reliability"),
    "buffering": ("check", "speed"),
    "text-leaker": ("differs", "tool_calls"),
    "substitute": ("differs", "model"),
    "down": ("down", "reliability"),
    "locked": ("not_tested", "reliability"),
    "throttled": ("not_tested", "reliability"),
}


def of(scored: ScoredRun) -> ModelResult:
    [model] = scored.report.models.values()
    return model


def words(scored: ScoredRun) -> dict[str, str]:
    return {label: vendor.verdict.status for label, vendor in of(scored).vendors.items()}


@pytest.mark.parametrize("persona", ALONE)
def test_one_vendor_with_a_baseline(persona: str) -> None:
    """Its vice is under its facet, and the first line recommends only the honest one."""
    scored = played(persona)
    status, facet = ALONE[persona]
    vendor = of(scored).vendors[persona]
    assert vendor.verdict.status == status, vendor.verdict
    if facet is not None:
        assert vendor.verdict.facets[facet].status == status  # type: ignore[index]
    assert of(scored).vendors["official"].verdict.status == "reference"
    assert (of(scored).choice.kind == "recommended") == (persona == "faithful")


@pytest.mark.parametrize(
    ("personas", "samples", "kind", "labels"),
    [
        # Six rivals need more samples than the default.
        (("faithful", *"quantised padded substitute slow down bursty".split()), 900, "recommended", ("faithful",)),
        (("two=faithful", "one=faithful", "slow", "cutter"), 315, "recommended", ("one", "two")),
        (("substitute", "padded", "text-leaker"), 315, "none", ()),
        (("faithful",), 60, "undecided", ("faithful",)),
    ],
)
def test_the_first_line_names_the_honest(
    personas: tuple[str, ...], samples: int, kind: str, labels: tuple[str, ...]
) -> None:
    """Alone, or in alphabetical order; nobody among frauds, whoever leads in IRF, and nobody for few samples."""
    found = of(played(*personas, samples=samples)).choice
    assert (found.kind, found.labels) == (kind, labels)


@pytest.mark.parametrize("suite", ["toolbench", "bfcl"])
def test_an_evaluation_alone(suite: str) -> None:
    """Scores are compared with the baseline's and named in the first line; a leaker scores worse."""
    scored = played("one=faithful", "two=faithful", "substitute", repeats=1, suite=suite)
    assert words(scored)["substitute"] == "differs"
    assert words(scored)["one"] == words(scored)["two"] != "differs"
    assert suite in of(scored).choice.text


def test_nobody_answers() -> None:
    """All are down, the baseline included."""
    scored = played("down", "also-down=down", baseline="down")
    assert of(scored).choice.kind in ("nobody_answered", "none", "undecided")


def test_a_dead_baseline_leaves_the_others_untested() -> None:
    """Of a vendor that answers well nothing more can be said."""
    scored = played("faithful", "down", baseline="down")
    assert words(scored)["faithful"] == "not_tested"
    assert of(scored).choice.kind == "none"
    assert of(scored).choice.text.startswith("The baseline ")


def test_without_a_baseline_only_facts_are_judged() -> None:
    """Another model's name is one; a padded bill cannot be seen."""
    scored = played("faithful", "substitute", "padded", "cutter", baseline=None)
    assert words(scored)["faithful"] == words(scored)["padded"] == "not_tested"
    assert words(scored)["substitute"] == "differs"
    assert of(scored).choice.kind != "recommended"
