"""Measuring a command with all it starts."""

from __future__ import annotations

import sys
from pathlib import Path

import process_tree
import pytest

BURN = "import time\nwhile time.process_time() < 0.3: pass"


def test_descendants_are_the_whole_tree_and_nothing_else() -> None:
    """Children of children are in, a stranger is not."""
    assert process_tree.descendants(10, {10: 1, 11: 10, 12: 11, 20: 1}) == {10, 11, 12}


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
def test_work_of_a_child_left_behind_is_counted(tmp_path: Path) -> None:
    """A program that starts another in a session of its own and ends at once does not get its work for nothing."""
    start = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BURN!r}], start_new_session=True)"
    used = process_tree.measured([sys.executable, "-c", start], tmp_path, 30, {})
    assert used.cpu_s > 0.2  # the kernel may book a little less than the process thinks it used


def test_a_command_that_fails_tells_what_it_said(tmp_path: Path) -> None:
    """The end of its output is in the message."""
    with pytest.raises(process_tree.Failed, match=r"ended with 3.*no such vendor"):
        process_tree.measured([sys.executable, "-c", "print('no such vendor'); exit(3)"], tmp_path, 30, {})


def test_a_command_that_hangs_is_ended(tmp_path: Path) -> None:
    """After the longest time allowed it is killed and counts as failed."""
    with pytest.raises(process_tree.Failed, match="ended with -9"):
        process_tree.measured([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, 0.3, {})
