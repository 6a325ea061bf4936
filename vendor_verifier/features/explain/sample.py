"""The answers of a run to one sample, each with what was asked, what is wrong with it, and a curl that asks again.

Texts of vendors and samples are escaped for the terminal.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.pipeline.plan import RAW, wire_of
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.plan import SIMULATED, Entry, as_asked
from vendor_verifier.records.record import Attempt, Record, Score, standing
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.registry import WIRES, find_vendors
from vendor_verifier.reports.escape import plain
from vendor_verifier.scoring.table import INVALID_CALLS
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import known_suite, replay
from vendor_verifier.suites.schema import checker_of
from vendor_verifier.suites.trigger import judged

_DID = {"called": "called a tool", "not_called": "called no tool"}
_MOMENTS = ("sent", "first", "last")
Question = tuple[str, str]  # evaluation, sample id


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with the evidence around it: the turns ``asked``, what is ``wrong`` with the answer, the ``defects`` of
    the sample, and a ``curl`` without the key or (``no_curl``) the reason why there is none."""

    record: Record
    sample: Sample
    score: Score
    is_baseline: bool
    asked: tuple[Turn, ...]
    wrong: tuple[str, ...]
    defects: tuple[str, ...]
    redacted: bool
    curl: str | None
    no_curl: str | None


def explain_sample(folder: RunFolder, entries: Sequence[tuple[str, str]], name: str) -> list[list[Answer]]:
    """For each of these entries (model, label) its answer to a sample, then all other answers, the baseline's first. Of
    several repetitions the first with a fault is taken, else the first.

    ``name`` is our id, the ``id`` of the row in its file, or ``line:N`` of that file.

    Raises:
        ProblemsError: the run has no such sample, or no answer of the vendor to it.
    """
    manifest, found, is_known = folder.read_manifest(), [], False
    for suite, sample in ((each, one) for each in manifest.suites for one in folder.read_samples(each)):
        line = "" if sample.source is None else f"line:{sample.source.line}"
        if name not in (sample.id, str(sample.tags.get("id")), line):
            continue
        is_known = True
        for model, label in entries:
            records = read_answers(folder, model, [(suite, sample.id)]).get((suite, sample.id), [])
            answers = judged_answers(folder, manifest, suite, sample.id, records)
            own = [each for each in answers if each.record.label == label]
            if own:
                chosen = min(own, key=lambda each: (not each.wrong, each.record.repetition))
                found.append([chosen, *(each for each in answers if each is not chosen)])
    if not found:
        words = "the run has no answer of this vendor to it" if is_known else "the run has no such sample"
        raise ProblemsError([Problem(words, key=f"--sample {name}")])
    return found


def read_answers(folder: RunFolder, model: str, questions: Iterable[Question]) -> dict[Question, list[Record]]:
    """All records of a model to these samples; of two under one key the one that counts."""
    chosen = frozenset(questions)
    records = folder.read_records(lambda _line, _reason: None) if chosen else ()
    asked = (each for each in records if each.model == model and (each.suite, each.sample) in chosen)
    found: dict[Question, list[Record]] = {}
    for record in standing(asked):
        found.setdefault((record.suite, record.sample), []).append(record)
    return found


def judged_answers(
    folder: RunFolder, manifest: Manifest, suite_name: str, sample_id: str, records: Sequence[Record]
) -> tuple[Answer, ...]:
    """These answers of one model to one sample, the baseline's first."""
    sample = folder.read_samples(suite_name).named(sample_id)
    assert sample is not None
    task = next(each for each in manifest.tasks if each.suite == suite_name)
    suite = ready_suite(suite_name, task.options, [sample], folder)
    baselines = {entry.key for entry in manifest.entries if entry.is_baseline}
    scored = [(each, judged(each, suite, sample), (each.model, each.label) in baselines) for each in records]
    expected = {str(score.decision) for record, score, is_baseline in scored if is_baseline and record.succeeded}
    found = []
    for record, score, is_baseline in scored:
        redacted = manifest.redacted and record.score is not None
        asked: list[Turn] = []
        if not redacted:
            replay(suite.play(sample), record.turns, asked)
        # The play may have asked once more than was answered.
        asked = asked[: len(record.turns)]
        curl, no_curl = curl_for(manifest, record, asked[-1] if asked else None, redacted=redacted)
        wrong = tuple(_wrong(record, score, set() if is_baseline else expected))
        found.append(Answer(
            record=record, sample=sample, score=score, is_baseline=is_baseline, asked=tuple(asked), wrong=wrong,
            defects=() if redacted else checker_of(sample.turn.tools).defects, redacted=redacted, curl=curl,
            no_curl=no_curl,
        ))  # fmt: skip
    return tuple(sorted(found, key=lambda each: (not each.is_baseline, each.record.label, each.record.repetition)))


