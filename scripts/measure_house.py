"""Prints how the package is built: files, lines, the longest file and function, lonely modules, circles, layers.

A lonely module is imported by one other module only, which lies in the same folder: the two might be one. A circle is a
set of modules that import each other, imports inside functions and for type checking included. ``--check`` exits with 1
where a limit of the house is exceeded. It reads source and imports, and changes nothing.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "vendor_verifier"
LONGEST_FILE = 400
LONGEST_FUNCTION = 60


@dataclass(frozen=True, slots=True)
class Function:
    """A function with its file and its length in lines, decorators not counted."""

    lines: int
    name: str


def sources() -> dict[str, str]:
    """The text of every Python file of the package by its path from the root."""
    files = sorted((ROOT / PACKAGE).rglob("*.py"))
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def functions(path: str, text: str) -> Iterator[Function]:
    """All functions and methods of one file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield Function(node.end_lineno - node.lineno + 1, f"{path}:{node.name}")


def importers() -> dict[str, set[str]]:
    """The modules that import each module."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    return {module: set(graph.find_modules_that_directly_import(module)) for module in graph.modules}


def lonely(imported_by: Mapping[str, set[str]]) -> list[str]:
    """Modules whose only importer is a neighbour in the same folder."""
    found = []
    for module, others in imported_by.items():
        folder = module.rpartition(".")[0]
        if len(others) == 1 and next(iter(others)).rpartition(".")[0] == folder:
            found.append(module)
    return sorted(found)


def circles(imported_by: Mapping[str, set[str]]) -> list[list[str]]:
    """Sets of modules that reach each other by imports (strongly connected components, after Kosaraju)."""
    imports: dict[str, set[str]] = {module: set() for module in imported_by}
    for module, others in imported_by.items():
        for other in others:
            imports[other].add(module)
    order: list[str] = []
    seen: set[str] = set()
    for module in imports:
        order += _reached(module, imports, seen)
    seen = set()
    groups = [_reached(module, imported_by, seen) for module in reversed(order)]
    return [sorted(group) for group in groups if len(group) > 1]


def _reached(start: str, edges: Mapping[str, set[str]], seen: set[str]) -> list[str]:
    """What ``start`` reaches and nobody reached before, in the order in which it was finished."""
    if start in seen:
        return []
    seen.add(start)
    stack, done = [(start, iter(sorted(edges[start])))], []
    while stack:
        module, rest = stack[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            done.append(module)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(sorted(edges[following]))))
    return done


def layered() -> set[str]:
    """Every module that a layer of an import contract names."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = [layer for contract in contracts if contract["type"] == "layers" for layer in contract["layers"]]
    names = {name.strip(" ()") for layer in layers for name in layer.replace(":", "|").split("|")}
    return {name if name.startswith(PACKAGE) else f"{PACKAGE}.{name}" for name in names}


def unlayered(modules: Mapping[str, set[str]]) -> list[str]:
    """Top-level modules that stand in no layer."""
    tops = {module for module in modules if module.count(".") == 1}
    named = layered()
    return sorted(top for top in tops if not any(name == top or name.startswith(f"{top}.") for name in named))


def main() -> int:
    """Print the table; 1 with ``--check`` where a limit is exceeded."""
    texts = sources()
    sizes = sorted(((text.count("\n"), path) for path, text in texts.items()), reverse=True)
    longest = max((each for path, text in texts.items() for each in functions(path, text)), key=lambda each: each.lines)
    imported_by = importers()
    alone, rings, outside = lonely(imported_by), circles(imported_by), unlayered(imported_by)
    print(f"files                         {len(texts)}")
    print(f"lines                         {sum(size for size, _ in sizes)}")
    print(f"longest file                  {sizes[0][0]}  {sizes[0][1]}")
    print(f"longest function              {longest.lines}  {longest.name}")
    print(f"only importer is a neighbour  {len(alone)}")
    print(f"import circles                {len(rings)}")
    print(f"top-level modules, no layer   {len(outside)}")
    if "--names" in sys.argv:
        print(*(f"  neighbour only: {module}" for module in alone), sep="\n")
    for ring in rings:
        print("  circle:", ", ".join(ring))
    for module in outside:
        print("  in no layer:", module)
    wrong = sizes[0][0] > LONGEST_FILE or longest.lines > LONGEST_FUNCTION or rings or outside
    return 1 if wrong and "--check" in sys.argv else 0


if __name__ == "__main__":
    raise SystemExit(main())
