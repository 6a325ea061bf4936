"""bfcl_eval's own scorer and ours on the same answers, right and wrong, natively and in words, in every category."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from bfcl_replies import called, said

from vendor_verifier.errors import DataError
from vendor_verifier.features.bfcl.prompt_texts import prompt_texts
from vendor_verifier.features.bfcl.source import BfclData, find_data, load_categories, load_services
from vendor_verifier.suites.bfcl.categories import MULTI_TURN, SENSITIVITY, SINGLE_TURN
from vendor_verifier.suites.bfcl.multi_turn import converse
from vendor_verifier.suites.bfcl.reference_calls import reference_calls, written_calls
from vendor_verifier.suites.bfcl.results import CategoryResult, VendorResult
from vendor_verifier.suites.bfcl.service_calls import read_expected_call
from vendor_verifier.suites.bfcl.suite import BfclSuite
from vendor_verifier.suites.bfcl.tables import leaderboard_tables
from vendor_verifier.suites.bfcl.text_calls import Reading
from vendor_verifier.values.record import Attempt
from vendor_verifier.values.sample import Sample

pytestmark = pytest.mark.world

FOLDER = Path(__file__).parents[2] / ".world" / "bfcl"
ROWS, CONVERSATIONS = 60, 12
SEED = 20261123


class Upstream:
    """bfcl_eval in a process and an environment of its own."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("bfcl_upstream.py")
        command = [str(FOLDER / "bin" / "python"), "-W", "ignore", str(script)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, ask: str, **asked: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"ask": ask, **asked}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    if not (FOLDER / ".installed").exists():
        pytest.skip("bfcl-eval is not installed here: make test-world")
    found = Upstream()
    with found.process:
        yield found


@pytest.fixture(scope="module")
def data(upstream: Upstream) -> BfclData:
    (site,) = (FOLDER / "lib").glob("python*/site-packages")
    return find_data(str(site))


def rows_of(data: BfclData, category: str, *, in_words: bool) -> list[Sample]:
    texts = prompt_texts(str(data.folder)) if in_words else None
    loaded = load_categories(data, [category], services=True, texts=texts, sensitivity=texts)
    return list(loaded.samples.samples)


Calls = list[tuple[str, dict[str, Any]]]


def changed(calls: Calls, dice: random.Random) -> Calls:
    """The calls with one thing about them wrong, or in another order, or none."""
    calls = [(name, dict(arguments)) for name, arguments in calls]
    place = dice.randrange(len(calls)) if calls else 0
    kind = dice.randrange(8)
    if not calls or kind == 0:
        return [] if calls else [("made_up", {"a": 1})]
    name, arguments = calls[place]
    if kind == 1:
        return [*calls, calls[place]]
    if kind == 2:
        return [*calls[:place], (f"{name}_v2", arguments), *calls[place + 1 :]]
    if kind == 3:
        return calls[::-1]
    key = dice.choice(list(arguments)) if arguments else "unasked"
    other = {4: None, 5: "something else", 6: 987654, 7: [arguments.get(key)]}[kind]
    if kind == 4:
        arguments.pop(key, None)
    else:
        arguments[key] = other if not isinstance(arguments.get(key), str) or kind == 5 else str(other)
    return calls


def answers(sample: Sample, dice: random.Random) -> Iterator[tuple[Any, Attempt]]:
    """(what upstream's result file would hold, the attempt as we record it) of answers right and wrong."""
    right = reference_calls(sample.expected)
    in_words = "reading" in sample.expected
    reading = Reading(**sample.expected["reading"]) if in_words else None
    for calls in (right, changed(right, dice), changed(changed(right, dice), dice)):
        if reading is not None:
            text = written_calls(calls, reading)
            yield text, said(text)
            spoilt = (
                text[: dice.randrange(len(text) + 1)] + dice.choice("()[]\"'=,x") + text[dice.randrange(len(text)) :]
            )
            yield spoilt, said(spoilt)
        elif calls:
            result = [{name: json.dumps(arguments)} for name, arguments in calls]
            yield result, called(*calls)
    if not in_words:
        name = right[0][0] if right else "made_up"
        for arguments in ("{", "[1]", '"a"', "", "null"):
            yield [{name: arguments}], called((name, arguments))
    for text in ("", "No function fits.", "[]", "I would call f(x=1)."):
        yield text, said(text)


