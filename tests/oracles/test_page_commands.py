"""Every command and configuration of the product's pages, typed with simulated vendors or as a dry run.

Where a page shows another program's command, the words behind it are ours. A configuration of that program is refused
with what to write instead.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from adapters import HERE, command, rows

ROWS = rows("page_commands.jsonl")
SPEC = Path(__file__).parents[2].parent / "shared" / "spec"


@pytest.mark.parametrize("page", sorted({row["page"] for row in ROWS}))
def test_commands_of_a_page(page: str, tmp_path: Path) -> None:
    """Each ends with its exit code."""
    wrong = []
    for number, row in enumerate(row for row in ROWS if row["page"] == page):
        folder = tmp_path / str(number)
        for name, text in row["files"].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
            (folder / name).chmod(0o600)
        code, _, err = command(row["argv"], folder)
        if code != row["exit"]:
            wrong.append(f"{row['argv']}: exit {code}, not {row['exit']}\n{err}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", ["tool_correctness"])
def test_python_of_a_page(page: str) -> None:
    """The block of the page as it is printed, with our package's name; the results show their scores."""
    names: dict[str, object] = {}
    exec((HERE / f"{page}_block.txt").read_text(encoding="utf-8"), names)
    assert "1.0" in repr(names["results"])


@pytest.mark.skipif(not SPEC.is_dir(), reason="the pages are not here: ../shared/spec")
def test_every_filter_of_the_pages_is_in_the_table() -> None:
    """No command line of a page is missing."""
    typed = {" ".join(row["argv"]) for row in ROWS}
    for page in ("toolbench", "mcptoolbench"):
        text = (SPEC / f"{page}.txt").read_text(encoding="utf-8").replace("\\\n", " ")
        lines = re.findall(r"mcpbr (run .*--benchmark .*)", text.replace('"', ""))
        missing = [line for line in lines if not any(row.startswith(" ".join(line.split())) for row in typed)]
        assert lines
        assert missing == []
