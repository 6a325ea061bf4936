"""What users get wrong in config.yaml, .env, sample files and flags: which file, line and key is named, how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from adapters import command, problems, rows

ROWS = rows("mistakes.jsonl")


@pytest.mark.parametrize("part", range(8))
def test_the_place_of_every_mistake_is_named(part: int, tmp_path: Path) -> None:
    """All mistakes of a file at once, each by file, line and key; a flag by its name. The sentences may change."""
    wrong = []
    for number, row in enumerate(ROWS[part::8]):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, text in row["files"].items():
            (folder / name).write_text(text, encoding="utf-8")
            (folder / name).chmod(0o600)
        code, out, err = command(row["argv"], folder)
        missed = [place for place in row["found"] if not _is_named(place, err)]
        assert "CANARY" not in out + err, "a key of the file is repeated"
        if code != row["exit"] or missed or len(problems(err)) < sum(place[0] is not None for place in row["found"]):
            wrong.append(f"{json.dumps(row)}\n  exit {code}, not named {missed}\n  {err}")
    assert not wrong, "\n".join(wrong)


def _is_named(place: list[Any], err: str) -> bool:
    file, line, key = place
    if file is None:
        return key in err
    return any(
        (file, line) == (in_file, in_line) and (key is None or rest.startswith(f"{key}: "))
        for in_file, in_line, rest in problems(err)
    )


@pytest.mark.parametrize("text", ["a: [" + "1," * 20_001 + "]", "#" * 1_000_001, f"m: {'9' * 5000}"])
def test_a_config_that_takes_too_much_is_refused(text: str, tmp_path: Path) -> None:
    """More values, bytes or digits than any configuration has."""
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    code, _, err = command(["run", "--dry-run"], tmp_path)
    assert (code, [place[0] for place in problems(err)]) == (2, ["config.yaml"])
