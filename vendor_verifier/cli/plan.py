"""The command ``plan``: what a run would take, before a key is read. Nothing is sent and nothing is written."""

from __future__ import annotations

import json as json_module
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

from cyclopts import Group
from cyclopts.validators import Number

from vendor_verifier.cli.console import say
from vendor_verifier.cli.exit_codes import EXIT_OK
from vendor_verifier.cli.options import RunOptions, option
from vendor_verifier.values.forecast import Assumptions

ASSUMED = Group("Assumptions", sort_key=0)
_NO_OPTIONS = RunOptions()
_SHARE = Number(gt=0, lte=1)
_BELOW_1 = Number(gt=0, lt=1)
_USUAL = Assumptions()


def plan_command(
    options: RunOptions = _NO_OPTIONS,
    *,
    answer_tokens: Annotated[int, option("Output tokens of one answer.", ASSUMED, check=Number(gte=1))] = 200,
    answer_seconds: Annotated[float, option("Seconds one answer takes.", ASSUMED, check=Number(gt=0))] = 5.0,
    ceiling: Annotated[float, option("The baseline's F1 against itself.", ASSUMED, check=_BELOW_1)] = _USUAL.ceiling,
    prevalence: Annotated[float, option("Share of samples with a call.", ASSUMED, check=_SHARE)] = _USUAL.prevalence,
    drop: Annotated[float, option("Fall of F1 you want to see, 0.02 = 2 points.", ASSUMED, check=_SHARE)] = _USUAL.drop,
) -> int:
    """Foretell a run of the same flags: requests, tokens, money and time by vendor, and how small a drop it can show.

    Reads configuration and samples, no key.
    """
    from vendor_verifier.config import read_environment
    from vendor_verifier.pipeline.estimating import forecast
    from vendor_verifier.pipeline.planning import prepare
    from vendor_verifier.pipeline.sending import check_executor
    from vendor_verifier.reports.escape import plain
    from vendor_verifier.reports.forecast_text import forecast_lines

    assumed = Assumptions(
        answer_tokens=answer_tokens, answer_s=answer_seconds, ceiling=ceiling, prevalence=prevalence, drop=drop
    )
    request = options.request()
    prepared = prepare(request, read_environment(), require_keys=False)
    check_executor(request.executor, prepared.plan)
    for warning in prepared.plan.warnings:
        say(f"warning: {plain(warning)}")
    for dataset in prepared.datasets.values():
        for notice in dataset.notices:
            say(f"{plain(dataset.name)}: {plain(notice)}")
    foreseen = forecast(prepared, assumed, datetime.now(UTC))
    if options.json:
        sys.stdout.write(json_module.dumps(asdict(foreseen), indent=2) + "\n")
    else:
        sys.stdout.write("".join(line + "\n" for line in forecast_lines(foreseen)))
    return EXIT_OK
