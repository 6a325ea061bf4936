"""One table says what a kind of failure is; a kind that nobody has heard of needs one row to be treated everywhere."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from vendor_verifier.records.failures import KINDS, kind_of_status
from vendor_verifier.records.record import Failure

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "vendor_verifier"
TABLE = "vendor_verifier/records/failures.py"
ROW = """    Kind(
        "tea_break", "headers", "The vendor is at tea.", "Wait until five.",
        retried="once", charge="rate_limit", statuses=(418,), pauses=True, declines=True,
    ),
)  # fmt: skip
"""
# Runs in a copy of the package: everything here is told of the new kind by its row alone.
TREATED = """
from vendor_verifier.run.retry import should_retry, slows_account, stops_vendor
from vendor_verifier.records.record import Attempt, Failure
from vendor_verifier.wire.errors import http_failure
from datetime import UTC, datetime

failure = http_failure(418, {}, b"gone for tea", datetime.now(UTC))
assert (failure.kind, failure.phase) == ("tea_break", "headers"), failure
assert should_retry(Attempt(1, failure=failure)) and not should_retry(Attempt(2, failure=failure))
assert slows_account(failure) and not stops_vendor(failure)
inside = Failure.of("api_error_in_200", "gone for tea", 418)
assert should_retry(Attempt(1, failure=inside)) and slows_account(inside)
assert failure.rules.charge == "rate_limit"
"""


def test_a_new_kind_is_one_row(tmp_path: Path) -> None:
    """In a copy of the package, one row tells retries, charges and docs of an invented kind."""
    for folder in ("vendor_verifier", "scripts"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    table = tmp_path / TABLE
    table.write_text(table.read_text(encoding="utf-8").replace(")  # fmt: skip\n", ROW, 1), encoding="utf-8")
    for program in (["-c", TREATED], ["scripts/docs_site.py"]):
        done = subprocess.run(
            [sys.executable, *program], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert "| `tea_break` | The vendor is at tea. | Wait until five. | once | the rate limit |" in done.stdout


def test_no_other_kind_can_be_made_or_read() -> None:
    """A misspelt kind is refused where a failure is made, and in a file of records."""
    with pytest.raises(ValueError, match="no kind of failure"):
        Failure("timout", "stream", "words")
    with pytest.raises(msgspec.ValidationError, match="no kind of failure"):
        msgspec.json.decode(b'{"kind": "timout", "phase": "stream", "message": ""}', type=Failure)


def test_every_kind_made_in_the_package_is_in_the_table() -> None:
    """A kind given as a literal is checked here, not by the first vendor that brings it about."""
    made = {
        call.args[0].value
        for path in PACKAGE.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Constant)
        if ast.unparse(call.func) in ("Failure", "Failure.of", "cls.of")
    }
    assert len(made) > 10
    assert made <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_its_cause_and_its_remedy(kind: str) -> None:
    """Each is a sentence, in the words of who reads it."""
    for words in (KINDS[kind].cause, KINDS[kind].remedy):
        assert words[0].isupper() or words[0].isdigit()
        assert words.endswith(".")


def test_no_status_means_two_kinds() -> None:
    """A status that stands in two rows would be what the later one says."""
    stated = [status for kind in KINDS.values() for status in kind.statuses]
    assert len(stated) == len(set(stated))
    assert {kind_of_status(status) for status in (302, 405, 504)} == {"redirect", "http_4xx", "http_5xx"}
