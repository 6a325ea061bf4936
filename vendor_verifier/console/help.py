"""Help as plain text: the groups of options that few need are counted, unless ``--help-all`` asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclopts.help import PlainFormatter

from vendor_verifier.pipeline.options import RARE

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

HELP_ALL = "--help-all"
_COUNTED = frozenset(group.name for group in RARE)


class GroupedHelp(PlainFormatter):
    """Prints every group, or of the rare ones a line each, unless it is to print ``everything``."""

    def __init__(self, *, everything: bool) -> None:
        super().__init__()
        self._everything = everything

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print one group; called by cyclopts."""
        if self._everything or panel.title not in _COUNTED:
            super().__call__(console, options, panel)
        elif panel.entries:
            self._print_plain(console, f"{panel.title}: {len(panel.entries)} more, see {HELP_ALL}")
