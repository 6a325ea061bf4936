"""Write docs/cli.md, every command's help as a page, from the commands themselves.

python scripts/make_cli_page.py            write the page
python scripts/make_cli_page.py --check    exit 1 if the page on disk is not what would be written
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
from pathlib import Path

from vendor_verifier.cli.main import COMMAND_NAMES, run_app

TARGET = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
_HEAD = """\
# Commands

Generated from `--help` by `scripts/make_cli_page.py`; a test keeps it true. Without a command, `run` is meant.
"""
_WIDTH = "100"


def page() -> str:
    """The whole page: the overview, then one section a command in the order of the overview."""
    sections = [_section("agent-vendor-verifier", [])]
    sections += [_section(f"agent-vendor-verifier {name}", [name]) for name in sorted(COMMAND_NAMES)]
    return "\n".join([_HEAD, *sections])


def _section(title: str, words: list[str]) -> str:
    # Lines must not depend on the terminal that the script runs in.
    os.environ["COLUMNS"] = _WIDTH
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run_app([*words, "--help"])
    if code != 0:
        raise SystemExit(f"{title} --help failed with {code}")
    text = re.sub(r"[ \t]+$", "", out.getvalue(), flags=re.MULTILINE).strip()
    return f"## {title}\n\n```text\n{text}\n```\n"


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
    sys.exit(main())
