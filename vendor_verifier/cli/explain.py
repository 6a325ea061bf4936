"""The command ``explain``: the evidence of a stored run about one vendor. Nothing is sent, no key is read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.cli.exit_codes import EXIT_OK
from vendor_verifier.cli.options import OUTPUT, WHAT, flag, option


def explain_command(
    run: Annotated[Path, Parameter(help="A run folder.")],
    /,
    *,
    vendor: Annotated[str, option("Label or name of the vendor.", WHAT)],
    sample: Annotated[str | None, option("Its id, or how it begins. [default: list the worst]", WHAT)] = None,
    model: Annotated[str | None, option("Only this model.", WHAT)] = None,
    suite: Annotated[str | None, option("Only this evaluation.", WHAT)] = None,
    repetition: Annotated[
        int | None, option("Of several, from 0. [default: the first that went wrong]", WHAT, check=Number(gte=0))
    ] = None,
    limit: Annotated[
        int, option("List at most N samples.", OUTPUT, "--limit", "-n", check=Number(gte=1, lte=10_000))
    ] = 20,
    full: Annotated[bool, flag("Do not cut long texts.", OUTPUT)] = False,
    json: Annotated[bool, flag("Print JSON.", OUTPUT)] = False,
) -> int:
    """Show why a vendor's answer counts as it does: prompt, reply with its moments, what was expected, schema errors
    with their place, the other vendors' answers, and a curl without the key. Without --sample: its worst samples.
    """
    import msgspec

    from vendor_verifier.pipeline.explaining import Wanted, explain, worst_samples
    from vendor_verifier.reports.explanation_text import FULL, SHORT, explanation_lines, slip_lines
    from vendor_verifier.store import RunFolder

    wanted = Wanted(vendor, sample, model, suite, repetition)
    folder = RunFolder(run)
    if sample is None:
        slips = worst_samples(folder, wanted, limit)
        lines, document = list(slip_lines(slips)), msgspec.to_builtins(slips)
    else:
        found = explain(folder, wanted)
        lines = [line for each in found for line in explanation_lines(each, FULL if full else SHORT)]
        document = msgspec.to_builtins(found)
    if json:
        import json as json_module

        sys.stdout.write(json_module.dumps(document, indent=2) + "\n")
    else:
        sys.stdout.write("".join(line + "\n" for line in lines))
    return EXIT_OK
