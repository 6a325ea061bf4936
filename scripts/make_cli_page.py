"""Write docs/cli.md, every command with its options and examples, from the commands themselves.

python scripts/make_cli_page.py            write the page
python scripts/make_cli_page.py --check    exit 1 if the page on disk is not what would be written
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from vendor_verifier.cli.commands import COMMANDS, EXAMPLES, build_app
from vendor_verifier.config.run_config import RunConfig

TARGET = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
_PROGRAM = "agent-vendor-verifier"
_HEAD = """\
# Commands

Written by `scripts/make_cli_page.py`. Without a command, `run` is meant. `COMMAND --help` prints the same.
"""
_SETTINGS = """\
## Settings of a run

Each is a key of `run:` in config.yaml, an argument of `vendor_verifier.verify`, and most are a flag of `run`. A flag
goes before the file, and the file before the default.
"""


def page() -> str:
    """The whole page: a list of the commands, then a section for each."""
    text = build_app(COMMANDS).generate_docs(heading_level=1, flatten_commands=True)
    commands = re.search(r"\*\*Commands\*\*:\n\n((?:\*.*\n)+)", text)
    assert commands is not None
    # The program's own options are those of `run`.
    _own, *sections = re.split(rf"^# (?={_PROGRAM} )", text, flags=re.MULTILINE)
    return "\n".join([_HEAD, commands[1], *(_with_examples(section) for section in sections), settings()])


def settings() -> str:
    """A table of the keys of `run:` in config.yaml."""
    rows = (f"| `{name}` | {field.description} |\n" for name, field in RunConfig.model_fields.items())
    return f"{_SETTINGS}\n| key | meaning |\n|---|---|\n{''.join(rows)}"


def _with_examples(section: str) -> str:
    name = section.split(maxsplit=2)[1]
    examples = "".join(f"{_PROGRAM} {words}\n" for words in EXAMPLES[name])
    return f"## {section.strip()}\n\nExamples:\n\n```text\n{examples}```\n"


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    wanted = page()
    if check:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == wanted
        print("up to date" if same else f"{TARGET.name} is out of date: run scripts/make_cli_page.py")
        return 0 if same else 1
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
