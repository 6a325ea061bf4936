"""bfcl_eval's own checkers and ours on the same calls, right and wrong, in every category of its own data."""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from call_evaluations import called, judged, said

from vendor_verifier.errors import DataError
from vendor_verifier.pipeline.bfcl.data import BfclData, find_data, find_services, load_categories
from vendor_verifier.records.record import Attempt
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites.bfcl import check
from vendor_verifier.suites.bfcl.categories import MULTI_TURN, SINGLE_TURN, language_of
from vendor_verifier.suites.bfcl.function_docs import reference_calls
from vendor_verifier.suites.bfcl.multi_turn import read_expected_call
from vendor_verifier.suites.bfcl.suite import BfclSuite

pytestmark = pytest.mark.world

FOLDER = Path(__file__).parents[2] / ".world" / "bfcl"
CONFIG = "bfcl_eval.constants.model_config"
ROWS, CONVERSATIONS = 60, 12
SEED = 20261123
Calls = list[tuple[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def data() -> Iterator[BfclData]:
    """The installed data; bfcl_eval can be imported, without the module that needs every vendor's SDK."""
    if not (FOLDER / ".installed").exists():
        pytest.skip("bfcl-eval is not installed here: make test-world")
    (site,) = (FOLDER / "lib").glob("python*/site-packages")
    stub: Any = ModuleType(CONFIG)
    stub.MODEL_CONFIG_MAPPING = defaultdict(lambda: SimpleNamespace(underscore_to_dot=True))
    before = list(sys.path)
    sys.path.append(str(site))
    sys.modules[CONFIG] = stub
    yield find_data(str(site))
    sys.path[:] = before
    for name in [name for name in sys.modules if name.startswith("bfcl_eval")]:
        del sys.modules[name]


def rows_of(data: BfclData, category: str, most: int) -> list[Sample]:
    rows = load_categories(data, [category], services=True)[0].samples
    return random.Random(f"{SEED} {category}").sample(rows, min(most, len(rows)))


def changed(calls: Calls, dice: random.Random) -> Calls:
    """The calls with one thing about them wrong, or in another order, or none."""
    calls = [(name, dict(arguments)) for name, arguments in calls]
    kind = dice.randrange(8)
    if not calls or kind == 0:
        return [] if calls else [("made_up", {"a": 1})]
    place = dice.randrange(len(calls))
    name, arguments = calls[place]
    if kind == 1:
        return [*calls, calls[place]]
    if kind == 2:
        return [*calls[:place], (f"{name}_v2", arguments), *calls[place + 1 :]]
    if kind == 3:
        return calls[::-1]
    key = dice.choice(list(arguments)) if arguments else "unasked"
    if kind == 4:
        arguments.pop(key, None)
    else:
        arguments[key] = {5: "something else", 6: 987654, 7: [arguments.get(key)]}[kind]
    return calls


@pytest.mark.parametrize("category", [name for name in SINGLE_TURN if "relevance" not in name])
def test_verdicts(category: str, data: BfclData) -> None:
    """Verdict and error type of its AST checker are ours, on calls right and wrong."""
    from bfcl_eval.constants.enums import Language  # type: ignore[import-not-found]
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # type: ignore[import-not-found]

    language, dice, counts, different = language_of(category), random.Random(SEED), [0, 0], []
    for row in (sample.expected for sample in rows_of(data, category, ROWS)):
        right = reference_calls(row)
        for made in (right, changed(right, dice), changed(changed(right, dice), dice)):
            calls = [{name: arguments} for name, arguments in made]
            try:
                ours = check(row["functions"], calls, row["answer"], category)
                theirs = ast_checker(row["functions"], calls, row["answer"], Language(language), category, "x")
            except (DataError, TypeError, KeyError):
                continue  # a row on which it crashes
            counts[theirs["valid"]] += 1
            if (ours.valid, ours.error_type) != (theirs["valid"], None if theirs["valid"] else theirs["error_type"]):
                different.append((row["id"], calls, theirs, ours))
    assert min(counts) > 0
    assert different == []


@pytest.mark.parametrize("category", MULTI_TURN)
def test_conversations(category: str, data: BfclData) -> None:
    """Conversations, right and with a call missing, wrong or too many, get its verdict and error type."""
    from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker as theirs_of  # type: ignore[import-not-found]

    suite, dice, different = BfclSuite(services=find_services(str(data.folder))), random.Random(SEED), []
    for sample in rows_of(data, category, CONVERSATIONS):
        for fault in ("none", "missing", "wrong", "more"):
            turns = [_turn(sources, sample, fault, dice) for sources in sample.expected["answer"]]
            attempts: list[Attempt] = []
            for calls in turns:
                attempts += [called(*calls), said("Done.")] if calls else [said("Done.")]
            score = judged(suite, sample, *attempts)
            sources = [
                [[f"{name}({', '.join(f'{key}={value!r}' for key, value in made.items())})" for name, made in calls]]
                for calls in turns
            ]
            steps = [[step for step in turn if step] for turn in sources]
            # Its services live as long as the process, by model and row: every question is another model.
            name = f"m{fault}{len(different)}"
            theirs = theirs_of.multi_turn_checker(steps, sample.expected["answer"], sample.expected, category, name)
            ours = (score.values["correct"] == 1.0, score.details["error_type"])
            if ours != (theirs["valid"], None if theirs["valid"] else theirs["error_type"]):
                different.append((sample.expected["id"], fault, theirs, ours))
    assert different == []


def _turn(sources: list[str], sample: Sample, fault: str, dice: random.Random) -> Calls:
    withheld = [tool for tools in sample.expected["withheld"].values() for tool in tools]
    functions = [tool["function"] for tool in (*sample.turn.tools, *withheld)]
    places = {each["name"]: list(each["parameters"].get("properties", {})) for each in functions}
    calls: Calls = []
    for call in map(read_expected_call, sources):
        named = dict(zip(places.get(call.name, ()), call.positional, strict=False))
        calls.append((call.name, json.loads(json.dumps({**named, **call.named}))))
    if fault == "missing":
        return calls[:-1]
    if fault == "wrong":
        return changed(calls, dice) if calls else calls
    return [*calls, calls[-1]] if fault == "more" and calls else calls
