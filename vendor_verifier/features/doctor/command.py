"""The command ``doctor`` and its text and JSON; every word of a vendor is scrubbed, escaped and capped."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from vendor_verifier.console.output import say
from vendor_verifier.features.doctor.diagnose import exit_code_of
from vendor_verifier.features.doctor.values import Diagnosis, Spending, Verdict
from vendor_verifier.pipeline.options import OUTPUT, WHAT, flag, many, option
from vendor_verifier.redaction import Scrubber
from vendor_verifier.reports.escape import plain, visible

MAX_EVIDENCE = 300
MAX_BODY = 1000
_VERDICTS: Mapping[Verdict, str] = {
    "usable": "usable",
    "usable_with_reservations": "usable with reservations",
    "not_usable": "NOT USABLE",
}
_STATUSES = {"ok": "ok", "warning": "warning", "failed": "FAILED", "not_measurable": "–"}


def as_text(diagnoses: Sequence[Diagnosis], scrubber: Scrubber) -> str:
    """Plain lines: one block a vendor, and at the end one line with how many are what."""
    lines = [line for diagnosis in diagnoses for line in (*_block(diagnosis, scrubber), "")]
    verdicts = [diagnosis.verdict for diagnosis in diagnoses]
    lines.append(", ".join(f"{verdicts.count(verdict)} {words}" for verdict, words in _VERDICTS.items()))
    return "\n".join(lines) + "\n"


def as_json(diagnoses: Sequence[Diagnosis], scrubber: Scrubber) -> str:
    """One JSON object: ``vendors`` (a list of diagnoses) and ``exit_code``."""
    content = {"vendors": [asdict(diagnosis) for diagnosis in diagnoses], "exit_code": exit_code_of(diagnoses)}
    return json.dumps(_clean(content, scrubber), indent=2, allow_nan=False) + "\n"


def _clean(value: Any, scrubber: Scrubber) -> Any:
    if isinstance(value, str):
        return visible(scrubber.text(value), MAX_BODY)
    if isinstance(value, dict):
        return {key: _clean(item, scrubber) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item, scrubber) for item in value]
    return value


def _block(diagnosis: Diagnosis, scrubber: Scrubber) -> Iterator[str]:
    def safe(text: str, limit: int = MAX_EVIDENCE) -> str:
        return plain(scrubber.text(text), limit)

    reach = diagnosis.reach
    yield safe(f"{diagnosis.model} / {diagnosis.label}: {_VERDICTS[diagnosis.verdict]}")
    sender = f"the key in {diagnosis.key_name}" if diagnosis.key_name else "no key"
    yield "  " + safe(f"{diagnosis.wire}, model {diagnosis.model_id}; {sender} goes to {reach.origin}")
    yield "  " + safe(f"proxy: {reach.proxy or 'none'}")
    for check in diagnosis.checks:
        yield f"  {_STATUSES[check.status]:8} {check.name:16} {safe(check.evidence)}"
    for finding in diagnosis.sdk:
        status = "ok" if finding.status == "consistent" else "FAILED"
        evidence = "; ".join(finding.evidence) or finding.status
        yield f"  {status:8} {'sdk':16} {safe(f'{finding.sdk} {finding.route}, {finding.question}: {evidence}')}"
    if diagnosis.timeline_of is not None:
        yield "  " + safe(f"the answer to: {diagnosis.timeline_of}")
    for moment in diagnosis.timeline:
        words = f"{moment.what}: {moment.text}" if moment.text else moment.what
        yield f"  {moment.at_ms:10.1f} ms  {safe(words)}"
    if diagnosis.error_body is not None:
        yield "  " + safe(f"body of the refusal: {diagnosis.error_body}", MAX_BODY)
    yield "  " + spent(diagnosis.spending)


def spent(spending: Spending) -> str:
    """Requests, tokens and cost in one line."""
    about = "about " if spending.estimated else ""
    cost = "cost not known" if spending.cost_usd is None else f"${spending.cost_usd:.6f}"
    many = "" if spending.requests == 1 else "s"
    return (
        f"{spending.requests} request{many}, {about}{spending.input_tokens} tokens in, "
        f"{spending.output_tokens} tokens out, {cost}"
    )


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
    from vendor_verifier.features.doctor.diagnose import exit_code_of
    from vendor_verifier.features.doctor.examine import DoctorRequest, doctor
    from vendor_verifier.reports.escape import plain

    request = DoctorRequest(
        config_file_path, env_file, vendor_path, model, vendor, sdk=sdk, tokenizer_model=tokenizer_model
    )
    visit = doctor(request, read_environment())
    for warning in visit.warnings:
        say(f"warning: {plain(visit.scrubber.text(warning))}")
    sys.stdout.write((as_json if json else as_text)(visit.diagnoses, visit.scrubber))
    return exit_code_of(visit.diagnoses)