@pytest.mark.parametrize("in_words", [False, True], ids=["native", "words"])
@pytest.mark.parametrize("category", [*SINGLE_TURN, SENSITIVITY])
def test_verdicts(
    category: str,
    in_words: bool,
    upstream: Upstream,
    data: BfclData,
    record_property: Callable[[str, object], None],
) -> None:
    """bfcl_eval's verdict and error type are ours in compat, on answers right and wrong to rows of its own data."""
    if category == SENSITIVITY and not in_words:
        pytest.skip("asked in words alone")
    dice = random.Random(f"{SEED} {category} {in_words}")
    rows = rows_of(data, category, in_words=in_words)
    counts: Counter[str] = Counter()
    different: list[Any] = []
    for sample in dice.sample(rows, min(ROWS, len(rows))):
        for result, attempt in answers(sample, dice):
            theirs = upstream("judge", **judged_as(sample, result))
            is_other_grammar = in_words and category == "simple_javascript"
            ours = compat(sample, attempt)
            ours = ours[:1] if is_other_grammar and ours is not None else ours
            counts["crashed" if "crash" in theirs else "right" if theirs["valid"] else "wrong"] += 1
            if "crash" in theirs or ours is None:
                continue
            # The grammar of JavaScript is another year's, and may take broken source for another mistake.
            if ours != (theirs["valid"], theirs["error_type"])[: 1 if is_other_grammar else 2]:
                different.append((sample.expected["id"], result, theirs, ours))
    record_property("server", "bfcl-eval")
    record_property("found", f"{sum(counts.values())} answers, {counts['right']} right, {len(different)} differ")
    assert counts["wrong"] > 0
    assert different == []


def judged_as(sample: Sample, result: Any) -> dict[str, Any]:
    expected = sample.expected
    reading = expected.get("reading", {"form": {"simple_java": "java", "simple_javascript": "javascript"}.get(
        expected["category"], "python")})  # fmt: skip
    return {
        "category": expected.get("judged_as", expected["category"]), "functions": expected["functions"],
        "answer": expected["answer"], "result": result, "native": "reading" not in expected, **reading,
    }  # fmt: skip


def compat(sample: Sample, attempt: Attempt) -> tuple[Any, ...] | None:
    try:
        score = BfclSuite(mode="compat").judge(sample, attempt)
    except DataError:
        return None
    value = score.values["compat"]
    return None if value is None else (bool(value), score.details["error_type"])


@pytest.mark.parametrize("category", [*SINGLE_TURN, *MULTI_TURN])
def test_prompts(category: str, upstream: Upstream, data: BfclData) -> None:
    """What a model that writes its calls is sent first is upstream's, letter by letter."""
    theirs: Mapping[str, str] = upstream("sent", category=category)
    ours = {}
    for sample in rows_of(data, category, in_words=True):
        text = json.dumps([dict(message) for message in sample.turn.messages], sort_keys=True)
        ours[sample.expected["id"]] = hashlib.sha256(text.encode()).hexdigest()
    assert ours == theirs


