"""Where a Dask scheduler is: an address as it is said, or the file that a scheduler writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from vendor_verifier.errors import UsageError
from vendor_verifier.pipeline.dask_scheduler import scheduler_of


def test_an_address_is_taken_as_it_is() -> None:
    """No file of that name is looked for in vain."""
    assert scheduler_of("tls://scheduler:8786") == "tls://scheduler:8786"


def test_a_scheduler_s_file_has_its_address(tmp_path: Path) -> None:
    """Whatever the file is called."""
    for name in ("scheduler.json", "scheduler"):
        (tmp_path / name).write_text('{"type": "Scheduler", "address": "tcp://127.0.0.1:8786"}')
        assert scheduler_of(str(tmp_path / name)) == "tcp://127.0.0.1:8786"


@pytest.mark.parametrize("text", [None, "", "{}", "[]", '{"address": 5}', "\xff"])
def test_a_file_without_an_address_is_refused_by_name(tmp_path: Path, text: str | None) -> None:
    """One that is not there, no JSON, or no scheduler's."""
    file = tmp_path / "scheduler.json"
    if text is not None:
        file.write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=r"--dask-scheduler .*scheduler\.json: .*scheduler-file"):
        scheduler_of(str(file))
