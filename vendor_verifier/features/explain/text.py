"""The command ``explain``: explanations in plain lines, every word of a vendor or sample made harmless."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.console.output import EXIT_OK
from vendor_verifier.features.explain.find_problems import BadSamples, Explanation, OtherAnswer
from vendor_verifier.metrics.answer import is_spoilt
from vendor_verifier.pipeline.options import OUTPUT, WHAT, flag, option
from vendor_verifier.reports.escape import plain
from vendor_verifier.scoring.report_samples import compact
from vendor_verifier.values.record import Attempt, Response, Timing

SHORT, FULL = 2_000, 1_000_000


def sample_lines(listed: BadSamples) -> Iterator[str]:
    """One line a sample, worst first, and how to see one of them."""
    yield from (plain(note) for note in listed.notes)
    for sample in listed.shown:
        times = "" if sample.records == 1 else f" ({sample.records} times)"
        yield plain(
            f"{sample.model} / {sample.label}  {sample.suite}  {sample.sample}  {'; '.join(sample.reasons)}{times}"
        )
    more = f", the worst {len(listed.shown)} shown" if listed.found > len(listed.shown) else ""
    yield f"{listed.found} samples with something wrong in {listed.records} answers{more}"
    if listed.shown:
        yield "see one with --sample ID"


def explanation_lines(explained: Explanation, limit: int = SHORT) -> Iterator[str]:
    """Prompt, reply, expectation, schema errors, the other vendors and a curl; no text above ``limit`` characters."""
    record, source = explained.record, explained.sample.source
    yield plain(
        f"{record.model} / {record.label}: {record.suite} sample {record.sample}, repetition {record.repetition}"
        + (f", {source.dataset} line {source.line}" if source is not None else "")
    )
    if explained.redacted:
        yield "this run is redacted: texts are digests, what was asked cannot be shown"
    yield plain("wrong: " + ("; ".join(explained.reasons) or "nothing"))
    yield from (plain(f"the sample itself: {defect}") for defect in explained.defects)
    yield from _asked(explained, limit)
    for number, turn in enumerate(record.turns, 1):
        for attempt in turn.attempts:
            of = f"turn {number}, " if len(record.turns) > 1 else ""
            again = ", sent again on a new connection" if attempt.resent else ""
            yield f"reply ({of}attempt {attempt.number}{again})"
            yield from ("  " + line for line in _attempt(attempt, limit))
        if turn.rewritten:
            yield _inner("asked in other words: " + ", ".join(turn.rewritten), limit)
    yield from _expected(explained, limit)
    yield from _violations(explained, limit)
    yield "the same sample elsewhere" if explained.others else "no other answer to this sample"
    yield from (_other(other, limit) for other in explained.others)
    yield from _curl(explained)


def _asked(explained: Explanation, limit: int) -> Iterator[str]:
    yield "prompt"
    turn = explained.asked[-1] if explained.asked else explained.sample.turn
    for message in turn.messages:
        rest = {key: value for key, value in message.items() if key != "role"}
        content = rest.get("content") if set(rest) == {"content"} else rest
        yield _inner(f"{message.get('role')}: {content if isinstance(content, str) else compact(content)}", limit)
    names = [str(tool.get("function", {}).get("name")) for tool in turn.tools if isinstance(tool, Mapping)]
    yield _inner(f"tools: {', '.join(names) or 'none'}", limit)
    if turn.parameters:
        yield _inner(f"parameters: {compact(dict(turn.parameters))}", limit)


def _attempt(attempt: Attempt, limit: int) -> Iterator[str]:
    if attempt.timing is not None:
        yield from _timing(attempt.timing)
    if attempt.response is not None:
        yield from _response(attempt.response, limit)
    if attempt.failure is not None:
        failure = attempt.failure
        extra = [f"status {failure.status}"] if failure.status is not None else []
        extra += [f"code {failure.code}"] if failure.code is not None else []
        extra += [f"request id {failure.request_id}"] if failure.request_id is not None else []
        words = ", ".join([failure.kind, f"while in {failure.phase}", *extra])
        yield plain(f"failure: {words}: {failure.message}", limit)


def _timing(timing: Timing) -> Iterator[str]:
    yield plain(f"sent at {timing.sent_at}")
    marks = (
        ("connected in", timing.connect_ns),
        ("headers", timing.headers_ns),
        ("first event", timing.first_event_ns),
        ("first token", timing.first_token_ns),
        ("first answer", timing.first_answer_ns),
        ("last token", timing.last_token_ns),
        ("end", timing.end_ns),
    )
    moments = [f"{name} {_ms(ns)}" for name, ns in marks if ns is not None]
    yield "after sending: " + ", ".join(moments)
    if timing.our_lateness_ns is not None and is_spoilt(timing.our_lateness_ns, 0):
        yield f"we were late ourselves meanwhile, by up to {_ms(timing.our_lateness_ns)}: shorter times are not counted"
    if timing.gaps_ns:
        gaps = timing.gaps_ns
        yield f"gaps between tokens: {len(gaps)}, median {_ms(median(gaps))}, longest {_ms(max(gaps))}"


def _response(response: Response, limit: int) -> Iterator[str]:
    if response.reasoning:
        yield plain(f"reasoning: {response.reasoning}", limit)
    yield plain(f"text: {response.text}", limit) if response.text else "text: none"
    for call in response.tool_calls:
        noted = f"  [{', '.join(call.anomalies)}]" if call.anomalies else ""
        yield plain(f"call: {call.name}({call.arguments}){noted}", limit)
    raw = "" if response.finish_raw in (None, response.finish_reason) else f" (its word: {response.finish_raw})"
    yield plain(f"finish: {response.finish_reason or 'none'}{raw}")
    if response.anomalies:
        yield plain("anomalies: " + ", ".join(response.anomalies), limit)
    identity: dict[str, Any] = {
        "served model": response.served_model,
        "provider": response.served_provider,
        "fingerprint": response.fingerprint,
        "request id": response.request_id,
    }
    names = [f"{name} {value}" for name, value in identity.items() if value is not None]
    if names:
        yield plain(", ".join(names))
    usage = response.usage
    if usage is not None:
        parts = (("in", usage.input), ("out", usage.output), ("cached", usage.cached), ("reasoning", usage.reasoning))
        yield "tokens: " + ", ".join(f"{name} {'not told' if n is None else n}" for name, n in parts)


def _expected(explained: Explanation, limit: int) -> Iterator[str]:
    yield "expected"
    baseline = [other for other in explained.others if other.is_baseline]
    for other in baseline:
        yield _inner(f"the baseline {other.label}: {_answer_text(other)}", limit)
    if explained.sample.expected:
        yield _inner(f"the sample: {compact(dict(explained.sample.expected))}", limit)
    elif not baseline:
        yield "  nothing is known: no other answer of a baseline, and the sample names nothing"
    yield plain(f"judged: {explained.score.decision}" + _values(explained.score.values))


def _values(values: Mapping[str, float | None]) -> str:
    return "".join(f", {name} {'not measured' if value is None else f'{value:g}'}" for name, value in values.items())


def _violations(explained: Explanation, limit: int) -> Iterator[str]:
    if not explained.violations:
        yield "no call breaks its schema" if explained.score.calls else "no call to hold against a schema"
        return
    yield "calls against their schema"
    for each in explained.violations:
        where = "" if each.pointer is None else f' at "{each.pointer}"'
        yield _inner(f"{each.tool}: {each.verdict}{where}" + (f": {each.message}" if each.message else ""), limit)


def _other(other: OtherAnswer, limit: int) -> str:
    name = other.label + (" (baseline)" if other.is_baseline else "")
    ttft = [] if other.ttft_ms is None else [f"first token {other.ttft_ms:.0f} ms"]
    bad = [call.verdict for call in other.verdicts if call.verdict != "valid"]
    return _inner(f"{name}, repetition {other.repetition}: " + ", ".join([_answer_text(other), *ttft, *bad]), limit)


def _answer_text(other: OtherAnswer) -> str:
    if other.outcome != "ok":
        return f"failed: {other.outcome}"
    return other.decision + (": " + "; ".join(other.calls) if other.calls else "")


def _curl(explained: Explanation) -> Iterator[str]:
    if explained.curl is None:
        yield plain(f"no curl: {explained.no_curl}")
        return
    yield "ask again (set the variable of the key first)"
    # Already harmless, and a cut would make it another request.
    yield from explained.curl.splitlines()


def _inner(text: str, limit: int) -> str:
    """A line below a heading."""
    return "  " + plain(text, limit)


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.0f} ms"


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

    from vendor_verifier.features.explain.explain import Wanted, explain, worst_samples
    from vendor_verifier.store import RunFolder

    wanted = Wanted(vendor, sample, model, suite, repetition)
    folder = RunFolder(run)
    if sample is None:
        listed = worst_samples(folder, wanted, limit)
        lines, document = list(sample_lines(listed)), msgspec.to_builtins(listed)
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
