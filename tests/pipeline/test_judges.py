"""What a stored run may choose of the code that judges it, and what not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.store import RunFolder

SAMPLE = Sample("a-1", Turn(({"role": "user", "content": "?"},)), {"category": "multi_turn_base"})


@pytest.mark.parametrize("stored", [False, True])
def test_a_stored_run_does_not_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: bool) -> None:
    """A folder that the user names for a run is imported from; one that the manifest of a stored run names is not."""
    package = tmp_path / "bfcl_eval" / "eval_checker" / "multi_turn_eval" / "func_source_code"
    package.mkdir(parents=True)
    (tmp_path / "bfcl_eval" / "__init__.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w').close()\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    ready_suite("bfcl", {"data": str(tmp_path)}, [SAMPLE], RunFolder(tmp_path / "run") if stored else None)
    assert (tmp_path / "imported").exists() is not stored
