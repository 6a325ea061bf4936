"""Runs command lines in a folder and keeps everything that somebody could see of them, so that two can be compared."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vendor_verifier.cli.main import run_app

# Moments, run ids and measured figures differ from run to run whatever is typed.
_NOISE = re.compile(r"\d{8}T\d{6}Z(?:-[0-9a-f]{6})?|/tmp/\S*?/out\d+|\d+\.\d+")
_ENTRY = """\
simulated-model:
  vendors:
    - name: simulated
      label: a
      model_id: simulated-model
      url: sim://faithful
      validator: openai
"""
CONFIG = _ENTRY + "      is_baseline: true\n"


@dataclass(frozen=True)
class Seen:
    """What came of a command line: exit code, what was printed without noise, the files of its output folder, and
    what was printed as it was."""

    code: int
    out: str
    err: str
    files: dict[str, str] = field(repr=False)
    raw: str = ""

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest of the run; empty where none was made."""
        found: dict[str, Any] = json.loads(self.files.get("manifest.json", "{}"))
        return found

    @property
    def printed(self) -> tuple[int, str, str]:
        return self.code, self.out, self.err


@dataclass
class Bench:
    """A folder with a config of one simulated vendor; command lines are run once, however often they are asked for."""

    folder: Path
    known: dict[tuple[str, ...], Seen] = field(default_factory=dict)

    def write(self, name: str, content: str | dict[str, Any] | Sequence[dict[str, Any]]) -> str:
        """Write a file of text, a JSON object or JSON lines; its path."""
        if isinstance(content, dict):
            content = json.dumps(content)
        elif not isinstance(content, str):
            content = "".join(json.dumps(row) + "\n" for row in content)
        (self.folder / name).write_text(content, encoding="utf-8")
        return str(self.folder / name)

    def see(self, *words: str) -> Seen:
        """What comes of the command line; ``OUT`` is a folder of its own."""
        if words not in self.known:
            target = self.folder / f"out{len(self.known)}"
            out, err = io.StringIO(), io.StringIO()
            with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = run_app([self._filled(word, target) for word in words])
            files = {
                str(path.relative_to(target)): path.read_text(encoding="utf-8", errors="replace")
                for path in sorted(target.rglob("*"))
                if path.is_file()
            }
            self.known[words] = Seen(code, _quiet(out.getvalue()), _quiet(err.getvalue()), files, out.getvalue())
        return self.known[words]

    def _filled(self, word: str, target: Path) -> str:
        """A word of a table with this folder's own names in it."""
        run = {"SAMPLE": "begun", "LONG": "long"}.get(word)
        if run is not None:
            first = self.folder / run / "samples" / "trigger.jsonl"
            return str(json.loads(first.read_text(encoding="utf-8").splitlines()[0])["id"])
        return word.replace("OUT", str(target))


def told(path: str) -> Callable[[Seen], Any]:
    """A look at one place of the manifest, such as ``settings.limits.idle_s``."""

    def look(seen: Seen) -> Any:
        assert seen.manifest, seen.err
        found: Any = seen.manifest
        for step in path.split("."):
            found = found[int(step)] if isinstance(found, list) else found.get(step)
        return found

    return look


def _quiet(text: str) -> str:
    return _NOISE.sub("#", text).replace(os.sep + "private", "")
