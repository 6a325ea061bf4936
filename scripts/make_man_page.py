"""Write man/agent-vendor-verifier.1, every command with its options and examples, from the commands themselves.

python scripts/make_man_page.py            write the page
python scripts/make_man_page.py --check    exit 1 if the page on disk is not what would be written
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from docutils.core import publish_string

from vendor_verifier import __version__
from vendor_verifier.cli.main import COMMANDS, EXAMPLES, build_app
from vendor_verifier.console.output import TABLE

_PROGRAM = "agent-vendor-verifier"
TARGET = Path(__file__).resolve().parent.parent / "man" / f"{_PROGRAM}.1"
_HEAD = f"""\
{_PROGRAM}
{"#" * len(_PROGRAM)}

verify that the vendors of an LLM serve the model they sell
***********************************************************

:Manual section: 1
:Version: {__version__}

SYNOPSIS
========

{_PROGRAM} [COMMAND] [OPTIONS]

DESCRIPTION
===========

Without a command, ``run`` is meant. ``--help`` shows the options that most need, ``--help-all`` all of them.

"""
# The label and the heading that cyclopts writes above each command.
_HEADING = re.compile(rf"^\.\. _cyclopts-.*\n\n(?:=+\n)?{_PROGRAM} (\w+)\n=+\n", re.MULTILINE)


def page() -> str:
    """The whole page as roff."""
    text = build_app(help_all=True).generate_docs("rst", flatten_commands=True)
    # The program's own options, before the first heading, are those of `run`.
    _own, *parts = _HEADING.split(text)
    commands = "".join(f"``{name}``\n    {words}\n\n" for name, (_, words) in COMMANDS.items())
    sections = "".join(_section(name, body) for name, body in zip(parts[::2], parts[1::2], strict=True))
    document = f"{_HEAD}{commands}{sections}{_titled('EXIT STATUS')}{TABLE}\n"
    settings = {"output_encoding": "unicode", "report_level": 2, "halt_level": 2}
    return str(publish_string(document, writer="manpage", settings_overrides=settings))


def _section(name: str, body: str) -> str:
    examples = "".join(f"    {_PROGRAM} {words}\n" for words in EXAMPLES[name])
    return f"{_titled(name.upper())}{body.strip()}\n\nExamples::\n\n{examples}\n"


def _titled(words: str) -> str:
    return f"{words}\n{'=' * len(words)}\n\n"


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    wanted = page()
    if check:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == wanted
        print("up to date" if same else f"{TARGET.name} is out of date: run scripts/make_man_page.py")
        return 0 if same else 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
