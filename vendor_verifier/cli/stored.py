"""The commands ``score``, ``report`` and ``import``, for stored answers: they send nothing."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Annotated, get_args

from cyclopts import Parameter

from vendor_verifier.cli.options import Gates, Json, Slos
from vendor_verifier.cli.output import EXIT_OK, gates_exit_code, print_lines, print_report, say, warn
from vendor_verifier.config.run_config import INPUT, OUTPUT, History, RunOptions, option
from vendor_verifier.errors import Problem, ProblemsError, RunFolderError
from vendor_verifier.features.data import TableFormat
from vendor_verifier.pipeline.given_answers import case_document, case_lines, evaluate_file, import_run
from vendor_verifier.pipeline.score import score_again, score_folder, write_reports
from vendor_verifier.records.manifest import BaselineF1, SchemaPolicy, ScoreRequest, Undecided
from vendor_verifier.reports import FORMATS, rendered
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.store import NO_HISTORY, RunFolder, run_named

_REPORTS = ("terminal", *FORMATS)
_TABLES: tuple[TableFormat, ...] = get_args(TableFormat)
_FORMATS = tuple(dict.fromkeys([*_REPORTS, *_TABLES]))


def score_command(
    run: Annotated[Path | None, Parameter(help="Run folder, or a file of answers. [default: the last run]")] = None,
    /,
    *,
    set: Annotated[tuple[str, ...], option("Scoring option, as suite.key=value (repeatable).", OUTPUT)] = (),
    compare_parameters: Annotated[bool, option("tool_correctness: compare arguments, too.", OUTPUT)] = False,
    undecided: Annotated[Undecided | None, option("Failures in F1: a miss, or left out.", OUTPUT)] = None,
    schema: Annotated[SchemaPolicy | None, option('Arguments "" are valid (lenient) or invalid.', OUTPUT)] = None,
    rank_metric: Annotated[tuple[str, ...], option("Suite whose score joins the IRF (repeatable).", OUTPUT)] = (),
    gate: Gates = (),
    slo: Slos = (),
    baseline_f1: Annotated[BaselineF1 | None, option("Baseline's F1 in the IRF: 1, or measured.", OUTPUT)] = None,
    json: Json = False,
    history: History = None,
) -> int:
    """Score a stored run again, and rewrite its reports and its figures in the history. Nothing is sent.

    What is not given stays as it was in the run.
    """
    judging = RunOptions(set=set, compare_parameters=compare_parameters)
    if run is not None and run.is_file():
        if gate:
            raise ProblemsError([Problem("needs a run folder; this is a file of answers", key="--gate")])
        metric, found = evaluate_file(run, judging)
        print_lines(case_document(found), case_lines(metric, found, run.name), as_json=json)
        return EXIT_OK
    folder = RunFolder(run_named(run))
    scored = score_again(
        folder,
        judging,
        undecided=undecided,
        schema_policy=schema,
        rank_metrics=rank_metric or None,
        gates=gate or None,
        slos=slo or None,
        baseline_f1=baseline_f1,
    )
    keep_and_print(folder, scored, history, as_json=json)
    return gates_exit_code(scored.report)


def keep_and_print(
    folder: RunFolder, scored: ScoredRun, history: Path | None, *, as_json: bool, shown: Collection[str] = ()
) -> None:
    """Add a scored run to the history, unless that is ``none``, and print its result."""
    if history != NO_HISTORY:
        from vendor_verifier.features.history.database import remember

        if (unkept := remember(folder, scored, history)) is not None:
            warn(unkept)
    print_report(scored, run=folder.path, as_json=as_json, shown=shown)


def import_command(
    *results: Annotated[str, Parameter(help="Result files as label=file (.gz too); repeat a label for another run.")],
    baseline: Annotated[tuple[str, ...], option("The baseline's label=file (repeatable, one per run).", INPUT)] = (),
    model: Annotated[str, option("Unified name of the model.", INPUT)],
    output_dir: Annotated[Path, option("Folder of the run.", OUTPUT, "-o")],
    test_file_path: Annotated[str | None, option("Sample file. [default: the questions in the results]", INPUT)] = None,
    skip_bad_rows: Annotated[bool, option("Leave out unusable rows, with a warning.", INPUT)] = False,
    undecided: Annotated[Undecided, option("Failures in F1: a miss, or left out.", OUTPUT)] = "missed",
    schema: Annotated[SchemaPolicy, option('Arguments "" are valid (lenient) or invalid.', OUTPUT)] = "lenient",
    gate: Gates = (),
    slo: Slos = (),
    json: Json = False,
    history: History = None,
) -> int:
    """Turn result files of K2-Vendor-Verifier, MiniMax-Provider-Verifier or version 0.1.0 into a run.

    It is scored, checked against --gate (exit 1 if one fails) and reported like a run of our own.
    """
    files = _labelled([*baseline, *results])
    if not files:
        raise ProblemsError([Problem("no result file given; expected label=file, such as novita=results.jsonl")])
    if len(names := list(_labelled(baseline))) > 1:
        problem = f"read {len(names)} baselines, {' and '.join(names)}; expected one; repeat its label for each run"
        raise ProblemsError([Problem(problem, key="--baseline")])
    scored = import_run(
        files,
        baseline=names[0] if names else None,
        model=model,
        output_dir=output_dir,
        test_file=test_file_path,
        skip_bad=skip_bad_rows,
        score=ScoreRequest(undecided, schema, gates=gate, slos=slo),
    )
    keep_and_print(RunFolder(output_dir), scored, history, as_json=json)
    return gates_exit_code(scored.report)


def _labelled(words: Iterable[str]) -> dict[str, list[Path]]:
    """Label → its files in the order stated, each a run of its own."""
    files: dict[str, list[Path]] = {}
    problems: list[Problem] = []
    for word in words:
        label, equals, path = word.partition("=")
        if not (label and equals and path):
            problems.append(Problem(f"read {word!r}; expected label=file, such as novita=results.jsonl"))
        elif Path(path) in files.get(label, ()):
            problems.append(Problem(f"{path} is given twice for {label!r}; each run needs its own file"))
        else:
            files.setdefault(label, []).append(Path(path))
    if problems:
        raise ProblemsError(problems)
    return files


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
    in_browser: Annotated[bool, option("Open report.html in the browser.", OUTPUT, name="--open")] = False,
    output_dir: Annotated[
        Path | None,
        option("Folder, or file of one table. [default: stdout; tables: export/ in the run]", OUTPUT, "-o"),
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
    is_file = output_dir is not None and not output_dir.is_dir() and output_dir.suffix.lower()[1:] in _TABLES
    kinds = [name for name in _TABLES if name in wanted and (name not in _REPORTS or table)]
    if kinds or table or (is_file and not wanted):
        if len(kinds) < len(wanted):
            problem = f"read {format!r}; write tables ({', '.join(_TABLES)}) with a command of their own"
            raise ProblemsError([Problem(problem, key="--format")])
        from vendor_verifier.features.data.run_data import export_run, load_run

        data = load_run(folder)
        for kind in kinds or (None,):
            sys.stdout.writelines(f"{path}\n" for path in export_run(data, kind, table, output_dir))
        return EXIT_OK
    scored = score_folder(RunFolder(folder), gates=gate)
    files = [FORMATS[name] for name in wanted if name in FORMATS]
    if output_dir is not None:
        _write(scored, files, output_dir)
    if not files or "terminal" in wanted:
        print_report(scored, run=folder, as_json=False)
    if output_dir is None:
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
