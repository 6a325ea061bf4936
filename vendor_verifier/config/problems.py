"""Collects everything wrong or doubtful in one config file, to be reported at once; it judges nothing itself."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from vendor_verifier.config.env_file import abbreviated, holds_secret, shown
from vendor_verifier.config.yaml_tree import Flaw, Node, Table, line_of
from vendor_verifier.config.yaml_tree import Path as KeyPath
from vendor_verifier.errors import ConfigError, Problem


class Findings:
    """Problems and warnings of one file; what the YAML reader refused is not judged again."""

    def __init__(self, file: Path, root: Node | None = None) -> None:
        self.file = file
        self.root: Node = root if root is not None else Table(1, {}, {})
        self.warnings: list[str] = []
        self._problems: dict[Problem, None] = {}
        self._elsewhere: list[Problem] = []
        self._flawed: set[KeyPath] = set()

    def problem(self, path: KeyPath, message: str, *, line: int | None = None) -> None:
        """Add a problem that must be mended, at the key ``path``."""
        if path in self._flawed:
            return
        at = line if line is not None else line_of(self.root, path)
        self._problems.setdefault(Problem(message, self.file, at, key_text(path) or None))

    def flaw(self, flaw: Flaw) -> None:
        """Add a part of the file that the YAML reader refused."""
        show = abbreviated if holds_secret(flaw.path) else shown
        subject = f"read {show(flaw.subject)}: " if flaw.subject else ""
        self._problems.setdefault(Problem(subject + flaw.message, self.file, flaw.line, key_text(flaw.path) or None))
        if flaw.subject:
            self._flawed.add(flaw.path)

    def add(self, problems: Iterable[Problem]) -> None:
        """Add problems that others found: in this file, in another one or on the command line."""
        for problem in problems:
            if problem.file == self.file:
                self._problems.setdefault(problem)
            else:
                self._elsewhere.append(problem)

    def warn(self, path: KeyPath, message: str) -> None:
        """Add a warning about something that is allowed but doubtful."""
        self.warnings.append(str(Problem(message, self.file, line_of(self.root, path), key_text(path) or None)))

    def stop_on_problems(self) -> None:
        """Raise ConfigError with every problem, in the order of the file, if there is any."""
        problems = sorted(self._problems, key=lambda problem: problem.line or 0) + self._elsewhere
        if problems:
            raise ConfigError(problems)

    def line(self, path: KeyPath) -> int:
        """The line on which ``path`` stands."""
        return line_of(self.root, path)

    def has_problems(self) -> bool:
        """Whether anything was refused so far."""
        return bool(self._problems or self._elsewhere)


def key_text(path: KeyPath) -> str:
    """A path as a message names it: ``minimax-m2.5.vendors[0].url``; a key of the file that looks secret is cut."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f"{'.' if text else ''}{shown(step).strip('`')}"
    return text


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean `x`?)`` for the nearest known word, else the empty text."""
    names = list(known)
    folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(word[:100].casefold(), folded, n=1, cutoff=0.6)
    return f" (did you mean {shown(folded[close[0]])}?)" if close else ""


def listed(names: Iterable[str]) -> str:
    """Names as a message lists them."""
    return ", ".join(shown(name) for name in names)
