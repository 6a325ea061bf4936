"""The command ``report``: renders a stored run, writes its tables, or opens its page. It sends nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, get_args

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.cli.output import EXIT_OK, gates_exit_code, print_report, say
from vendor_verifier.errors import Problem, ProblemsError, RunFolderError
from vendor_verifier.features.data import TableFormat
from vendor_verifier.pipeline.latest_run import RUNS, pointed_to, run_named
from vendor_verifier.pipeline.options import JUDGE, OUTPUT, flag, many, option
from vendor_verifier.pipeline.score import score_folder, write_reports
from vendor_verifier.reports import FORMATS, REPORTS
from vendor_verifier.scoring.scored_run import ScoredRun
from vendor_verifier.store import RunFolder

_REPORTS = ("terminal", *FORMATS)
_TABLES: tuple[TableFormat, ...] = get_args(TableFormat)
_FORMATS = tuple(dict.fromkeys([*_REPORTS, *_TABLES]))


def report_command(
    run: Annotated[Path | None, Parameter(help="A run folder. [default: the last one under runs/]")] = None,
    /,
    *,
    format: Annotated[
        str | None, option(f"Write {', '.join(_FORMATS)}; with commas. [default: terminal]", OUTPUT, "--format")
    ] = None,
    table: Annotated[
        tuple[str, ...],
        many("Tables to write: records, calls, …, or all. [default: ranking,verdicts,findings]", OUTPUT),
    ] = (),
    in_browser: Annotated[bool, flag("Open report.html in the browser.", OUTPUT, "--open")] = False,
    output: Annotated[
        Path | None,
        option(
            "Write into this folder, or one table to this file. [default: stdout; tables to export/ in the run]",
            OUTPUT,
            "--output-dir",
            "-o",
        ),
    ] = None,
    gate: Annotated[
        tuple[str, ...], many('Fail below: "f1 >= 0.9", "verdict >= check", preset. [default: as run]', JUDGE)
    ] = (),
    monthly_requests: Annotated[
        int | None, option("Estimate the monthly cost at N requests.", JUDGE, check=Number(gte=1))
    ] = None,
    monthly_tokens: Annotated[
        int | None, option("Estimate the monthly cost at N tokens.", JUDGE, check=Number(gte=1))
    ] = None,
) -> int:
    """Render a stored run in other formats, or write its tables. Nothing is sent.

    csv is the ranking, or with --table any table; xlsx, parquet and jsonl are tables, too (docs/data.md).
    """
    folder = pointed_to(RUNS) if run is None else run_named(run)
    if in_browser:
        return _open(folder)
    if format is None and (table or _is_table_file(output)):
        return _write_tables(folder, [None], table, output)
    wanted = _formats(format or "terminal")
    kinds = [name for name in _TABLES if name in wanted and (name not in _REPORTS or table)]
    if kinds or table:
        if len(kinds) < len(set(wanted)):
            problem = f"read {format!r}; tables are {', '.join(_TABLES)}: write them with a command of their own"
            raise ProblemsError([Problem(problem, key="--format")])
        return _write_tables(folder, kinds, table, output)
    scored = score_folder(
        RunFolder(folder), gates=gate, monthly_requests=monthly_requests, monthly_tokens=monthly_tokens
    )
    _write_reports(scored, folder, wanted, output)
    return gates_exit_code(scored.report)


def _write_reports(scored: ScoredRun, folder: Path, wanted: Sequence[str], output: Path | None) -> None:
    """Write the formats into the folder ``output``, or print them; the terminal's is always printed."""
    if output is not None:
        target = RunFolder(output)
        target.create()
        for path in write_reports(target, scored, [FORMATS[name] for name in wanted if name in FORMATS]):
            say(str(path))
    for name in wanted:
        if name == "terminal":
            print_report(scored, run=folder, as_json=False)
        elif output is None:
            sys.stdout.write(REPORTS[FORMATS[name]](scored))


def _open(folder: Path) -> int:
    """Print the path of a run's page and open it in the browser."""
    import webbrowser

    page = folder / "report.html"
    if not page.is_file():
        raise RunFolderError(f"{folder} holds no report.html; `report {folder} --format html -o {folder}` writes it")
    sys.stdout.write(f"{page}\n")
    if not webbrowser.open(page.resolve().as_uri()):
        say("no browser can be started here; open the file yourself")
    return EXIT_OK


def _is_table_file(output: Path | None) -> bool:
    return output is not None and not output.is_dir() and output.suffix.lower().removeprefix(".") in _TABLES


def _write_tables(run: Path, kinds: Sequence[TableFormat | None], tables: Sequence[str], output: Path | None) -> int:
    """Write tables of a run in each format, None for the one that the output's name says, and print their files."""
    from vendor_verifier.features.data.export import export_run
    from vendor_verifier.features.data.run_data import load_run

    data = load_run(run)
    for kind in kinds:
        sys.stdout.writelines(f"{path}\n" for path in export_run(data, kind, tables, output))
    return EXIT_OK


def _formats(text: str) -> list[str]:
    wanted = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in wanted if word not in _FORMATS]
    if unknown or not wanted:
        raise ProblemsError([Problem(f"read {text!r}; expected some of {', '.join(_FORMATS)}", key="--format")])
    return wanted
