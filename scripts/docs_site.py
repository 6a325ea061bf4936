"""Hooks of the docs site: write the reference page from the code, and turn links that leave docs/.

mkdocs calls them (`make docs`). ``python scripts/docs_site.py`` prints the reference page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vendor_verifier.cli.commands import COMMANDS, EXAMPLES, build_app
from vendor_verifier.config.run_config import RunConfig, help_of
from vendor_verifier.features.data.run_data import TABLES
from vendor_verifier.record_schema import record_schema
from vendor_verifier.records.failures import CHARGES, KINDS

ROOT = Path(__file__).resolve().parent.parent
_OUTSIDE = re.compile(r"\[([^\]\[]*)\]\(\.\./([^)#\s]+)(#[^)\s]*)?\)")
_PROGRAM = "agent-vendor-verifier"
_RETRIED = {"never": "no", "once": "once", "always": "yes"}
_PYTHON = """\
## Python

::: vendor_verifier.api
    options:
      heading_level: 3
      members_order: source

## Reports in Python

::: vendor_verifier.records.results
::: vendor_verifier.scoring.figures.ScoredRun

## Records in Python

::: vendor_verifier.records.record

## Vendor plugins

::: vendor_verifier.vendor
"""


def on_pre_build(**_: Any) -> None:
    """Write docs/reference.md, which git ignores."""
    (ROOT / "docs" / "reference.md").write_text(reference(), encoding="utf-8")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """The page with its links out of docs/ turned to the repository, or to plain text while it has no address.

    Raises:
        FileNotFoundError: a link leads to nothing.
    """
    repository = str(config["repo_url"] or "").rstrip("/")

    def replaced(found: re.Match[str]) -> str:
        words, path, anchor = found[1], found[2], found[3] or ""
        if not (ROOT / path).exists():
            raise FileNotFoundError(f"a page links to {path}, which is not in the repository")
        return f"[{words}]({repository}/blob/main/{path}{anchor})" if repository else f"{words} (`{path}`)"

    return _OUTSIDE.sub(replaced, markdown)


def reference() -> str:
    """The reference page: commands, settings, failure kinds, tables, records and the Python interface."""
    return "\n".join(
        [
            "# Reference",
            *_commands(),
            "## Settings of a run",
            "Each is a key of `run:` in config.yaml and an argument of `verify()`; most are a flag of `run`.",
            "| key | meaning |\n|---|---|",
            *(f"| `{name}` | {help_of(field)} |" for name, field in RunConfig.model_fields.items()),
            "\n## Kinds of failure\n",
            "| kind | cause | what to do | retried | charged to |\n|---|---|---|---|---|",
            *(
                f"| `{kind.name}` | {kind.cause} | {kind.remedy} | {_RETRIED[kind.retried]} | {CHARGES[kind.charge]} |"
                for kind in KINDS.values()
            ),
            *_tables(),
            "\n## Records",
            f"A line of records.jsonl:\n\n```json\n{json.dumps(record_schema(), indent=2, ensure_ascii=False)}\n```\n",
            _PYTHON,
        ]
    )


def _commands() -> Iterator[str]:
    """A section for each command, with its options and examples."""
    text = build_app(COMMANDS).generate_docs(heading_level=1, flatten_commands=True)
    # The program's own options are those of `run`.
    _own, *sections = re.split(rf"^# (?={_PROGRAM} )", text, flags=re.MULTILINE)
    for section in sections:
        name = section.split(maxsplit=2)[1]
        examples = "".join(f"{_PROGRAM} {words}\n" for words in EXAMPLES[name])
        yield f"## {section.strip()}\n\nExamples:\n\n```text\n{examples}```\n"


def _tables() -> Iterator[str]:
    """A section for each table of `load_run`, with a line for each column."""
    for name, kind in TABLES.items():
        yield f"\n## Table `{name}`\n\nA row is {kind.row}.\n\n| column | unit | meaning |\n|---|---|---|"
        for column in kind.columns:
            yield f"| `{column.name}` | {column.unit or ''} | {column.meaning} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
