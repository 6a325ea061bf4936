"""The command line: arguments to pipeline to exit code. The modules of commands are loaded when they are called."""

from __future__ import annotations

import difflib
import gc
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vendor_verifier import __version__
from vendor_verifier.cli import output
from vendor_verifier.cli.output import never_raising, say
from vendor_verifier.errors import UsageError, VerifierError

if TYPE_CHECKING:
    from types import FrameType

    from cyclopts import App


# By command, "" where none is named; what follows the name of the program.
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "": (
        "demo",
        "--test-file-path samples.jsonl --vendor-concurrency 5",
        "--model kimi-k2.5 -n 100 -o runs/kimi",
    ),
    "run": (
        "run --test-file-path own.jsonl --vendor-concurrency 5",
        "run --request-rate 20 --duration 60 --slo 'tps >= 30'",
        "run --model kimi-k2.5 --repeat 5 --dry-run",
    ),
    "demo": ("demo", "demo --suite mcptoolbench -n 20", "demo --serve"),
    "init": ("init --model kimi-k2.5", "init --list", "init --from config.yaml --dry-run"),
    "doctor": ("doctor", "doctor --model kimi-k2.5 --vendor novita"),
    "score": ("score runs/kimi --undecided exclude", "score runs/kimi --slo 'ttft_ms <= 800'"),
    "report": (
        "report --open",
        "report runs/kimi --format html,junit -o out",
        "report runs/kimi --format xlsx",
        "report runs/kimi --table calls -o calls.csv",
    ),
    "import": ("import --baseline a=a.jsonl b=b.jsonl --model k2 -o out",),
    "compare": ("compare runs/monday runs/tuesday",),
    "check": ("check --gate 'f1 >= 0.9'",),
    "history": ("history --vendor novita", "history --vendor novita --metric ttft"),
    "explain": ("explain runs/kimi --vendor novita",),
    "view": ("view", "view runs/monday runs/tuesday --print"),
    "capacity": (
        "capacity --vendor novita --sweep 1,4,16,64 --max-cost 2",
        "capacity --by rate --sweep 1,5,20 --at-least 5",
    ),
    "simulate": ("simulate --port 8600 --speed 4", "simulate --test-file-path own.jsonl"),
}


_HELP = "Verify that the vendors of an LLM serve the model they sell. Default: run."

COMMANDS = {
    "run": ("vendor_verifier.cli.run:run_command", "Test every vendor, score the answers, rank (the default)."),
    "demo": (
        "vendor_verifier.cli.run:demo_command",
        "Try it on built-in simulated vendors; no key, no network.",
    ),
    "init": ("vendor_verifier.cli.init:init_command", "Write config.yaml, .env and .gitignore to begin with."),
    "doctor": (
        "vendor_verifier.features.doctor.command:doctor_command",
        "Check each vendor with two small requests.",
    ),
    "score": ("vendor_verifier.cli.score:score_command", "Score a stored run again."),
    "report": ("vendor_verifier.cli.report:report_command", "Write or open the report of a stored run."),
    "import": ("vendor_verifier.cli.import_results:import_command", "Turn other people's result files into a run."),
    "compare": (
        "vendor_verifier.features.history.commands:compare_command",
        "Compare two stored runs.",
    ),
    "check": (
        "vendor_verifier.features.history.commands:check_command",
        "Run, gates, regression and report, for a scheduler.",
    ),
    "history": (
        "vendor_verifier.features.history.commands:history_command",
        "List the stored runs, or plot a metric over them.",
    ),
    "explain": (
        "vendor_verifier.features.explain.explain:explain_command",
        "Show the evidence behind a vendor's figures.",
    ),
    "view": (
        "vendor_verifier.features.explain.view_command:view_command",
        "Browse all samples and answers.",
    ),
    "capacity": (
        "vendor_verifier.features.capacity.command:capacity_command",
        "Find the highest load a vendor sustains, tool calls included.",
    ),
    "simulate": (
        "vendor_verifier.features.simulate.command:simulate_command",
        "Serve the simulated vendors on loopback.",
    ),
}


