"""Finding and reading BFCL data, and upstream's own data where it is installed."""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bfcl_replies import called, said

from vendor_verifier.errors import UsageError
from vendor_verifier.pipeline.bfcl.data import (
    BfclData,
    InstalledServices,
    find_data,
    find_services,
    load_categories,
)
from vendor_verifier.pipeline.data_places import folder_at
from vendor_verifier.suites import replay
from vendor_verifier.suites.bfcl.categories import MULTI_TURN, SINGLE_TURN, expand
from vendor_verifier.suites.bfcl.multi_turn import WrittenCall, read_expected_call
from vendor_verifier.suites.bfcl.suite import BfclSuite
from vendor_verifier.values.record import Attempt
from vendor_verifier.values.sample import Sample

if sys.version_info >= (3, 14):
    pass
else:
    pass

# Rows of upstream's v4 data that nobody passes, with the one that needs a bare word for a list.
IMPOSSIBLE = {
    "simple_java_36", "simple_java_64", "simple_java_65", "live_simple_106-63-0", "live_simple_112-68-0",
    "live_multiple_862-181-3", "live_multiple_964-207-0",
}  # fmt: skip


def test_the_shipped_slice() -> None:
    """About 100 rows over all thirteen single-turn categories ship, none of them impossible."""
    loaded, _ = load_categories(find_data("shipped"), expand(["all"]))
    counts = Counter(sample.expected["category"] for sample in loaded.samples)
    assert set(counts) == set(SINGLE_TURN)
    assert min(counts.values()) >= 4
    assert sum(counts.values()) == 100
    assert loaded.defects == ()


def test_what_does_not_run_is_listed_with_its_reason() -> None:
    """``all`` runs what can run; every other category says what it needs."""
    not_run = load_categories(find_data("shipped"), expand(["all"]))[1]
    assert set(not_run) == set(expand(["all"])) - set(SINGLE_TURN)
    assert all(reason.startswith("not run: needs ") for reason in not_run.values())
    missing = load_categories(find_data("shipped"), ["multi_turn_base"], services=True)[1]
    assert "BFCL_v3_multi_turn_base.json" in missing["multi_turn_base"]


def test_limit_takes_the_first_rows() -> None:
    """Of all categories together, in the order asked."""
    first, _ = load_categories(find_data("shipped"), ["multiple", "parallel"], limit=10)
    assert [sample.expected["category"] for sample in first.samples] == ["multiple"] * 9 + ["parallel"]


def test_a_folder_of_either_version(tmp_path: Path) -> None:
    """A user's folder is found as such, inside a package, and with either version's names."""
    row = '{"id": "irrelevance_0", "question": [[{"role": "user", "content": "hi"}]], "function": []}\n'
    data = tmp_path / "bfcl_eval" / "data"
    data.mkdir(parents=True)
    (data / "BFCL_v4_irrelevance.json").write_text(row, encoding="utf-8")
    for where in (data, data.parent, tmp_path):
        assert find_data(str(where)) == BfclData(data, "v4", "bfcl_eval v4")


def test_nothing_there_is_said() -> None:
    """A folder without data is refused with what would do."""
    with pytest.raises(UsageError, match="possible_answer"):
        find_data("nowhere")


def test_a_name_that_no_data_set_can_have_is_refused_as_such() -> None:
    """The page's own job file, its placeholders still in it, is no defect of this program."""
    with pytest.raises(UsageError, match="no data set can have this name"):
        folder_at("hf://datasets/<my-namespace>/<my-custom-bfcl-dataset>")


def upstream() -> BfclData:
    """The installed bfcl_eval's data, or the test is skipped."""
    if importlib.util.find_spec("bfcl_eval") is None:
        pytest.skip("bfcl_eval is not installed: pip install --no-deps bfcl-eval")
    return find_data("installed")


def test_upstreams_rows_load_and_check() -> None:
    """All v4 rows load, all single-turn rows are checked, and only known rows are impossible."""
    data = upstream()
    loaded, _ = load_categories(data, (*SINGLE_TURN, *MULTI_TURN), services=True)
    rows = [sample for sample in loaded.samples if sample.expected["category"] in SINGLE_TURN]
    assert len(rows) == 3641
    assert {defect.partition(":")[0] for defect in loaded.defects} == IMPOSSIBLE


def test_all_ground_truths_replay() -> None:
    """Every row's own calls are right, 200 of 200 in each set, and with the last one dropped none is."""
    data = upstream()
    services = find_services("installed")
    if services is None:
        pytest.skip("bfcl_eval's services are not installed: pip install mpmath")
    assert isinstance(services, InstalledServices)
    assert not [name for name in sys.modules if name.startswith(("bfcl_eval.constants", "bfcl_eval.model_handler"))]
    suite = BfclSuite(services=services)
    right: Counter[str] = Counter()
    right_without_last: Counter[str] = Counter()
    for sample in load_categories(data, MULTI_TURN, services=True)[0].samples:
        category = sample.expected["category"]
        right[category] += replayed(sample, suite, services, drop_last=False)
        right_without_last[category] += replayed(sample, suite, services, drop_last=True)
    assert right == dict.fromkeys(MULTI_TURN, 200)
    assert sum(right_without_last.values()) == 0


def replayed(sample: Sample, suite: BfclSuite, services: InstalledServices, *, drop_last: bool) -> bool:
    turns = [[read_expected_call(source) for source in turn] for turn in sample.expected["answer"]]
    if drop_last:
        next(turn for turn in reversed(turns) if turn).pop()
    script: list[Attempt] = []
    for turn in turns:
        if turn:
            script.append(called(*((call.name, named(call, sample, services)) for call in turn)))
        script.append(said("done"))
    score = replay(suite.play(sample), iter(script))
    assert score is not None
    return score.values["correct"] == 1.0


def named(call: WrittenCall, sample: Sample, services: InstalledServices) -> dict[str, Any]:
    """The arguments by name, as a model gives them."""
    for service in reversed(sample.expected["involved_classes"]):
        method = getattr(services.classes[service], call.name, None)
        if method is not None:
            names = list(inspect.signature(method).parameters)[1:]
            arguments = {**dict(zip(names, call.positional, strict=False)), **call.named}
            return dict(json.loads(json.dumps(arguments)))
    return dict(call.named)
