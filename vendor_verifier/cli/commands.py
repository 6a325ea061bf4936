"""The commands, their one-line help and examples, and the look of the help."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cyclopts import App, Parameter
from cyclopts.help import DefaultFormatter, PanelSpec
from rich.box import Box

from vendor_verifier import __version__

if TYPE_CHECKING:
    from collections.abc import Collection


EXIT_CODES = (
    "Exit codes: 0 done · 1 a gate or limit was missed · 2 usage, configuration or data · 3 incomplete (a vendor or a "
    "budget stopped it, or most requests of a vendor failed) · 4 internal error or disk · 130, 143 interrupted"
)
# These state the exit codes in their own docstring.
_OWN_CODES = ("doctor", "compare", "check", "capacity")
_NO_GATES = ("init", "history", "explain", "view", "simulate")
_OTHER_CODES = "2 usage, configuration or data · 4 internal error or disk · 130, 143 interrupted"
_PROGRAM = "agent-vendor-verifier"


class Command(NamedTuple):
    """Where a command's function is in this package, what it does, and examples without the program's name."""

    target: str
    help: str
    examples: tuple[str, ...]


COMMANDS = {
    "run": Command("cli.run:run_command", "Test every vendor, score the answers, compare (the default).", (
        "run --test-file-path own.jsonl --vendor-concurrency 5",
        "run --request-rate 20 --duration 60 --slo 'tps >= 30'",
        "run --model kimi-k2.5 --repeat 5 --dry-run",
    )),
    "demo": Command("cli.run:demo_command", "Try it on built-in simulated vendors; no key, no network.", (
        "demo", "demo --suite mcptoolbench -n 20", "demo --serve",
    )),
    "init": Command("cli.init:init_command", "Write config.yaml, .env and .gitignore to start with.", (
        "init --model kimi-k2.5", "init --list", "init --from config.yaml --dry-run",
    )),
    "doctor": Command("features.doctor.command:doctor_command", "Check each vendor with two small requests.", (
        "doctor", "doctor --model kimi-k2.5 --vendor novita",
    )),
    "score": Command("cli.stored:score_command", "Score a stored run again.", (
        "score runs/kimi --undecided exclude", "score runs/kimi --slo 'ttft_ms <= 800'",
    )),
    "report": Command("cli.stored:report_command", "Print, write or open the report of a stored run.", (
        "report --open",
        "report runs/kimi --format html,junit -o out",
        "report runs/kimi --format parquet",
        "report runs/kimi --table calls -o calls.csv",
    )),
    "import": Command("cli.stored:import_command", "Turn other tools' result files into a run.", (
        "import --baseline a=a.jsonl b=b.jsonl --model k2 -o out",
    )),
    "compare": Command("features.history.commands:compare_command", "Compare two stored runs.", (
        "compare runs/monday runs/tuesday",
    )),
    "check": Command("features.history.commands:check_command", "Run, judge and compare, for a scheduler.", (
        "check --gate 'f1 >= 0.9'",
    )),
    "history": Command("features.history.commands:history_command", "List the stored runs, or plot a metric.", (
        "history --vendor novita", "history --vendor novita --metric ttft",
    )),
    "explain": Command("features.explain.commands:explain_command", "Show the evidence behind a vendor's verdict.", (
        "explain runs/kimi --vendor novita",
    )),
    "view": Command("features.explain.commands:view_command", "Browse all samples and answers.", (
        "view", "view runs/monday --print",
    )),
    "capacity": Command("features.capacity.command:capacity_command", "Find the highest load a vendor sustains.", (
        "capacity --vendor novita --sweep 1,4,16,64 --max-cost 2", "capacity --sweep 1,5,20 --at-least 5",
    )),
    "simulate": Command("features.simulate.command:simulate_command", "Serve the simulated vendors here.", (
        "simulate --port 8600 --speed 4", "simulate --test-file-path own.jsonl",
    )),
}  # fmt: skip
COMMAND_NAMES = tuple(COMMANDS)
# By command, "" for the program itself.
EXAMPLES = {
    "": ("demo", "--test-file-path samples.jsonl --vendor-concurrency 5", "--model kimi-k2.5 -n 100 -o runs/kimi"),
    **{name: command.examples for name, command in COMMANDS.items()},
}


# A heading, names in one column and descriptions in another; no frame.
_HELP = DefaultFormatter(panel_spec=PanelSpec(box=Box("    \n" * 8), padding=(0, 0), border_style="none"))


def build_app(described: Collection[str] = ()) -> App:
    """The commands. Their modules are imported only when they are called, so that help is quick.

    The help of those ``described`` is the docstring of their function, which loads their module.
    """
    from vendor_verifier.cli.run import run_command

    app = App(
        name=_PROGRAM,
        help="Verify that the vendors of an LLM serve the model they sell. Without a command: run.",
        help_epilogue=_epilogue(""),
        version=__version__,
        help_format="plaintext",
        help_formatter=_HELP,
        default_parameter=Parameter(negative=(), consume_multiple=False, show_default=_shown),
        result_action="return_value",
        suppress_keyboard_interrupt=False,  # which signal it was decides the exit code
    )
    app.default(run_command)
    for number, (name, command) in enumerate(COMMANDS.items()):
        target, words = f"vendor_verifier.{command.target}", None if name in described else command.help
        app.command(target, name=name, help=words, help_epilogue=_epilogue(name), sort_key=number)
    return app


def _shown(default: object) -> str | None:
    """A default as the help shows it; None where nothing is set."""
    return None if default is None or default is False or default in ("", ()) else str(default)


def _epilogue(name: str) -> str:
    codes, examples = EXIT_CODES, EXAMPLES[name]
    if name in (*_OWN_CODES, *_NO_GATES):
        codes = ("Other exit codes: " if name in _OWN_CODES else "Exit codes: 0 done · ") + _OTHER_CODES
    return f"{codes}\n\nExamples:" + "".join(f"\n  {_PROGRAM} {words}" for words in examples) + "\n"
