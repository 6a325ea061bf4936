"""The command ``doctor``: at most three tiny requests to each configured vendor, and what they show."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from vendor_verifier.cli.console import say
from vendor_verifier.cli.options import OUTPUT, WHAT, flag, many, option


def doctor_command(
    *,
    config_file_path: Annotated[Path, option("Models and vendors.", WHAT)] = Path("config.yaml"),
    env_file: Annotated[Path | None, option("API keys. [default: .env beside the config]", WHAT)] = None,
    model: Annotated[tuple[str, ...], many("Only this model (repeatable).", WHAT)] = (),
    vendor: Annotated[tuple[str, ...], many("Only this vendor or label (repeatable).", WHAT)] = (),
    vendor_path: Annotated[tuple[Path, ...], many("Folder with vendor plugins (repeatable).", WHAT)] = (),
    tokenizer_model: Annotated[str | None, option("Chat template of raw completions.", WHAT)] = None,
    sdk: Annotated[bool, flag("Replay the answers through the official SDKs, too.", WHAT)] = False,
    json: Annotated[bool, flag("Print JSON.", OUTPUT)] = False,
) -> int:
    """Check each vendor: name, TLS, key, model, tools, streaming, usage, who answers, clock.

    At most three requests of a few tokens each. Exit codes: 0 all usable, 1 something departs, 3 a vendor cannot be
    used.
    """
    from vendor_verifier.config import read_environment
    from vendor_verifier.doctor.diagnosing import exit_code_of
    from vendor_verifier.doctor.examining import DoctorRequest, doctor
    from vendor_verifier.doctor.telling import as_json, as_text
    from vendor_verifier.reports.escape import plain

    request = DoctorRequest(
        config_file_path, env_file, vendor_path, model, vendor, sdk=sdk, tokenizer_model=tokenizer_model
    )
    visit = doctor(request, read_environment())
    for warning in visit.warnings:
        say(f"warning: {plain(visit.scrubber.text(warning))}")
    sys.stdout.write((as_json if json else as_text)(visit.diagnoses, visit.scrubber))
    return exit_code_of(visit.diagnoses)
