"""Scripts of the repository as modules, for tests of what they measure."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

_SCRIPTS = Path(__file__).parents[2] / "scripts"


def load(name: str) -> ModuleType:
    """The script of that name as a module."""
    spec = importlib.util.spec_from_file_location(name, _SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # By this name its processes find what they are given.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
