"""The command ``explain``: explanations in plain lines, every word of a vendor or sample made harmless."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.console.output import EXIT_OK
from vendor_verifier.features.explain.find_problems import BadSamples, Explanation, OtherAnswer
from vendor_verifier.scoring.answer import is_spoilt
from vendor_verifier.pipeline.options import OUTPUT, WHAT, flag, option
from vendor_verifier.records.event import Usage
from vendor_verifier.records.record import Attempt, Record, Response, Timing
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.scoring.report_samples import compact
from vendor_verifier.words import Texts

SHORT, FULL = 2_000, 1_000_000


def sample_lines(listed: BadSamples) -> Iterator[str]:
    """One line a sample, worst first, and how to see one of them."""
    t = Texts()
    yield from (plain(note, MAX_SENTENCE) for note in listed.notes)
    for sample in listed.shown:
        words = t.joined(sample.reasons, "semicolon")
        line = f"{sample.model} / {sample.label}  {sample.suite}  {sample.sample}  {words}"
        yield plain(line if sample.records == 1 else t("explain_times", line=line, count=sample.records))
    found = t("explain_found", found=listed.found, records=listed.records)
    is_cut = listed.found > len(listed.shown)
    yield t("explain_worst", found=found, shown=len(listed.shown)) if is_cut else found
    if listed.shown:
        yield t("explain_see")


def explanation_lines(explained: Explanation, limit: int = SHORT) -> Iterator[str]:
    """Prompt, reply, expectation, schema errors, the other vendors and a curl; no text above ``limit`` characters."""
    t = Texts()
    yield from _head(explained, t)
    yield from _asked(explained, t, limit)
    yield from _replies(explained.record, t, limit)
    yield from _expected(explained, t, limit)
    yield from _violations(explained, t, limit)
    yield t("explain_elsewhere" if explained.others else "explain_nowhere_else")
    yield from (_other(other, t, limit) for other in explained.others)
    yield from _curl(explained, t)


def _head(explained: Explanation, t: Texts) -> Iterator[str]:
    record, source = explained.record, explained.sample.source
    vendor = f"{record.model} / {record.label}"
    head = t("explain_sample", vendor=vendor, suite=record.suite, sample=record.sample, repetition=record.repetition)
    if source is not None:
        head = t("explain_source", head=head, dataset=source.dataset, line=source.line)
    yield plain(head)
    if explained.redacted:
        yield t("explain_redacted")
    yield plain(t("explain_wrong", reasons=explained.reasons) if explained.reasons else t("explain_wrong_nothing"))
    yield from (plain(t("explain_defect", defect=defect)) for defect in explained.defects)


def _asked(explained: Explanation, t: Texts, limit: int) -> Iterator[str]:
    yield t("explain_prompt")
    turn = explained.asked[-1] if explained.asked else explained.sample.turn
    for message in turn.messages:
        rest = {key: value for key, value in message.items() if key != "role"}
        content = rest.get("content") if set(rest) == {"content"} else rest
        yield _inner(f"{message.get('role')}: {content if isinstance(content, str) else compact(content)}", limit)
    names = [str(tool.get("function", {}).get("name")) for tool in turn.tools if isinstance(tool, Mapping)]
    yield _inner(t("explain_tools", names=", ".join(names)) if names else t("explain_tools_none"), limit)
    if turn.parameters:
        yield _inner(t("explain_parameters", parameters=compact(dict(turn.parameters))), limit)


def _replies(record: Record, t: Texts, limit: int) -> Iterator[str]:
    for number, turn in enumerate(record.turns, 1):
        for attempt in turn.attempts:
            which = [
                t("explain_turn", number=number) if len(record.turns) > 1 else None,
                t("explain_attempt", number=attempt.number),
                t("explain_resent") if attempt.resent else None,
            ]
            yield t("explain_reply", which=t.joined(which))
            yield from ("  " + line for line in _attempt(attempt, t, limit))
        if turn.rewritten:
            yield _inner(t("explain_rewritten", words=", ".join(turn.rewritten)), limit)
        for result in turn.tool_results:
            facts = {"name": result.name, "outcome": t(f"tool_{result.outcome}"), "time": _ms(result.took_ns, t)}
            yield _inner(t("explain_tool", **facts, text=result.text), limit)


def _attempt(attempt: Attempt, t: Texts, limit: int) -> Iterator[str]:
    if attempt.timing is not None:
        yield from _timing(attempt.timing, t)
    if attempt.response is not None:
        yield from _response(attempt.response, t, limit)
    if attempt.failure is not None:
        failure = attempt.failure
        facts = [
            failure.kind,
            t("explain_phase", phase=failure.phase),
            t("explain_status", status=failure.status) if failure.status is not None else None,
            t("explain_code", code=failure.code) if failure.code is not None else None,
            t("explain_request_id", id=failure.request_id) if failure.request_id is not None else None,
        ]
        yield plain(t("explain_failure", facts=t.joined(facts), message=failure.message), limit)


_MARKS = (
    "connect_ns",
    "headers_ns",
    "first_event_ns",
    "first_token_ns",
    "first_answer_ns",
    "last_token_ns",
    "end_ns",
)


def _timing(timing: Timing, t: Texts) -> Iterator[str]:
    yield plain(t("explain_sent_at", moment=timing.sent_at))
    marks = {name: getattr(timing, name) for name in _MARKS}
    moments = [t(f"moment_{name}", time=_ms(ns, t)) for name, ns in marks.items() if ns is not None]
    yield t("explain_after", moments=t.joined(moments))
    if timing.our_lateness_ns is not None and is_spoilt(timing.our_lateness_ns, 0):
        yield t("explain_late", time=_ms(timing.our_lateness_ns, t))
    if timing.gaps_ns:
        gaps = timing.gaps_ns
        yield t("explain_gaps", count=len(gaps), median=_ms(median(gaps), t), longest=_ms(max(gaps), t))


def _response(response: Response, t: Texts, limit: int) -> Iterator[str]:
    if response.reasoning:
        yield plain(t("explain_reasoning", text=response.reasoning), limit)
    yield plain(t("explain_text", text=response.text), limit) if response.text else t("explain_text_none")
    for call in response.tool_calls:
        noted = f"  [{', '.join(call.anomalies)}]" if call.anomalies else ""
        yield plain(t("explain_call", call=f"{call.name}({call.arguments})") + noted, limit)
    reason = response.finish_reason or t("explain_none")
    is_same = response.finish_raw in (None, response.finish_reason)
    yield plain(
        t("explain_finish", reason=reason)
        if is_same
        else t("explain_finish_raw", reason=reason, raw=response.finish_raw)
    )
    if response.anomalies:
        yield plain(t("explain_anomalies", names=", ".join(response.anomalies)), limit)
    names = [
        t(name, name=value) if value is not None else None
        for name, value in (
            ("explain_served_model", response.served_model),
            ("explain_served_provider", response.served_provider),
            ("explain_fingerprint", response.fingerprint),
        )
    ]
    names += [t("explain_request_id", id=response.request_id) if response.request_id is not None else None]
    if any(names):
        yield plain(t.joined(names))
    usage = response.usage
    if usage is not None:
        yield t("explain_usage", **_told(usage, ("input", "output", "cached", "reasoning"), t))


def _told(usage: Usage, names: Sequence[str], t: Texts) -> dict[str, object]:
    """The counts of those names, in words where the vendor told none."""
    counts = {name: getattr(usage, name) for name in names}
    return {name: t("explain_not_told") if count is None else count for name, count in counts.items()}


def _expected(explained: Explanation, t: Texts, limit: int) -> Iterator[str]:
    yield t("explain_expected")
    baseline = [other for other in explained.others if other.is_baseline]
    for other in baseline:
        yield _inner(t("explain_by_baseline", label=other.label, answer=_answer_text(other, t)), limit)
    if explained.sample.expected:
        yield _inner(t("explain_by_sample", expected=compact(dict(explained.sample.expected))), limit)
    elif not baseline:
        yield "  " + t("explain_unknown")
    values = [
        t("explain_not_measured", name=name) if value is None else f"{name} {value:g}"
        for name, value in explained.score.values.items()
    ]
    yield plain(t("explain_judged", values=t.joined([explained.score.decision, *values])))
    if (reason := explained.score.reason) is not None:
        yield plain(t("explain_why", reason=reason), limit)


def _violations(explained: Explanation, t: Texts, limit: int) -> Iterator[str]:
    if not explained.violations:
        yield t("explain_schema_kept" if explained.score.calls else "explain_no_call")
        return
    yield t("explain_violations")
    for each in explained.violations:
        words = t("explain_violation", tool=each.tool, verdict=each.verdict)
        words = words if each.pointer is None else t("explain_at", violation=words, pointer=each.pointer)
        yield _inner(t("explain_because", violation=words, message=each.message) if each.message else words, limit)


def _other(other: OtherAnswer, t: Texts, limit: int) -> str:
    name = t("explain_baseline", label=other.label) if other.is_baseline else other.label
    ttft = None if other.ttft_ms is None else t("moment_first_token_ns", time=_ms(other.ttft_ms * 1e6, t))
    bad = [call.verdict for call in other.verdicts if call.verdict != "valid"]
    usage = other.usage
    billed = None if usage is None else t("explain_billed", **_told(usage, ("input", "output"), t))
    answer = t.joined([_answer_text(other, t), ttft, billed, *bad])
    return _inner(t("explain_other", name=name, repetition=other.repetition, answer=answer), limit)


def _answer_text(other: OtherAnswer, t: Texts) -> str:
    if other.outcome != "ok":
        return t("wrong_failed", failure=other.outcome)
    return t("explain_calls", decision=other.decision, calls="; ".join(other.calls)) if other.calls else other.decision


def _curl(explained: Explanation, t: Texts) -> Iterator[str]:
    if explained.curl is None:
        yield plain(t("explain_no_curl", reason=explained.no_curl))
        return
    yield t("explain_again")
    # Already harmless, and a cut would make it another request.
    yield from str(explained.curl).splitlines()


def _inner(text: str, limit: int) -> str:
    """A line below a heading."""
    return "  " + plain(text, limit)


def _ms(ns: float, t: Texts) -> str:
    return t("milliseconds", value=f"{ns / 1e6:.0f}")


def explain_command(
    run: Annotated[Path, Parameter(help="A run folder.")],
    /,
    *,
    vendor: Annotated[str | None, option("Explain this vendor or label. [default: the run's only one]", WHAT)] = None,
    sample: Annotated[str | None, option("Show the sample whose id begins so. [default: list the worst]", WHAT)] = None,
    model: Annotated[str | None, option("Look at this model only.", WHAT)] = None,
    suite: Annotated[str | None, option("Look at this evaluation only.", WHAT)] = None,
    repetition: Annotated[
        int | None,
        option("Show this repetition, from 0. [default: the first that went wrong]", WHAT, check=Number(gte=0)),
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

    from vendor_verifier.features.explain.explain import Wanted, explain, worst_samples
    from vendor_verifier.pipeline.latest_run import run_named
    from vendor_verifier.store import RunFolder

    wanted = Wanted(vendor, sample, model, suite, repetition)
    folder = RunFolder(run_named(run))
    if sample is None:
        listed = worst_samples(folder, wanted, limit)
        lines, document = list(sample_lines(listed)), msgspec.to_builtins(listed, enc_hook=str)
    else:
        found = explain(folder, wanted)
        lines = [line for each in found for line in explanation_lines(each, FULL if full else SHORT)]
        document = msgspec.to_builtins(found, enc_hook=str)
    if json:
        import json as json_module

        sys.stdout.write(json_module.dumps(document, indent=2) + "\n")
    else:
        sys.stdout.write("".join(line + "\n" for line in lines))
    return EXIT_OK
