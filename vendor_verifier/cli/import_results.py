"""The command ``import``: turns other people's result files into a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.cli.output import gates_exit_code, print_report, say_where, warn
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.features.history.database import history_file, remember
from vendor_verifier.pipeline.import_results import import_run
from vendor_verifier.pipeline.options import JUDGE, OUTPUT, WHAT, flag, many, option
from vendor_verifier.records.manifest import SchemaPolicy, ScoreRequest, Undecided
from vendor_verifier.store import RunFolder


def import_command(
    *results: Annotated[str, Parameter(help="More result files, each label=file (.gz too); again for another run.")],
    baseline: Annotated[
        tuple[str, ...], many("Take this label=file as the baseline's (repeatable, a run each).", WHAT)
    ] = (),
    model: Annotated[str, option("Give the run this unified model name.", WHAT)],
    output_dir: Annotated[Path, option("Write the run into this folder.", OUTPUT, "--output-dir", "-o")],
    test_file_path: Annotated[
        str | None, option("Take these samples as those asked. [default: what was]", WHAT)
    ] = None,
    skip_bad_rows: Annotated[bool, flag("Leave out unusable rows, and say so.", WHAT)] = False,
    undecided: Annotated[Undecided, option("Count failures in F1 as in run.", JUDGE)] = "missed",
    schema: Annotated[SchemaPolicy, option("Read empty arguments as in run.", JUDGE)] = "lenient",
    gate: Annotated[
        tuple[str, ...], many('Fail below: "f1 >= 0.9", "verdict >= check", or a preset (repeatable).', JUDGE)
    ] = (),
    slo: Annotated[tuple[str, ...], many('Hold each request to an SLO: "e2e_ms <= 9000" (repeatable).', JUDGE)] = (),
    json: Annotated[bool, flag("Print scores.json instead of tables.", OUTPUT)] = False,
    history: Annotated[
        Path | None, option("Keep the history of runs here. [default: user data folder]", OUTPUT)
    ] = None,
    no_history: Annotated[bool, flag("Leave this run out of the history.", OUTPUT)] = False,
) -> int:
    """Turn result files of K2-Vendor-Verifier, MiniMax-Provider-Verifier or the published package into a run.

    It is scored, held to --gate (exit 1 if one fails) and reported like a run of our own.
    """
    file = history_file(history, none=no_history)
    files = _labelled([*baseline, *results])
    if len(names := list(_labelled(baseline, none_needed=True))) > 1:
        problem = f"read {len(names)} baselines, {' and '.join(names)}; expected runs of one, each label=file"
        raise ProblemsError([Problem(problem, key="--baseline")])
    scored = import_run(
        files,
        baseline=next(iter(files)) if baseline else None,
        model=model,
        output_dir=output_dir,
        test_file=test_file_path,
        skip_bad=skip_bad_rows,
        score=ScoreRequest(undecided, schema, gates=gate, slos=slo),
    )
    unkept = remember(RunFolder(output_dir), scored, file)
    if unkept is not None:
        warn(unkept)
    print_report(scored, run=output_dir, as_json=json)
    say_where(output_dir)
    return gates_exit_code(scored.report)


def _labelled(words: Iterable[str], *, none_needed: bool = False) -> dict[str, list[Path]]:
    """Label → its files in the order stated, each a run of its own."""
    files: dict[str, list[Path]] = {}
    problems: list[Problem] = []
    for word in words:
        label, equals, path = word.partition("=")
        if not (label and equals and path):
            problems.append(Problem(f"read {word!r}; expected label=file, such as novita=results.jsonl"))
        elif Path(path) in files.get(label, ()):
            problems.append(Problem(f"{path} is given twice for {label!r}; every run has a file of its own"))
        else:
            files.setdefault(label, []).append(Path(path))
    if not files and not problems and not none_needed:
        problems.append(Problem("no result file given; expected label=file, such as novita=results.jsonl"))
    if problems:
        raise ProblemsError(problems)
    return files
