"""Headings and kinds of command-line options, shared by all commands."""

from __future__ import annotations

from cyclopts import Group, Parameter
from cyclopts.validators import Number

INPUT = Group("Samples and vendors", sort_key=1)
PACE = Group("Concurrency, retries and timeouts", sort_key=2)
LOAD = Group("Load", sort_key=3)
MODEL = Group("Model settings", sort_key=4)
OUTPUT = Group("Output", sort_key=5)
EVALUATIONS = Group("Evaluations", sort_key=6)


def many(help_text: str, group: Group, *names: str) -> Parameter:
    """A repeatable option."""
    return Parameter(
        name=names or None, group=group, help=help_text, negative=(), consume_multiple=False, show_default=False
    )


def flag(help_text: str, group: Group, *names: str) -> Parameter:
    """A switch without a ``--no-`` twin."""
    return Parameter(name=names or None, group=group, help=help_text, negative=(), show_default=False)


def option(help_text: str, group: Group, *names: str, check: Number | None = None) -> Parameter:
    """An option with a value."""
    return Parameter(name=names or None, group=group, help=help_text, validator=check)