COMMAND_NAMES = tuple(COMMANDS)


def build_app() -> App:
    """The commands. Their modules are imported only when they are asked for, so that help is quick."""
    # Not at the top: they load a hundred modules, for which the collector shall be quiet already.
    from cyclopts import App

    from vendor_verifier.cli.run import run_command

    app = App(
        name="agent-vendor-verifier",
        help=_HELP,
        help_epilogue=_epilogue(""),
        version=__version__,
        help_format="plaintext",
        help_formatter="plain",
        result_action="return_value",
        # Which signal it was decides the exit code.
        suppress_keyboard_interrupt=False,
    )
    app.default(run_command)
    for name, (target, words) in COMMANDS.items():
        app.command(target, name=name, help=words, help_epilogue=_epilogue(name))
    return app


def _epilogue(command: str) -> str:
    examples = "".join(f"\n  agent-vendor-verifier {words}" for words in EXAMPLES.get(command, ()))
    return f"{output.TABLE}\n" + (f"\nExamples:{examples}\n" if examples else "")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    # A command makes many objects and few cycles: looking through the young ones every 700 costs a tenth of a run, and
    # once for the 80,000 that loading leaves behind a thirtieth of one with a single sample.
    gc.set_threshold(150_000, 20, 50)
    # The matrices of our statistics are small: a second thread of theirs spins for longer than it reckons, and takes
    # the core that a vendor's bytes wait for.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    streams = never_raising()
    ended_by = end_in_order()
    try:
        code = run_app(sys.argv[1:] if arguments is None else list(arguments))
    except Exception:  # noqa: BLE001 there is no caller above to report to
        # Left to Python this would exit with 1, which tells a script that a vendor missed a threshold.
        traceback.print_exc()
        say("error: this is a defect of this program, not of your input or a vendor; what was recorded is kept", "bad")
        code = output.EXIT_INTERNAL
    if ended_by and code == output.SIGNAL_BASE + signal.SIGINT:
        code = output.SIGNAL_BASE + ended_by[0]
    if (lost := streams.lost()) is not None:
        say(f"error: {lost}; what was recorded is kept", "bad")
        code = output.EXIT_INTERNAL
    # The memory goes back as a whole: looking once more for cycles in it would cost more than a small command does.
    gc.freeze()
    sys.exit(code)


def end_in_order() -> Sequence[int]:
    """Let SIGTERM and SIGHUP unwind as Ctrl-C does, so that no process that we started outlives us.

    They are handed to whoever handles Ctrl-C at the moment: an event loop then ends its task. An exception raised in
    the midst of a loop instead can leave it turning for ever. What was told to ignore them (``nohup``) goes on ignoring
    them. Returns the list of the signals that came, which is filled as they come.
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
    """Run one command; errors the user can mend are one clear message, never a traceback."""
    from cyclopts import CycloptsError

    try:
        _refuse_unknown_command(arguments)
        result: Any = build_app()(arguments, exit_on_error=False, print_error=True)
    except CycloptsError:
        return output.EXIT_USAGE
    except VerifierError as error:
        say(f"error: {error}", "bad")
        return error.exit_code
    except KeyboardInterrupt:
        return output.SIGNAL_BASE + signal.SIGINT
    return int(result or 0)


def _refuse_unknown_command(arguments: Sequence[str]) -> None:
    """The default command takes no words of its own, so a first word that names no command is a misspelt one."""
    word = arguments[0] if arguments else "-"
    if not word.startswith("-") and word not in COMMAND_NAMES:
        near = difflib.get_close_matches(word[:40].casefold(), COMMAND_NAMES, 1, 0.5)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMAND_NAMES)}"
        raise UsageError(f"{word[:40]}: no such command; {hint}")


if __name__ == "__main__":
    main()
