"""The command ``doctor`` and its text and JSON; every word of a vendor is scrubbed, escaped and capped."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from vendor_verifier.console.output import warn
from vendor_verifier.features.doctor.diagnose import exit_code_of
from vendor_verifier.features.doctor.values import Diagnosis, Spending, Verdict
from vendor_verifier.pipeline.options import OUTPUT, WHAT, flag, many, option
from vendor_verifier.redaction import Scrubber
from vendor_verifier.reports.escape import plain, visible
from vendor_verifier.words import Language, Texts

MAX_EVIDENCE = 300
MAX_BODY = 1000
_VERDICTS: tuple[Verdict, ...] = ("usable", "usable_with_reservations", "not_usable")


def as_text(diagnoses: Sequence[Diagnosis], scrubber: Scrubber, language: Language = "en") -> str:
    """Plain lines: one block a vendor, and at the end one line with how many are what."""
    t = Texts(language)
    lines = [line for diagnosis in diagnoses for line in (*_block(diagnosis, scrubber, t), "")]
    verdicts = [diagnosis.verdict for diagnosis in diagnoses]
    counts = [t("doctor_count", count=verdicts.count(each), verdict=t(f"verdict_{each}")) for each in _VERDICTS]
    lines.append(t.joined(counts, "clause"))
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


def _block(diagnosis: Diagnosis, scrubber: Scrubber, t: Texts) -> Iterator[str]:
    def safe(text: str, limit: int = MAX_EVIDENCE) -> str:
        return plain(scrubber.text(text), limit)

    yield safe(f"{diagnosis.model} / {diagnosis.label}: {t(f'verdict_{diagnosis.verdict}')}")
    yield "  " + safe(_sender(diagnosis, t))
    yield "  " + safe(t("doctor_proxy", proxy=diagnosis.reach.proxy or t("explain_none")))
    for check in diagnosis.checks:
        name = t(f"check_{check.name.replace(' ', '_')}")
        yield f"  {t(f'doctor_is_{check.status}'):8} {name:16} {safe(t.said(check.evidence))}"
    for finding in diagnosis.sdk:
        status = t("doctor_is_ok" if finding.status == "consistent" else "doctor_is_failed")
        evidence = t.said(finding.evidence) if finding.evidence else t(f"sdk_{finding.status}")
        words = t("sdk_line", sdk=finding.sdk, route=finding.route, question=finding.question, evidence=evidence)
        yield f"  {status:8} {'sdk':16} {safe(words)}"
    if diagnosis.timeline_of is not None:
        yield "  " + safe(t("timeline_of", question=diagnosis.timeline_of))
    for moment in diagnosis.timeline:
        words = t("timeline_text", what=moment.what, text=moment.text) if moment.text else t.said(moment.what)
        yield f"  {moment.at_ms:10.1f} ms  {safe(words)}"
    if diagnosis.error_body is not None:
        yield "  " + safe(t("doctor_body", body=diagnosis.error_body), MAX_BODY)
    yield "  " + spent(diagnosis.spending, t)


def _sender(diagnosis: Diagnosis, t: Texts) -> str:
    key = t("doctor_key", name=diagnosis.key_name) if diagnosis.key_name else t("doctor_no_key")
    origin = diagnosis.reach.origin
    return t("doctor_sends", wire=diagnosis.wire, model=diagnosis.model_id, key=key, origin=origin)


def spent(spending: Spending, t: Texts) -> str:
    """Requests, tokens and cost in one line."""
    taken = spending.input_tokens
    return t.joined(
        [
            t("doctor_requests", n=spending.requests),
            t("doctor_tokens_about" if spending.estimated else "doctor_tokens", count=taken),
            t("doctor_tokens_out", count=spending.output_tokens),
            t("doctor_no_cost") if spending.cost_usd is None else f"${spending.cost_usd:.6f}",
        ],
        "clause",
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
    lang: Annotated[Language, option("Language of what people read.", OUTPUT)] = "en",
    json: Annotated[bool, flag("Print JSON.", OUTPUT)] = False,
) -> int:
    """Check each vendor: name, TLS, key, model, tools, streaming, usage, who answers, clock.

    At most three requests of a few tokens each. Exit codes: 0 all usable, 1 something departs, 3 a vendor cannot be
    used.
    """
    from vendor_verifier.config import read_environment
    from vendor_verifier.features.doctor.diagnose import exit_code_of
    from vendor_verifier.features.doctor.examine import DoctorRequest, doctor

    request = DoctorRequest(
        config_file_path, env_file, vendor_path, model, vendor, sdk=sdk, tokenizer_model=tokenizer_model
    )
    visit = doctor(request, read_environment())
    for warning in visit.warnings:
        warn(visit.scrubber.text(warning), lang)
    found = visit.diagnoses
    sys.stdout.write(as_json(found, visit.scrubber) if json else as_text(found, visit.scrubber, lang))
    return exit_code_of(visit.diagnoses)
