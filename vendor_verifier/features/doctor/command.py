"""The command ``doctor``: a run of two built-in samples, and a table of seven checks."""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from vendor_verifier.cli.options import CHOSEN, Chosen
from vendor_verifier.cli.output import EXIT_INCOMPLETE, EXIT_OK, EXIT_THRESHOLD, SIGNAL_BASE, warn
from vendor_verifier.config.run_config import INPUT, OUTPUT, RunConfig, option, run_options
from vendor_verifier.reports.escape import json_text, plain
from vendor_verifier.reports.formats import aligned

if TYPE_CHECKING:
    from vendor_verifier.features.doctor.checks import Diagnosis, Topic
    from vendor_verifier.pipeline.plan import Prepared
    from vendor_verifier.pipeline.run import RunOutcome
    from vendor_verifier.records.record import Attempt

_SAMPLES = Path(__file__).with_name("samples.jsonl")
# The settings of runs that say how vendors are asked.
_OF_VENDORS = set(
    "model vendor baseline baseline_f1 baseline_repeats vendor_path client connect_timeout idle_timeout temperature "
    "max_tokens extra_body use_raw_completions tokenizer_model".split()
)
_CELLS = {"ok": "ok", "warning": "warning", "failed": "FAILED", "unknown": "–"}
_VERDICTS = {"usable": "usable", "usable_with_reservations": "reservations", "not_usable": "NOT USABLE"}


def doctor_command(
    *,
    chosen: Chosen = CHOSEN,
    vendor_path: Annotated[tuple[Path, ...], option("Folder with vendor plugins (repeatable).", INPUT)] = (),
    tokenizer_model: Annotated[str | None, option("Folder or hub name of the chat template.", INPUT)] = None,
    verbose: Annotated[bool, option("Print every check with its reason.", OUTPUT, "-v")] = False,
    json: Annotated[bool, option("Print JSON.", OUTPUT)] = False,
) -> int:
    """Check each vendor: key, model, answers, tools, streaming, usage, served model.

    Two small requests are sent to each vendor. Exit codes: 0 all usable, 1 some departures, 3 one cannot be used.
    """
    from msgspec import structs

    from vendor_verifier.config.document import read_environment
    from vendor_verifier.config.entries import NO_F1
    from vendor_verifier.features.doctor.checks import diagnose
    from vendor_verifier.pipeline.plan import prepare
    from vendor_verifier.pipeline.run import run
    from vendor_verifier.records.plan import Task
    from vendor_verifier.suites import TRIGGER

    with TemporaryDirectory(prefix="doctor-") as folder:
        asked = run_options(
            test_file_path=str(_SAMPLES),
            **vars(chosen),
            vendor_path=vendor_path,
            tokenizer_model=tokenizer_model,
            # Few at a time: the checks must not disturb their own timing.
            vendor_concurrency=4,
            retries=1,
            timeout=90,
            first_token_timeout=45,
            output_dir=Path(folder) / "run",
        )
        prepared = prepare(asked.by_default(RunConfig.model_fields.keys() - _OF_VENDORS), read_environment())
        for warning in prepared.plan.warnings:
            # Nothing is compared with a baseline here.
            if NO_F1 not in warning:
                warn(warning)
        # Both samples once, whatever the file says of evaluations.
        tasks = (Task(TRIGGER, prepared.evaluations[0].dataset.samples),)
        prepared = replace(prepared, plan=structs.replace(prepared.plan, tasks=tasks, baseline_repeats=1))
        outcome = run(prepared)
        answers = _answers(prepared, outcome)
    if outcome.signal_number is not None:
        return SIGNAL_BASE + outcome.signal_number
    found = [diagnose(entry, answers.get((entry.model, entry.label), {})) for entry in prepared.plan.entries]
    verdicts = {each.verdict for each in found}
    code = EXIT_INCOMPLETE if "not_usable" in verdicts else EXIT_OK if verdicts == {"usable"} else EXIT_THRESHOLD
    if json:
        text = json_text({"vendors": found, "exit_code": code}) + "\n"
    else:
        text = "".join(f"{line.rstrip()}\n" for line in _lines(found, verbose=verbose))
    sys.stdout.write(prepared.scrubber.text(text))
    return code


def _answers(prepared: "Prepared", outcome: "RunOutcome") -> "dict[tuple[str, str], dict[Topic, Attempt]]":
    """The final attempts of each model and label by what the sample asks for, without those that were never sent."""
    topics: dict[str, Topic] = {one.id: "tools" if one.turn.tools else "text" for one in prepared.plan.tasks[0].samples}
    answers: dict[tuple[str, str], dict[Topic, Attempt]] = {}
    for record in outcome.folder.read_records(lambda _line, _reason: None):
        if record.final is not None and (record.final.failure is None or record.final.failure.kind != "skipped"):
            answers.setdefault((record.model, record.label), {})[topics[record.sample]] = record.final
    return answers


def _lines(found: Sequence["Diagnosis"], *, verbose: bool) -> Iterator[str]:
    """The table, then a line for each check that departs (all of them if ``verbose``)."""
    names = [check.name for check in found[0].checks]
    rows = [["vendor", "verdict", *names, "first token", "address"]]
    for each in found:
        first = "–" if each.first_token_ms is None else f"{each.first_token_ms:.0f} ms"
        cells = [_CELLS[check.status] for check in each.checks]
        name = plain(f"{each.model} / {each.label}", 60)
        rows.append([name, _VERDICTS[each.verdict], *cells, first, plain(each.address)])
    yield from aligned(rows, left=len(rows[0]))
    yield ""
    for each in found:
        for check in each.checks:
            if verbose or check.status in ("failed", "warning"):
                yield plain(f"{each.label}: {check.name}: {_CELLS[check.status]}: {check.reason}", 400)
    yield ", ".join(f"{sum(one.verdict == verdict for one in found)} {words}" for verdict, words in _VERDICTS.items())
