"""The command ``doctor`` and its JSON; every word of a vendor is scrubbed, escaped and capped."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from vendor_verifier.console.output import stdout_console, warn
from vendor_verifier.features.doctor.diagnose import exit_code_of
from vendor_verifier.features.doctor.text import MAX_BODY, as_text, render
from vendor_verifier.features.doctor.values import Diagnosis
from vendor_verifier.pipeline.options import OUTPUT, WHAT, flag, many, option
from vendor_verifier.redaction import Scrubber
from vendor_verifier.reports.escape import visible
from vendor_verifier.values.nested_dict import nested_dict


def as_json(diagnoses: Sequence[Diagnosis], scrubber: Scrubber) -> str:
    """One JSON object: ``vendors`` (a list of diagnoses) and ``exit_code``."""
    content = {"vendors": [nested_dict(diagnosis) for diagnosis in diagnoses], "exit_code": exit_code_of(diagnoses)}
    return json.dumps(_clean(content, scrubber), indent=2, allow_nan=False) + "\n"


def _clean(value: Any, scrubber: Scrubber) -> Any:
    if isinstance(value, str):
        return visible(scrubber.text(value), MAX_BODY)
    if isinstance(value, dict):
        return {key: _clean(item, scrubber) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item, scrubber) for item in value]
    return value


def doctor_command(
    *,
    config_file_path: Annotated[Path, option("Read models and vendors from here.", WHAT)] = Path("config.yaml"),
    env_file: Annotated[Path | None, option("Read API keys from here. [default: .env beside the config]", WHAT)] = None,
    model: Annotated[tuple[str, ...], many("Check this model only (repeatable).", WHAT)] = (),
    vendor: Annotated[tuple[str, ...], many("Check this vendor or label only (repeatable).", WHAT)] = (),
    vendor_path: Annotated[tuple[Path, ...], many("Load vendor plugins from this folder (repeatable).", WHAT)] = (),
    tokenizer_model: Annotated[str | None, option("Take the chat template from this folder or hub name.", WHAT)] = None,
    verbose: Annotated[bool, flag("Show every check, its evidence and the time line of an answer.", OUTPUT)] = False,
    json: Annotated[bool, flag("Print JSON.", OUTPUT)] = False,
) -> int:
    """Check each vendor: name, TLS, key, model, tools, streaming, usage, who answers, clock, official SDK.

    At most three requests of a few tokens each, and a line of one table. Exit codes: 0 all usable, 1 something departs,
    3 a vendor cannot be used.
    """
    from vendor_verifier.config import read_environment
    from vendor_verifier.features.doctor.diagnose import exit_code_of
    from vendor_verifier.features.doctor.examine import DoctorRequest, doctor

    request = DoctorRequest(config_file_path, env_file, vendor_path, model, vendor, tokenizer_model)
    visit = doctor(request, read_environment())
    for warning in visit.warnings:
        warn(visit.scrubber.text(warning))
    found = visit.diagnoses
    if json:
        sys.stdout.write(as_json(found, visit.scrubber))
    elif sys.stdout.isatty():
        stdout_console().print(render(found, visit.scrubber, verbose=verbose), crop=False)
    else:
        sys.stdout.write(as_text(found, visit.scrubber, verbose=verbose))
    return exit_code_of(visit.diagnoses)
