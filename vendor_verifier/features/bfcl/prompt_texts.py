"""The wording of the prompt of the user's own ``bfcl_eval``, read from its file; the package is not imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from vendor_verifier.features.bfcl.source import package_folders
from vendor_verifier.suites.bfcl.prompts import DEFAULT_FORMAT, OWN, PromptTexts, system_prompt

_PACKAGE = "bfcl_eval"
_FILE = Path("constants", "default_prompts.py")
_NAMES = ("OUTPUT_FORMAT_MAPPING", "PARAM_TYPE_MAPPING", "PROMPT_STYLE_TEMPLATES", "PROMPT_TEMPLATE_MAPPING")


def prompt_texts(where: str) -> PromptTexts:
    """The wording of the package at ``where`` (in, at or above it), else of the installed one, else our own."""
    files = (folder / _FILE for folder in package_folders(_PACKAGE, where))
    return next((found for file in files if (found := _read(file)) is not None), OWN)


def _read(file: Path) -> PromptTexts | None:
    """The wording in a file, or None where it holds none that can be used."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return None
    known: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = _literal(node.value, known)
    parts = [known.get(name) for name in _NAMES]
    if not all(isinstance(part, dict) for part in parts):
        return None
    texts = PromptTexts(_origin(file), *(part for part in parts if isinstance(part, dict)))
    try:
        system_prompt([], DEFAULT_FORMAT, texts)
    except (KeyError, IndexError, ValueError, AttributeError, TypeError):
        # Another version's texts, with other parts than these.
        return None
    return texts


def _literal(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """A literal, in which names stand for what was assigned before; None for anything else."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Dict):
        keys = (_literal(key, known) if key is not None else None for key in node.keys)
        return dict(zip(keys, (_literal(value, known) for value in node.values), strict=True))
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def _origin(file: Path) -> str:
    """``bfcl_eval`` with its version, where that can be told."""
    return " ".join([_PACKAGE, *_version(file.parent.parent)])


def _version(package: Path) -> Iterator[str]:
    for found in metadata.distributions(path=[str(package.parent)]):
        if found.metadata["Name"].replace("-", "_").lower() == _PACKAGE:
            yield found.version
            return
