"""The command ``import``: turns other people's result files into a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.cli.options import Gates, History, Json, Slos
from vendor_verifier.cli.output import gates_exit_code, print_report, warn
from vendor_verifier.config.flags import INPUT, OUTPUT, flag, many, option
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.features.history.database import history_file, remember
from vendor_verifier.pipeline.import_results import import_run
from vendor_verifier.records.manifest import SchemaPolicy, ScoreRequest, Undecided
from vendor_verifier.store import RunFolder


def import_command(
    *results: Annotated[str, Parameter(help="Result files, each label=file (.gz too); a label again: another run.")],
    baseline: Annotated[tuple[str, ...], many("The baseline's label=file (repeatable, one a run).", INPUT)] = (),
    model: Annotated[str, option("Unified name of the model.", INPUT)],
    output_dir: Annotated[Path, option("Folder of the run.", OUTPUT, "--output-dir", "-o")],
    test_file_path: Annotated[str | None, option("Sample file. [default: the questions in the results]", INPUT)] = None,
    skip_bad_rows: Annotated[bool, flag("Leave out unusable rows, and name them.", INPUT)] = False,
    undecided: Annotated[Undecided, option("Failures in F1: a miss, or left out.", OUTPUT)] = "missed",
    schema: Annotated[SchemaPolicy, option('Arguments "" are valid as {} (lenient) or invalid (strict).', OUTPUT)] = (
        "lenient"
    ),
    gate: Gates = (),
    slo: Slos = (),
    json: Json = False,
    history: History = None,
) -> int:
    """Turn result files of K2-Vendor-Verifier, MiniMax-Provider-Verifier or version 0.1.0 into a run.

    It is scored, checked against --gate (exit 1 if one fails) and reported like a run of our own.
    """
    file = history_file(history)
    files = _labelled([*baseline, *results])
    if not files:
        raise ProblemsError([Problem("no result file given; expected label=file, such as novita=results.jsonl")])
    if len(names := list(_labelled(baseline))) > 1:
        problem = f"read {len(names)} baselines, {' and '.join(names)}; expected runs of one, each label=file"
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
    if (unkept := remember(RunFolder(output_dir), scored, file)) is not None:
        warn(unkept)
    print_report(scored, run=output_dir, as_json=json)
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
            problems.append(Problem(f"{path} is given twice for {label!r}; every run has a file of its own"))
        else:
            files.setdefault(label, []).append(Path(path))
    if problems:
        raise ProblemsError(problems)
    return files