def answer_of(record: Record) -> str:
    """The calls of an answer, or its text, or why there is none."""
    response = None if record.final is None else record.final.response
    if not record.succeeded or response is None:
        kinds = [final.failure.kind for final in record.finals if final.failure is not None]
        return f"failed: {kinds[0] if kinds else 'no answer'}"
    return "; ".join(f"{call.name}({call.arguments})" for call in response.tool_calls) or f"no call: {response.text}"


def _wrong(record: Record, score: Score, expected: set[str]) -> Iterator[str]:
    kind = known_suite(record.suite)
    if not record.succeeded and not kind.diagnostic:
        yield answer_of(record)
    for call in score.calls:
        if call.verdict in INVALID_CALLS:
            place = "" if call.pointer is None else f" at {call.pointer or '/'}"
            yield f"{call.tool}: {call.verdict}{place}: {call.message}"
    others = expected & _DID.keys()
    if record.succeeded and not kind.diagnostic and others and score.decision in _DID.keys() - others:
        yield f"{_DID[score.decision]}, the baseline {_DID[min(others)]}"
    value = None if kind.ranks_by is None else score.values.get(kind.ranks_by)
    if value is not None and value < 1 and (record.succeeded or kind.diagnostic):
        yield f"score {value:.2f}" if score.reason is None else f"score {value:.2f}: {score.reason}"


# Put where the key belongs when the request is built, and replaced by the variable here.
KEY_PLACE = "KEY-PLACE-OF-THE-VENDOR"
SIMULATOR = "http://127.0.0.1:8600"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST = 2_000


def curl_command(request: HttpRequest, key_name: str | None) -> str:
    """The command; the key is ``$key_name``, or ``$API_KEY`` where that is no shell variable."""
    variable = key_name if key_name and _VARIABLE.fullmatch(key_name) else "API_KEY"
    lines = [f"curl -sS -N -X {request.method} {_word(request.url, variable)}"]
    lines += [f"-H {_word(f'{name}: {value}', variable)}" for name, value in request.headers.items()]
    lines.append("--data-binary @- <<'JSON'")
    # Printable ASCII on one line. All of these can only be inside strings, where an escape is the same character.
    text = json.dumps(json.loads(request.body), separators=(",", ":")).replace("\x7f", "\\u007f")
    text = text.replace("::", "\\u003a\\u003a").replace("##[", "\\u0023\\u0023[")
    return " \\\n  ".join(lines) + f"\n{text}\nJSON"


def _word(text: str, variable: str) -> str:
    """One word of a shell; only the key's place is expanded."""
    shown = plain(text, _MOST)
    if KEY_PLACE not in shown:
        return shlex.quote(shown)
    guarded = re.sub(r'([\\"$`])', r"\\\1", shown)
    return '"' + guarded.replace(KEY_PLACE, "${" + variable + "}") + '"'


def curl_for(manifest: Manifest, record: Record, turn: Turn | None, *, redacted: bool) -> tuple[str | None, str | None]:
    """The command and None, or None and the reason why there is none."""
    stored = next(each for each in manifest.entries if each.key == (record.model, record.label))
    url = stored.url or ""
    reasons = {
        "the run stored digests of the texts only": redacted,
        "this conversation cannot be played again without its tools": turn is None,
        "the answers were imported, and their address is not known": not url.startswith(("http", SIMULATED)),
        "raw completions need the chat template of the model": stored.wire == RAW,
        f"this program does not know the protocol {stored.wire!r}": stored.wire not in WIRES,
    }
    reason = next((reason for reason, applies in reasons.items() if applies), None)
    if reason is not None or turn is None:
        return None, reason
    if url.startswith(SIMULATED):
        url = f"{SIMULATOR}/{url.removeprefix(SIMULATED).strip('/')}/v1"
    key = KEY_PLACE if stored.key_name else None
    endpoint = Endpoint(base_url=url, model_id=stored.model_id, key=key, body=stored.extra_body or {})
    entry = Entry(
        model=stored.model, label=stored.label, vendor=stored.vendor, endpoint=endpoint, wire=stored.wire or "",
        account=str(stored.account), parameters=stored.parameters,
    )  # fmt: skip
    wire = wire_of(entry, find_vendors().vendor(entry.vendor), WIRES)
    curl = curl_command(wire.request(*as_asked(turn, entry)), stored.key_name)
    if stored.extra_headers:
        curl = f"# add these headers of the config: {plain(', '.join(stored.extra_headers))}\n{curl}"
    if url.startswith(SIMULATOR):
        curl = f"# start this first, in another terminal: agent-vendor-verifier simulate\n{curl}"
    return curl, None


