"""The commands ``run`` and ``demo``. What they need is imported when they are called: help stays quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts.validators import Number

from vendor_verifier.cli.options import Display, Settings
from vendor_verifier.config.run_config import INPUT, OUTPUT, RunOptions, option
from vendor_verifier.resources import shipped

_DISPLAY = Display()


def run_command(
    *,
    options: Settings = None,
    dry_run: Annotated[bool, option("Show what would be sent, its time and cost; send nothing.", INPUT)] = False,
    display: Display = _DISPLAY,
) -> int:
    """Send every sample to every configured vendor, score the answers, rank the vendors."""
    from vendor_verifier.cli.main_job import run_main_job

    return run_main_job(options or RunOptions(), display, dry_run=dry_run)


def demo_command(
    *,
    limit: Annotated[
        int | None,
        option("Use only N samples, of all categories.", OUTPUT, "--limit", "-n", check=Number(gte=1)),
    ] = None,
    head: Annotated[bool, option("With --limit: take the first N.", OUTPUT)] = False,
    suite: Annotated[tuple[str, ...], option("Run this evaluation (repeatable). [default: trigger]", OUTPUT)] = (),
    set: Annotated[tuple[str, ...], option("Option of an evaluation, as suite.key=value (repeatable).", OUTPUT)] = (),
    seed: Annotated[int, option("Seed of the simulated answers.", OUTPUT)] = 0,
    output_dir: Annotated[
        Path | None, option("Write the run into this folder. [default: runs/<timestamp>]", OUTPUT, "--output-dir", "-o")
    ] = None,
    dry_run: Annotated[bool, option("Show what would be sent; send nothing.", OUTPUT)] = False,
    serve: Annotated[bool, option("Serve the simulated vendors on port 8600 instead.", OUTPUT)] = False,
    quiet: Annotated[bool, option("Print no progress on stderr.", OUTPUT, "--quiet", "-q")] = False,
    json: Annotated[bool, option("Print scores.json instead of tables.", OUTPUT)] = False,
) -> int:
    """Try it on built-in simulated vendors: no key, no network, under a minute."""
    if serve:
        from vendor_verifier.features.simulate.command import simulate_command

        return simulate_command(seed=seed)
    from vendor_verifier.cli.main_job import run_main_job
    from vendor_verifier.config.model_names import SIMULATED_MODEL

    options = RunOptions(
        config_file_path=shipped("config_simulated.yaml"),
        model=(SIMULATED_MODEL,),
        suite=suite,
        set=set,
        limit=limit,
        head=head,
        seed=seed,
        request_concurrency=5,
        output_dir=output_dir,
        history=Path("none"),
    )
    display = Display(quiet=quiet, json=json)
    # Bad enough to make a run of few samples incomplete, which the demonstration is not for that.
    return run_main_job(options, display, dry_run=dry_run, meant_to_fail=(f"{SIMULATED_MODEL}: cutter",))
