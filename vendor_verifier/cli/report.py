"""The command ``report``: renders a stored run, writes its tables, or opens its page. It sends nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

from cyclopts import Parameter

from vendor_verifier.cli.output import EXIT_OK, gates_exit_code, print_report, say
from vendor_verifier.cli.run import Gates
from vendor_verifier.config.run_config import OUTPUT, option
from vendor_verifier.errors import Problem, ProblemsError, RunFolderError
from vendor_verifier.features.data import TableFormat
from vendor_verifier.pipeline.score import score_folder, write_reports
from vendor_verifier.reports import FORMATS, rendered
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.store import RunFolder, run_named

_REPORTS = ("terminal", *FORMATS)
_TABLES: tuple[TableFormat, ...] = get_args(TableFormat)
_FORMATS = tuple(dict.fromkeys([*_REPORTS, *_TABLES]))


def report_command(
    run: Annotated[Path | None, Parameter(help="Run folder. [default: the last one under runs/]")] = None,
    /,
    *,
    format: Annotated[
        str, option(f"One or more of {', '.join(_FORMATS)}; separated by commas. [default: terminal]", OUTPUT)
    ] = "",
    table: Annotated[
        tuple[str, ...],
        option("Table to write: records, calls, …, or all (repeatable). [default: ranking,verdicts,findings]", OUTPUT),
    ] = (),
    in_browser: Annotated[bool, option("Open report.html in the browser.", OUTPUT, "--open")] = False,
    output: Annotated[
        Path | None,
        option(
            "Folder, or file of one table. [default: stdout; tables: export/ in the run]", OUTPUT, "--output-dir", "-o"
        ),
    ] = None,
    gate: Gates = (),
) -> int:
    """Render a stored run in other formats, or write its tables. Nothing is sent.

    csv is the ranking, or with --table any table; parquet and jsonl are tables, too (docs/data.md).
    """
    folder = run_named(run)
    if in_browser:
        return _open(folder)
    wanted = list(dict.fromkeys(word.strip().lower() for word in format.split(",") if word.strip()))
    if unknown := [word for word in wanted if word not in _FORMATS]:
        words = f"read {', '.join(map(repr, unknown))}; expected some of {', '.join(_FORMATS)}"
        raise ProblemsError([Problem(words, key="--format")])
    is_file = output is not None and not output.is_dir() and output.suffix.lower().removeprefix(".") in _TABLES
    kinds = [name for name in _TABLES if name in wanted and (name not in _REPORTS or table)]
    if kinds or table or (is_file and not wanted):
        if len(kinds) < len(wanted):
            problem = f"read {format!r}; write tables ({', '.join(_TABLES)}) with a command of their own"
            raise ProblemsError([Problem(problem, key="--format")])
        from vendor_verifier.features.data.run_data import export_run, load_run

        data = load_run(folder)
        for kind in kinds or (None,):
            sys.stdout.writelines(f"{path}\n" for path in export_run(data, kind, table, output))
        return EXIT_OK
    scored = score_folder(RunFolder(folder), gates=gate)
    files = [FORMATS[name] for name in wanted if name in FORMATS]
    if output is not None:
        _write(scored, files, output)
    if not files or "terminal" in wanted:
        print_report(scored, run=folder, as_json=False)
    if output is None:
        sys.stdout.writelines(rendered(scored, files).values())
    # The gates of the run itself were judged when it was scored.
    return gates_exit_code(scored.report) if gate else EXIT_OK


def _write(scored: ScoredRun, files: Sequence[str], output: Path) -> None:
    """Write the reports into a folder, or the only one to the file of its kind that ``output`` names."""
    if len(files) == 1 and output.suffix == Path(files[0]).suffix and not output.is_dir():
        RunFolder(output.parent).create()
        (text,) = rendered(scored, files).values()
        say(str(RunFolder(output.parent).write(output.name, text)))
        return
    target = RunFolder(output)
    target.create()
    for path in write_reports(target, scored, files):
        say(str(path))


def _open(folder: Path) -> int:
    """Print the path of a run's page and open it in the browser."""
    import webbrowser

    page = folder / "report.html"
    if not page.is_file():
        raise RunFolderError(f"{folder} has no report.html; `report {folder} --format html -o {folder}` writes it")
    sys.stdout.write(f"{page}\n")
    if not webbrowser.open(page.resolve().as_uri()):
        say("no browser can be started here; open the file yourself")
    return EXIT_OK
