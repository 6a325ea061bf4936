"""Generated files are what their scripts would write now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = [
    "make_config_schema.py",
    "make_cli_page.py",
    "make_failure_kinds.py",
    "make_metrics_tables.py",
    "make_data_page.py",
    "make_record_schema.py",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_file_on_disk_is_up_to_date(script: str) -> None:
    """--check finds nothing to do; otherwise its message names the script to run."""
    done = subprocess.run(
        [sys.executable, f"scripts/{script}", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