@pytest.mark.parametrize("in_words", [False, True], ids=["native", "words"])
@pytest.mark.parametrize("category", MULTI_TURN)
def test_conversations(category: str, in_words: bool, upstream: Upstream, data: BfclData) -> None:
    """Right conversations, and such with a call missing, wrong or too many, get bfcl_eval's verdict and error type."""
    services = load_services(str(data.folder))
    dice = random.Random(f"{SEED} {category} {in_words}")
    rows = dice.sample(rows_of(data, category, in_words=in_words), CONVERSATIONS)
    natively = {row.expected["id"]: row for row in rows_of(data, category, in_words=False)}
    different, valid = [], 0
    for sample in rows:
        native = natively[sample.expected["id"]]
        for fault in ("none", "missing", "wrong", "more"):
            said_by_turn = [_turn(sources, native, fault, dice) for sources in sample.expected["answer"]]
            result, attempts = _told(said_by_turn, in_words=in_words)
            entry = {
                "id": sample.expected["id"], "initial_config": sample.expected["initial_config"],
                "involved_classes": sample.expected["involved_classes"],
            }  # fmt: skip
            theirs = upstream(
                "multi_turn", entry=entry, answer=sample.expected["answer"], result=result, native=not in_words
            )
            ours = _conversed(sample, attempts, services)
            valid += theirs.get("valid", False)
            if ours != (theirs.get("valid"), theirs.get("error_type")):
                different.append((sample.expected["id"], fault, theirs, ours))
    assert valid >= CONVERSATIONS
    assert different == []


def _turn(sources: list[str], native: Sample, fault: str, dice: random.Random) -> Calls:
    parameters = {
        tool["function"]["name"]: list(tool["function"]["parameters"].get("properties", {}))
        for tool in (*native.turn.tools, *(tool for tools in native.expected["withheld"].values() for tool in tools))
    }
    calls = []
    for call in map(read_expected_call, sources):
        named = dict(zip(parameters.get(call.name, ()), call.positional, strict=False))
        calls.append((call.name, {**named, **call.named}))
    if fault == "missing":
        return calls[:-1]
    if fault == "wrong":
        return changed(calls, dice) if calls else calls
    return [*calls, calls[-1]] if fault == "more" and calls else calls


def _told(turns: list[Calls], *, in_words: bool) -> tuple[list[Any], list[Attempt]]:
    """Every turn's calls at once, then a word that ends the turn."""
    result: list[Any] = []
    attempts: list[Attempt] = []
    for calls in turns:
        steps: list[Any] = []
        if calls and in_words:
            steps.append(written_calls(calls, Reading()))
            attempts.append(said(steps[-1]))
        elif calls:
            steps.append([{name: json.dumps(arguments)} for name, arguments in calls])
            attempts.append(called(*calls))
        steps.append("Done.")
        attempts.append(said("Done."))
        result.append(steps)
    return result, attempts


def _conversed(sample: Sample, attempts: list[Attempt], services: Any) -> tuple[bool, str | None]:
    play, left = converse(sample, services), iter(attempts)
    try:
        next(play)
        while True:
            play.send(next(left))
    except StopIteration as end:
        score = BfclSuite(mode="compat").judge_conversation(sample, end.value, services)
    return bool(score.values["compat"]), score.details["error_type"]


def test_tables(upstream: Upstream) -> None:
    """The tables of three vendors, of which two ran a part, are upstream's, cell by cell."""
    dice = random.Random(SEED)
    names = (*SINGLE_TURN, *MULTI_TURN)
    vendors, scores = [], {}
    for label, ran in (("whole", names), ("part", names[:7]), ("live", names[7:12])):
        counts = {name: (dice.randrange(20, 60), 60) for name in ran}
        seconds = [dice.uniform(0.1, 5) for _ in range(30)]
        results = {name: CategoryResult(correct, rows) for name, (correct, rows) in counts.items()}
        vendors.append(VendorResult(label, results, seconds))
        scores[label] = {
            **{name: {"accuracy": right / rows, "total_count": rows} for name, (right, rows) in counts.items()},
            "latency": seconds,
        }
    theirs = upstream("tables", scores=scores)
    for name, rows in leaderboard_tables(vendors, "v4").items():
        head, *lines = [line.split(",") for line in theirs["tables"][name].splitlines()]
        assert rows[0] == head
        place = head.index("Model")
        ours = {row[place]: row for row in rows[1:]}
        for line in lines:
            label = theirs["names"][line[place]]
            skipped = {"Rank", "Model", "Model Link", "Total Cost ($)", "Organization", "License"}
            pairs = zip(head, line, ours[label], strict=True)
            assert [(column, a, b) for column, a, b in pairs if column not in skipped and a != b] == []
