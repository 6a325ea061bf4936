"""The commands ``run``, ``demo`` and ``plan``. What they need is imported when they are called: help stays quick."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Annotated

from cyclopts import Group
from cyclopts.validators import Number

from vendor_verifier.console.options import CommandOptions
from vendor_verifier.console.output import EXIT_OK, say, warn
from vendor_verifier.pipeline.options import OUTPUT, flag, many, option
from vendor_verifier.resources import shipped
from vendor_verifier.values.nested_dict import nested_dict
from vendor_verifier.values.plan import Assumptions

ASSUMED = Group("Assumptions", sort_key=0)
_NO_OPTIONS = CommandOptions()
_SECONDS = Number(gt=0, lt=inf)
_SHARE = Number(gt=0, lte=1)
_BELOW_1 = Number(gt=0, lt=1)
_USUAL = Assumptions()


def plan_command(
    options: CommandOptions = _NO_OPTIONS,
    *,
    answer_tokens: Annotated[
        int, option("Reckon so many output tokens an answer.", ASSUMED, check=Number(gte=1))
    ] = 200,
    answer_seconds: Annotated[float, option("Reckon so many seconds an answer.", ASSUMED, check=_SECONDS)] = 5.0,
    ceiling: Annotated[
        float, option("Take the baseline's F1 against itself as this.", ASSUMED, check=_BELOW_1)
    ] = _USUAL.ceiling,
    prevalence: Annotated[
        float, option("Let this share of samples call a tool.", ASSUMED, check=_SHARE)
    ] = _USUAL.prevalence,
    drop: Annotated[
        float, option("See a fall of F1 of this size, 0.02 = 2 points.", ASSUMED, check=_SHARE)
    ] = _USUAL.drop,
) -> int:
    """Foretell a run of the same flags: requests, tokens, money and time by vendor, and how small a drop it can show.

    Reads configuration and samples, no key.
    """
    from vendor_verifier.config import read_environment
    from vendor_verifier.pipeline.estimate import forecast
    from vendor_verifier.pipeline.plan import prepare
    from vendor_verifier.reports.escape import MAX_SENTENCE, plain
    from vendor_verifier.reports.forecast_text import forecast_lines

    assumed = Assumptions(
        answer_tokens=answer_tokens, answer_s=answer_seconds, ceiling=ceiling, prevalence=prevalence, drop=drop
    )
    prepared = prepare(options, read_environment(), require_keys=False)
    for warning in prepared.plan.warnings:
        warn(warning)
    for dataset in prepared.datasets.values():
        for notice in dataset.notices:
            say(f"{plain(dataset.name)}: {plain(notice, MAX_SENTENCE)}")
    for hook in prepared.hooks.values():
        for words in hook.planned():
            say(plain(words, MAX_SENTENCE))
    foreseen = forecast(prepared, assumed, datetime.now(UTC))
    if options.json:
        sys.stdout.write(json_module.dumps(nested_dict(foreseen), indent=2) + "\n")
    else:
        sys.stdout.write("".join(line + "\n" for line in forecast_lines(foreseen)))
    return EXIT_OK


def run_command(options: CommandOptions = _NO_OPTIONS) -> int:
    """Send every sample to every configured vendor, score the answers, rank the vendors."""
    from vendor_verifier.console.main_job import run_main_job

    return run_main_job(options)


def demo_command(
    *,
    limit: Annotated[
        int | None, option("Ask only N samples, of all kinds.", OUTPUT, "--limit", "-n", check=Number(gte=1))
    ] = None,
    head: Annotated[bool, flag("With --limit: take the first N.", OUTPUT)] = False,
    suite: Annotated[tuple[str, ...], many("Run this evaluation (repeatable). [default: trigger]", OUTPUT)] = (),
    suite_option: Annotated[tuple[str, ...], many("Set suite.key=value (repeatable).", OUTPUT)] = (),
    seed: Annotated[int, option("Simulate other answers by another seed.", OUTPUT)] = 0,
    output_dir: Annotated[
        Path | None, option("Write the run into this folder. [default: runs/<timestamp>]", OUTPUT, "--output-dir", "-o")
    ] = None,
    quiet: Annotated[bool, flag("Print no progress on stderr.", OUTPUT, "--quiet", "-q")] = False,
    json: Annotated[bool, flag("Print scores.json instead of tables.", OUTPUT)] = False,
) -> int:
    """The main job on built-in simulated vendors: no key, no network, under half a minute."""
    from vendor_verifier.config.model_names import SIMULATED_MODEL

    options = replace(
        _NO_OPTIONS,
        config_file_path=shipped("config_simulated.yaml"),
        model=(SIMULATED_MODEL,),
        suite=suite,
        suite_option=suite_option,
        limit=limit,
        head=head,
        seed=seed,
        request_concurrency=8,
        output_dir=output_dir,
        quiet=quiet,
        json=json,
        no_history=True,
    )
    from vendor_verifier.console.main_job import run_main_job

    # Bad enough to make a run of few samples incomplete, which the demonstration is not for that.
    return run_main_job(options, meant_to_fail=(f"{SIMULATED_MODEL}: cutter",))
