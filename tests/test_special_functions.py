"""The functions of scipy.special are the package's own, whether or not the package itself is loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_PROGRAM = """
import json, sys

before = {before!r}
if before == "hidden":
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "scipy.special._ufuncs" and "scipy.special._sf_error" not in sys.modules:
                raise ImportError(name)
    sys.meta_path.insert(0, Finder())
if before == "loaded":
    import scipy.special
from vendor_verifier import special_functions as ours
alone = "scipy.special" not in sys.modules
import scipy, scipy.special as whole
names = [name for name in vars(ours) if hasattr(whole, name) and callable(getattr(whole, name))]
same = [name for name in names if getattr(ours, name) is getattr(whole, name)]
print(json.dumps([alone, len(names), len(same), float(whole.logsumexp([0.0])), scipy.special is whole]))
"""


@pytest.mark.parametrize(("before", "alone"), [("", True), ("loaded", False), ("hidden", False)])
def test_they_are_the_same_functions_and_the_package_stays_whole(before: str, alone: bool) -> None:
    """Also where a release of scipy has no such module, and where somebody loaded the package before."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(before=before)],
        capture_output=True, text=True, cwd=ROOT, env=dict(os.environ), check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == [alone, 11, 11, 0.0, True]
