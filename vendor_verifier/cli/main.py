"""The command line: arguments to a command to an exit code. Commands are loaded when they are called."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from vendor_verifier.cli.output import EXIT_INTERNAL, EXIT_USAGE, SIGNAL_BASE, guard_streams, say
from vendor_verifier.errors import VerifierError

if TYPE_CHECKING:
    from types import FrameType

    from cyclopts import CycloptsError

_SAMPLE_FILES = (".jsonl", ".jsonl.gz", ".json", ".parquet", ".csv")
_CONFIG_FILES = (".yaml", ".yml")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    # A command makes many objects and few cycles; the default threshold costs a tenth of a run.
    gc.set_threshold(150_000, 20, 50)
    # Our matrices are small; a second thread of OpenBLAS takes the core that a vendor's bytes wait for.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    out = guard_streams()
    ended_by = end_in_order()
    try:
        code = run_app(sys.argv[1:] if arguments is None else list(arguments))
    except Exception:  # noqa: BLE001 there is no caller above to report to
        # Left to Python this would exit with 1, which tells a script that a vendor missed a gate.
        traceback.print_exc()
        say("error: this is a bug in this program, not in your input or a vendor; recorded answers are kept", "bad")
        code = EXIT_INTERNAL
    if ended_by and code == SIGNAL_BASE + signal.SIGINT:
        code = SIGNAL_BASE + ended_by[0]
    if (lost := out.lost()) is not None:
        say(f"error: {lost}; recorded answers are kept", "bad")
        code = EXIT_INTERNAL
    sys.exit(code)


def end_in_order() -> Sequence[int]:
    """Make SIGTERM and SIGHUP end the program as Ctrl-C does, so that no process that we started outlives us.

    They go to whoever handles Ctrl-C at the moment, such as an event loop; an ignored one (``nohup``) stays ignored.
    Returns the list of the signals that came, which is filled as they come.
    """
    came: list[int] = []

    def leave(number: int, frame: FrameType | None) -> None:
        came.append(number)
        on_interrupt = signal.getsignal(signal.SIGINT)
        if not callable(on_interrupt):
            raise KeyboardInterrupt
        on_interrupt(number, frame)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, leave)
    return came


def run_app(arguments: Sequence[str]) -> int:
    """Run one command; what the user can fix is one clear message, never a traceback."""
    # Here, so that signals are handled before a hundred modules are loaded.
    from cyclopts import CycloptsError

    from vendor_verifier.cli.commands import COMMAND_NAMES, build_app

    try:
        first = next(iter(arguments), "-")
        if not first.startswith("-") and first not in COMMAND_NAMES:
            near = get_close_matches(first[:40].casefold(), COMMAND_NAMES, 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else f"the commands are {', '.join(COMMAND_NAMES)}"
            say(f"error: {_flag_for(first) or f'{first[:40]}: no such command; {hint}'}", "bad")
            return EXIT_USAGE
        result: Any = build_app([first])(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        say(f"error: {_in_our_words(error, arguments)}", "bad")
        return EXIT_USAGE
    except VerifierError as error:
        say(f"error: {error}", "bad")
        return error.exit_code
    except KeyboardInterrupt:
        return SIGNAL_BASE + signal.SIGINT
    return int(result or 0)


def _in_our_words(error: CycloptsError, arguments: Sequence[str]) -> str:
    """The message for arguments that cannot be parsed."""
    from cyclopts import CoercionError, MissingArgumentError, UnusedCliTokensError
    from pydantic import ValidationError

    from vendor_verifier.config.run_config import problems_in

    command = f" {arguments[0]}" if arguments and not arguments[0].startswith("-") else ""
    if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        word = error.unused_tokens[0]
        before = arguments[arguments.index(word) - 1] if word in arguments[1:] else ""
        if before.startswith("-"):
            return f"{before} takes no value; remove {word!r}"
        return _flag_for(word) or f"{word!r} is unexpected here; see `agent-vendor-verifier{command} --help`"
    if isinstance(error.__cause__, ValidationError):
        return "; ".join(map(str, problems_in(error.__cause__)))
    name = error.argument.name if error.argument else ""
    if isinstance(error, CoercionError) and error.target_type is bool:
        return f"{name} takes no value"
    if isinstance(error, MissingArgumentError):
        lacks = f"{name} needs a value" if name in arguments else f"{command.strip() or 'run'} needs {name}"
        return f"{lacks}; see `agent-vendor-verifier{command} --help`"
    error.verbose = False
    return str(error)


def _flag_for(word: str) -> str | None:
    """Where a file that was given alone belongs."""
    if word.endswith(_SAMPLE_FILES):
        return f"{word} is a file; give samples as `--test-file-path {word}`"
    if word.endswith(_CONFIG_FILES):
        return f"{word} is a file; give a configuration as `-c {word}`"
    return None


if __name__ == "__main__":
    main()