def answer_lines(found: Sequence[Answer], limit: int) -> Iterator[str]:
    """What is wrong, prompt, reply, expectation, the other answers and a curl; no text above ``limit`` characters."""
    answer, record, sample = found[0], found[0].record, found[0].sample
    yield plain(f"{record.model} / {record.label}: {name_of(record)}")
    if sample.source is not None:
        yield plain(f"from {sample.source.dataset}, line {sample.source.line}")
    if answer.redacted:
        yield "this run is redacted: it stored digests of the texts"
    yield from (plain(f"wrong: {each}") for each in answer.wrong or ("nothing",))
    yield from (plain(f"defect of the sample: {defect}") for defect in answer.defects)
    turn = answer.asked[-1] if answer.asked else sample.turn
    yield "prompt"
    for message in turn.messages:
        is_text = isinstance(message.get("content"), str) and len(message) == 2
        words = message["content"] if is_text else _json(message)
        yield "  " + plain(f"{message.get('role')}: {words}", limit)
    tools = [str(tool.get("function", {}).get("name")) for tool in turn.tools]
    yield "  " + plain(f"tools: {', '.join(tools) or 'none'}", limit)
    if turn.parameters:
        yield "  " + plain(f"parameters: {_json(turn.parameters)}", limit)
    for number, answered in enumerate(record.turns, 1):
        for attempt in answered.attempts:
            again = ", sent again on a new connection" if attempt.resent else ""
            yield f"reply to turn {number}, attempt {attempt.number}{again}"
            yield from ("  " + plain(line, limit) for line in attempt_lines(attempt))
        for result in answered.tool_results:
            yield "  " + plain(f"tool {result.name} ({result.outcome}): {result.text}", limit)
    yield "judged"
    if sample.expected:
        yield "  " + plain(f"expected: {_json(sample.expected)}", limit)
    scores = "".join(f", {name} {cell(name, value)}" for name, value in answer.score.values.items())
    yield "  " + plain(f"seen: {answer.score.decision}".replace("_", " ") + scores, limit)
    yield "other answers"
    for other in found[1:]:
        name = f"{other.record.label}, the baseline" if other.is_baseline else other.record.label
        yield "  " + plain(f"{name}: {answer_of(other.record)}", limit)
    yield from curl_lines(answer)


def name_of(record: Record) -> str:
    """The sample of an answer by its ids, and the repetition."""
    sample = record.sample if record.sample_name is None else f"{record.sample_name} ({record.sample})"
    return f"{record.suite} {sample}" + (f", repetition {record.repetition + 1}" if record.repetition else "")


def attempt_lines(attempt: Attempt) -> Iterator[str]:
    """The moments of an attempt, what it answered, and its failure."""
    timing, response, failure = attempt.timing, attempt.response, attempt.failure
    if timing is not None:
        moments = {"first token": timing.first_token_ns, "last token": timing.last_token_ns, "end": timing.end_ns}
        moments["our own lateness at most"] = timing.our_lateness_ns
        words = [f"{name} {ns / 1e6:.0f} ms" for name, ns in moments.items() if ns is not None]
        yield ", ".join([f"sent {timing.sent_at[:23].replace('T', ' ')}", *words])
    if response is not None:
        yield from (f"{name}: {text}" for name in ("reasoning", "text") if (text := getattr(response, name)))
        yield from (f"call: {call.name}({call.arguments}) {', '.join(call.anomalies)}" for call in response.tool_calls)
        facts: dict[str, Any] = {"finish": response.finish_raw, "model": response.served_model}
        facts |= {"provider": response.served_provider, "fingerprint": response.fingerprint}
        facts |= {"request id": response.request_id, "anomalies": ", ".join(response.anomalies)}
        for name in ("input", "output", "cached", "reasoning"):
            facts[f"{name} tokens"] = getattr(response.usage, name, None)
        yield ", ".join(f"{name} {value}" for name, value in facts.items() if value not in (None, ""))
    if failure is not None:
        status = "" if failure.status is None else f", HTTP {failure.status}"
        yield f"failed: {failure.kind}{status}: {failure.message}"


def cell(name: str, value: Any) -> str:
    """A value of a table by the column's name."""
    if value is None:
        return "–"
    if name in _MOMENTS:
        return datetime.fromtimestamp(value, UTC).strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 or value.is_integer() else f"{value:.3g}"
    return plain(str(value), 100)


def curl_lines(answer: Answer) -> Iterator[str]:
    """The command that asks again, or why there is none."""
    if answer.curl is None:
        yield plain(f"no curl: {answer.no_curl}")
    else:
        yield "ask again"
        # Already harmless, and a cut would make it another request.
        yield from answer.curl.splitlines()


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
