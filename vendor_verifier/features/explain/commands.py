"""The commands ``explain``, the evidence of a verdict, and ``view``, all samples and answers in the browser."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.cli.output import EXIT_OK, say
from vendor_verifier.config.run_config import INPUT, OUTPUT, option
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.results import FacetName
from vendor_verifier.store import RunFolder, run_named


def explain_command(
    run: Annotated[Path | None, Parameter(help="A run folder. [default: the last one under runs/]")] = None,
    /,
    *,
    vendor: Annotated[str | None, option("Explain this vendor or label. [default: the run's only one]", INPUT)] = None,
    facet: Annotated[FacetName | None, option("Explain this facet. [default: all that do not match]", INPUT)] = None,
    sample: Annotated[str | None, option("Show this sample: our id, the row's own id, or line:N.", INPUT)] = None,
    model: Annotated[str | None, option("Show this model only.", INPUT)] = None,
    limit: Annotated[int, option("Rows in each table, at most.", OUTPUT, "-n", check=Number(gte=1, lte=10_000))] = 10,
    full: Annotated[bool, option("Do not cut long texts.", OUTPUT)] = False,
    json: Annotated[bool, option("Print JSON.", OUTPUT)] = False,
) -> int:
    """Show what made the verdict on a vendor, then its failures, each with a curl command without the key.

    With --sample: one answer with its prompt, moments, schema errors, the other vendors' answers, and a curl command.
    """
    from vendor_verifier.features.explain.evidence import explain_vendor, vendor_lines
    from vendor_verifier.features.explain.sample import answer_lines, explain_sample
    from vendor_verifier.pipeline.score import score_folder
    from vendor_verifier.reports.escape import json_text

    folder = RunFolder(run_named(run))
    manifest = folder.read_manifest()
    if sample is not None and vendor is None:
        # The answers of the others are shown with it.
        vendor = next(
            (each.label for each in manifest.entries if not each.is_baseline and model in (None, each.model)), None
        )
    chosen = chosen_entries(manifest, vendor, model)
    cut = 1_000_000 if full else 2_000 if sample else 300
    found: list[list[Any]]
    if sample is None:
        scored = score_folder(folder)
        found = [explain_vendor(folder, scored, *entry, facet, limit) for entry in chosen]
        lines = [line for each in found for line in vendor_lines(each, cut)]
    else:
        found = explain_sample(folder, chosen, sample)
        lines = [line for each in found for line in answer_lines(each, cut)]
    if json:
        lines = [json_text(found)]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return EXIT_OK


def chosen_entries(manifest: Manifest, vendor: str | None, model: str | None) -> list[tuple[str, str]]:
    """(model, label) of the entries of a vendor, given by its label or name; without a vendor of the run's only one.

    Raises:
        ProblemsError: no such vendor or model in the run, or no vendor given and several there.
    """
    entries = [each for each in manifest.entries if model in (None, each.model)]
    if not entries:
        known = ", ".join(dict.fromkeys(each.model for each in manifest.entries))
        raise ProblemsError([Problem(f"read {model!r}; the run has {known}", key="--model")])
    labels = list(dict.fromkeys(each.label for each in entries))
    if vendor is None and len(labels) == 1:
        vendor = labels[0]
    found = [each for each in entries if vendor in (each.label, each.vendor)]
    if not found:
        words = "name one of" if vendor is None else f"read {vendor!r}; the run has"
        raise ProblemsError([Problem(f"{words} {', '.join(labels)}", key="--vendor")])
    return [each.key for each in found]


def view_command(
    run: Annotated[Path | None, Parameter(help="A run folder. [default: the last one under runs/]")] = None,
    /,
    *,
    port: Annotated[int, option("Port on loopback; 0 takes a free one.", OUTPUT, check=Number(gte=0, lte=65535))] = 0,
    print_only: Annotated[bool, option("Print the address, open no browser.", OUTPUT, name="--print")] = False,
) -> int:
    """Look through all samples and answers of a run in the browser: filter, search, compare.

    The pages are served to this machine only, read only. Ctrl-C ends it.
    """
    import webbrowser

    from vendor_verifier.features.explain.view import ViewServer, index_of

    folder = run_named(run)
    server = ViewServer(index_of(folder), port)
    say(f"{folder} at {server.address} (Ctrl-C ends it)")
    if not print_only:
        webbrowser.open(server.address)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever(poll_interval=0.2)
    return EXIT_OK
