"""Puts an examination together: all checks of one case, and the verdict they lead to; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from vendor_verifier.doctor.answer_checks import (
    provider_check,
    served_model_check,
    streams_check,
    tools_check,
    usage_check,
)
from vendor_verifier.doctor.checks import (
    answer_check,
    clock_check,
    error_body,
    key_check,
    model_check,
    name_check,
    tls_check,
)
from vendor_verifier.doctor.spending import spending
from vendor_verifier.doctor.timeline import timeline
from vendor_verifier.doctor.values import Answer, Case, Check, Diagnosis, SdkFinding, Verdict
from vendor_verifier.wire.base import Wire

CHECKS: tuple[Callable[[Case], Check], ...] = (
    name_check,
    tls_check,
    key_check,
    model_check,
    answer_check,
    tools_check,
    streams_check,
    usage_check,
    served_model_check,
    provider_check,
    clock_check,
)
# Without these there is nothing to use; the others are reservations.
_VITAL = frozenset({"name resolves", "tls", "key accepted", "model exists", "answers"})


def diagnose(case: Case, wire: Wire) -> Diagnosis:
    """Judge one case. ``wire`` gives a fresh reader for the timeline."""
    entry = case.entry
    checks = tuple(check(case) for check in CHECKS)
    shown = _most_telling(case.answers)
    return Diagnosis(
        model=entry.model,
        label=entry.label,
        vendor=entry.vendor,
        wire=entry.wire,
        model_id=entry.endpoint.model_id,
        reach=case.reach,
        verdict=verdict(checks, case.sdk),
        checks=checks,
        spending=spending(case.answers, entry.price),
        key_name=entry.key_name or (f"command {entry.key_command[0]}" if entry.key_command else None),
        timeline_of=shown.question.name if shown is not None else None,
        timeline=timeline(shown, wire.reader(shown.question.turn.tools)) if shown is not None else (),
        error_body=error_body(case.answers),
        sdk=case.sdk,
    )


def verdict(checks: Iterable[Check], sdk: Iterable[SdkFinding] = ()) -> Verdict:
    """Not usable when a vital check failed; with reservations when anything else departs; usable otherwise."""
    found = list(checks)
    if any(check.status == "failed" and check.name in _VITAL for check in found):
        return "not_usable"
    departs = any(check.status in ("failed", "warning") for check in found)
    return "usable_with_reservations" if departs or any(one.status != "consistent" for one in sdk) else "usable"


def exit_code_of(diagnoses: Iterable[Diagnosis]) -> int:
    """0 all are usable as they are, 1 something departs, 3 a vendor cannot be used."""
    verdicts = {diagnosis.verdict for diagnosis in diagnoses}
    if "not_usable" in verdicts:
        return 3
    return 1 if "usable_with_reservations" in verdicts else 0


def _most_telling(answers: Sequence[Answer]) -> Answer | None:
    """The answer whose timeline is worth showing: a whole text, else any whole one, else any that began."""
    wholes = [answer for answer in answers if answer.succeeded]
    texts = [answer for answer in wholes if answer.question.topic == "text"]
    begun = [answer for answer in answers if answer.exchange.status is not None]
    return next(iter(texts or wholes or begun), None)
