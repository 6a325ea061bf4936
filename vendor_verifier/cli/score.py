"""The command ``score``: judges a stored run again. It sends nothing."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.cli.output import EXIT_OK, gates_exit_code, print_report, warn
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.pipeline.latest_run import run_named
from vendor_verifier.pipeline.options import JUDGE, OUTPUT, AnswerFormat, BfclVersion, RunOptions, flag, many, option
from vendor_verifier.pipeline.score import score_again
from vendor_verifier.pipeline.stored_answers import case_document, case_lines, evaluate_file
from vendor_verifier.records.manifest import BaselineF1, SchemaPolicy, Undecided
from vendor_verifier.store import RunFolder

_VOLUME = Number(gte=1)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Policies:
    """The rules by which a stored run is judged anew, in the words of the flags; None and empty mean as at the run."""

    undecided: Annotated[
        Undecided | None, option("Count failures in F1 as in run. [default: the run's own]", JUDGE)
    ] = None
    schema: Annotated[
        SchemaPolicy | None, option("Read empty arguments as in run. [default: the run's own]", JUDGE)
    ] = None
    rank_metric: Annotated[tuple[str, ...], many("Let a suite's score join the IRF (repeatable).", JUDGE)] = ()
    gate: Annotated[
        tuple[str, ...], many('Fail below: "f1 >= 0.9", "verdict >= check", preset. [default: as run]', JUDGE)
    ] = ()
    slo: Annotated[
        tuple[str, ...], many('Hold each request to an SLO: "tps >= 30" (repeatable). [default: as run]', JUDGE)
    ] = ()
    baseline_f1: Annotated[
        BaselineF1 | None, option("Rank the baseline's F1 as in run. [default: the run's own]", JUDGE)
    ] = None
    monthly_requests: Annotated[
        int | None, option("Reckon the cost of N requests a month. [default: the run's own]", JUDGE, check=_VOLUME)
    ] = None
    monthly_tokens: Annotated[
        int | None, option("Reckon the cost of N tokens a month. [default: the run's own]", JUDGE, check=_VOLUME)
    ] = None

    def changes(self) -> dict[str, Any]:
        """The same under the names that the manifest keeps them by."""
        return {
            "undecided": self.undecided,
            "schema_policy": self.schema,
            "rank_metrics": self.rank_metric or None,
            "gates": self.gate or None,
            "slos": self.slo or None,
            "baseline_f1": self.baseline_f1,
            "monthly_requests": self.monthly_requests,
            "monthly_tokens": self.monthly_tokens,
        }


_AS_RUN = Policies()


def score_command(
    run: Annotated[Path, Parameter(help="A run folder, or a file of answers: input, tools_called, expected_tools.")],
    /,
    *,
    suite_option: Annotated[
        tuple[str, ...], many("Set suite.key=value of how answers are judged (repeatable).", JUDGE)
    ] = (),
    answer_format: Annotated[AnswerFormat | None, option("Read calls as native ones or in text.", JUDGE)] = None,
    compare_parameters: Annotated[bool, flag("tool_correctness: compare arguments, too.", JUDGE)] = False,
    bfcl_version: Annotated[BfclVersion | None, option("Reckon Overall Acc as of this version.", JUDGE)] = None,
    policies: Policies = _AS_RUN,
    json: Annotated[bool, flag("Print scores.json instead of tables.", OUTPUT)] = False,
    history: Annotated[
        Path | None, option("Keep the history of runs here. [default: user data folder]", OUTPUT)
    ] = None,
    no_history: Annotated[bool, flag("Leave this run out of the history.", OUTPUT)] = False,
) -> int:
    """Score a stored run again, rewrite its report files and its figures in the history.

    Options of evaluations that only say how answers are judged may be others than at the run: thresholds, …
    """
    judging = RunOptions(
        suite_option=suite_option,
        answer_format=answer_format,
        compare_parameters=compare_parameters,
        bfcl_version=bfcl_version,
    )
    if run.is_file():
        if policies.gate:
            raise ProblemsError([Problem("needs a run folder; this is a file of answers", key="--gate")])
        return _score_answers(run, judging, as_json=json)
    from vendor_verifier.features.history.database import history_file, remember

    file = history_file(history, none=no_history)
    folder = RunFolder(run_named(run))
    scored = score_again(folder, judging, **policies.changes())
    unkept = remember(folder, scored, file)
    if unkept is not None:
        warn(unkept)
    print_report(scored, run=run, as_json=json)
    return gates_exit_code(scored.report)


def _score_answers(file: Path, judging: RunOptions, *, as_json: bool) -> int:
    """Print the scores of the answers in a file."""
    metric, found = evaluate_file(file, judging)
    if as_json:
        sys.stdout.write(json_module.dumps(case_document(found), indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("".join(line + "\n" for line in case_lines(metric, found, file.name)))
    return EXIT_OK
