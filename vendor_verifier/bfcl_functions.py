"""The functions that ``exec_*`` rows call: the user's ``nvidia_bfcl``, in a process of their own with a time limit.

The package is never imported: it would want every vendor's SDK. Of its one file of functions those are taken that only
calculate; what reads keys, opens connections or files, or evaluates text is left out, and its rows are not run.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from vendor_verifier.suites.bfcl.executable import FunctionCall, Returned

TIME_LIMIT_S = 5.0
INSTALLED_AT = Path("eval_checker", "executable_eval", "data", "executable_python_function.py")
_PACKAGE = "bfcl"
_ALLOWED_MODULES = frozenset({"math"})
_REFUSED = frozenset(
    "requests api_key os sys eval exec compile open input globals locals vars getattr setattr __import__ time "
    "subprocess socket urllib breakpoint".split()
)
_WORKER = """
import json, math, os, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
except (ImportError, OSError, ValueError):
    pass
names = {"math": math}
# What a function prints is nobody's; its result is all that is answered, and not without bound.
answers, sys.stdout = sys.stdout, open(os.devnull, "w")
exec(compile(json.loads(sys.stdin.readline()), "functions", "exec"), names)
for line in sys.stdin:
    name, positional, named = json.loads(line)
    try:
        answer = {"value": names[name](*positional, **named)}
        text = json.dumps(answer, default=repr)
        if len(text) > 1_000_000:
            text = json.dumps({"error": f"{name}: a result of {len(text)} characters"})
    except Exception as error:
        text = json.dumps({"error": f"{name}: {type(error).__name__}: {error}"[:300]})
    print(text, flush=True, file=answers)
"""


@dataclass(frozen=True, slots=True)
class InstalledFunctions:
    """Functions of one source text. ``known`` are those that run here, ``refused`` the others, with the reason.

    Every call has a process of its own, so that none can change or stop another, and of one GiB.
    """

    source: str = field(repr=False)
    known: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    time_limit_s: float = TIME_LIMIT_S

    def missing(self, name: str) -> str | None:
        """Why this function cannot be run here, or None when it can."""
        if name in self.known:
            return None
        return f"{name} needs a network, keys or an evaluation of text" if name in self.refused else f"no {name}"

    def call(self, call: FunctionCall) -> Returned:
        """Run one call; whatever goes wrong is its error."""
        reason = self.missing(call.name)
        if reason is not None:
            return Returned(error=reason)
        arguments = json.dumps([call.name, list(call.positional), dict(call.named)])
        return _run(self.source, call.name, arguments, self.time_limit_s)


@lru_cache(maxsize=4096)
def _run(source: str, name: str, arguments: str, time_limit_s: float) -> Returned:
    """One call in a process of its own. The functions only calculate, so what is known need not be run again."""
    try:
        done = subprocess.run(  # noqa: S603 our own interpreter, isolated, without the environment
            [sys.executable, "-I", "-c", _WORKER],
            input=f"{json.dumps(source)}\n{arguments}\n",
            capture_output=True,
            text=True,
            timeout=time_limit_s,
            env={},
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return Returned(error=f"{name}: not done within {time_limit_s:g} s")
    except ValueError:
        return Returned(error=f"{name}: gave no result that can be read")
    return Returned(answer.get("value"), answer.get("error"))


def find_functions(where: str) -> InstalledFunctions | None:
    """The functions of the package at ``where`` (a folder in, at or above it), else of the installed one, else None."""
    file = next((path for path in _candidates(where) if path.is_file()), None)
    if file is None:
        return None
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return None
    return pure_functions(tree)


def pure_functions(tree: ast.Module) -> InstalledFunctions:
    """The functions of a module that only calculate, and those that use one that does not are refused too."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    refused = {name for name, node in functions.items() if _is_refused(node)}
    while more := {name for name, node in functions.items() if name not in refused and _names(node) & refused}:
        refused |= more
    kept = [node for name, node in functions.items() if name not in refused]
    source = ast.unparse(ast.Module(body=list(kept), type_ignores=[]))
    return InstalledFunctions(source, frozenset(node.name for node in kept), frozenset(refused))


def _is_refused(node: ast.FunctionDef) -> bool:
    imports = (found for found in ast.walk(node) if isinstance(found, (ast.Import, ast.ImportFrom)))
    foreign = any(
        isinstance(found, ast.ImportFrom) or any(alias.name not in _ALLOWED_MODULES for alias in found.names)
        for found in imports
    )
    hidden = any(isinstance(found, ast.Attribute) and found.attr.startswith("__") for found in ast.walk(node))
    return foreign or hidden or bool(node.decorator_list) or bool(_free_names(node) & _REFUSED)


def _names(node: ast.AST) -> set[str]:
    return {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}


def _free_names(node: ast.FunctionDef) -> set[str]:
    """Names used that are no parameters: a parameter may well be called ``time``."""
    arguments = node.args
    own = {item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return _names(node) - own


def _candidates(where: str) -> Iterator[Path]:
    if where not in ("shipped", "installed"):
        for folder in (Path(where), *Path(where).resolve().parents):
            yield folder / INSTALLED_AT
            yield folder / _PACKAGE / INSTALLED_AT
    spec = importlib.util.find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(place) / INSTALLED_AT
