"""Names of categories and groups, and job files."""

from __future__ import annotations

import pytest

from vendor_verifier.errors import ConfigError, UsageError
from vendor_verifier.pipeline.bfcl.dataset import read_job
from vendor_verifier.suites.bfcl.categories import (
    EXECUTABLE,
    GROUPS,
    MULTI_TURN,
    SINGLE_TURN,
    expand,
    not_run_reason,
)


def test_groups_and_lists_expand_once_each() -> None:
    """Groups, commas and repetitions give every category once, in the order asked."""
    assert expand(["parallel,simple", "simple_python"]) == ("parallel", "simple_python")
    assert expand(["ast"]) == SINGLE_TURN
    assert len(expand(["ast"])) == 13
    assert set(expand(["all"])) > {*SINGLE_TURN, *MULTI_TURN, *EXECUTABLE, "rest"}
    assert all(expand([group]) for group in GROUPS)


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    """A misspelled category is a usage error that lists what there is."""
    with pytest.raises(UsageError, match="parallel_multiple"):
        expand(["paralell"])


def test_what_cannot_run_says_what_it_needs() -> None:
    """Single turns and executable rows always run; the others name their needs."""
    assert all(not_run_reason(category) is None for category in (*SINGLE_TURN, *EXECUTABLE))
    assert all(not_run_reason(category, simulators=True) is None for category in MULTI_TURN)
    for category in (*MULTI_TURN, "rest", "memory_kv", "web_search_base"):
        assert str(not_run_reason(category)).startswith("not run: needs ")
    assert "RAPID_API_KEY, EXCHANGERATE_API_KEY" in str(not_run_reason("rest"))


PAGE = {
    "type": "bfcl",
    "name": "my-bfcl-custom-config-1",
    "namespace": "my-organization",
    "params": {"limit_samples": 5},
    "tasks": {"task1": {"type": "simple", "dataset": {"format": "native", "files_url": "data/mine"}}},
}


def test_the_pages_job() -> None:
    """The published job file is read as it is."""
    job = read_job(PAGE)
    assert (job.name, job.namespace, job.params.limit_samples) == ("my-bfcl-custom-config-1", "my-organization", 5)
    assert job.tasks["task1"].model_dump() == {
        "type": "simple", "dataset": {"files_url": "data/mine", "format": "native"}, "params": {"limit_samples": None},
    }  # fmt: skip
    assert read_job({**PAGE, "tasks": {"t": {"type": "simple"}}}).tasks["t"].dataset is None


def test_all_problems_of_a_job_come_together() -> None:
    """Every mistake is named with its key, in one error."""
    bad = {
        "type": "mmlu",
        "params": {"limit_samples": 0},
        "tasks": {"a": {"type": "nope"}, "b": 5, "c": {"type": "simple", "dataset": {"format": "csv"}}},
    }
    with pytest.raises(ConfigError) as caught:
        read_job(bad)
    assert {problem.key for problem in caught.value.problems} == {
        "type", "params.limit_samples", "tasks.a.type", "tasks.b", "tasks.c.dataset.format",
        "tasks.c.dataset.files_url",
    }  # fmt: skip
    with pytest.raises(ConfigError):
        read_job({})
