"""The data of the viewing page as JSON values: a table of questions, and one question with all its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Any

import msgspec

from vendor_verifier.features.explain.explain import explanations
from vendor_verifier.features.explain.find_problems import Explanation
from vendor_verifier.features.explain.run_index import STANDINGS, Question, RunIndex
from vendor_verifier.records.record import Response, Timing
from vendor_verifier.reports.escape import visible
from vendor_verifier.scoring.report_samples import compact
from vendor_verifier.words import Texts

ROWS = 100
_TITLE, _MOST_TEXT, _MOST_GAPS = 160, 200_000, 2_000
# Longer texts are compared by their beginnings: the cost grows with the product of the lengths.
_MOST_WORDS = 1_500


class Filter(msgspec.Struct, frozen=True):
    """The questions asked for; what is empty does not choose. ``label`` and ``standing`` belong to one answer."""

    text: str = ""
    model: str = ""
    suite: str = ""
    label: str = ""
    standing: str = ""


def overview(index: RunIndex, t: Texts) -> dict[str, Any]:
    """Runs, columns and the words to filter by."""
    return {
        "runs": [run.manifest.run for run in index.runs],
        "columns": [{"run": run, "label": label} for run, label in index.columns],
        "models": list(dict.fromkeys(question.model for question in index.cells)),
        "suites": list(dict.fromkeys(question.suite for question in index.cells)),
        "standings": {name: t(f"standing_{name}") for name in STANDINGS},
        "questions": len(index.cells),
        "answers": index.answers,
    }


def table(index: RunIndex, wanted: Filter, first: int) -> dict[str, Any]:
    """``ROWS`` questions from the ``first`` on that pass the filter, with the standing of every answer."""
    holding = index.holding(wanted.text) if wanted.text else None
    found = [
        question
        for question in index.cells
        if (holding is None or question in holding) and _passes(index, question, wanted)
    ]
    return {"found": len(found), "first": first, "rows": [_row(index, each) for each in found[first : first + ROWS]]}


def _passes(index: RunIndex, question: Question, wanted: Filter) -> bool:
    if wanted.model not in ("", question.model) or wanted.suite not in ("", question.suite):
        return False
    if not wanted.label and not wanted.standing:
        return True
    return any(
        wanted.label in ("", cell.label) and wanted.standing in ("", cell.standing) for cell in index.cells[question]
    )


def _row(index: RunIndex, question: Question) -> dict[str, Any]:
    cells = index.cells[question]
    sample = index.runs[cells[0].run].samples[question.suite].named(question.sample)
    texts = [str(each.get("content") or "") for each in sample.turn.messages] if sample is not None else []
    return {
        **msgspec.structs.asdict(question),
        "title": visible(" ".join(texts[-1].split()) if texts else "", _TITLE),
        "answers": [
            {"run": each.run, "label": each.label, "standing": each.standing, "ttft_ms": each.ttft_ms} for each in cells
        ],
    }


def shown_question(index: RunIndex, question: Question, t: Texts) -> dict[str, Any]:
    """One question: what was asked, and every vendor's answer beside the baseline's.

    Raises:
        KeyError: no run has it.
    """
    cells = index.cells[question]
    every: list[tuple[int, Explanation]] = []
    for number in dict.fromkeys(cell.run for cell in cells):
        run = index.runs[number]
        records = [record for of, record in index.records(question) if of == number]
        every += [(number, each) for each in explanations(run.folder, run.manifest, question.suite, records)]
    baselines = {
        (number, info.model, info.label) for number, run in enumerate(index.runs) for info in run.manifest.infos
        if info.is_baseline
    }  # fmt: skip
    is_baseline = [(number, each.record.model, each.record.label) in baselines for number, each in every]
    reference = next((_words(each) for (_, each), own in zip(every, is_baseline, strict=True) if own), None)
    answers = [
        _answer(number, each, None if own else reference) | {"is_baseline": own}
        for (number, each), own in zip(every, is_baseline, strict=True)
    ]
    answers.sort(key=lambda each: (each["run"], not each["is_baseline"], each["label"], each["repetition"]))
    return {**msgspec.structs.asdict(question), **_asked(every[0][1], t), "answers": answers}


def _asked(explained: Explanation, t: Texts) -> dict[str, Any]:
    turn = explained.asked[0] if explained.asked else explained.sample.turn
    functions = [tool.get("function", {}) for tool in turn.tools if isinstance(tool, Mapping)]
    return {
        "messages": [
            {"role": str(each.get("role")), "text": _text({key: value for key, value in each.items() if key != "role"})}
            for each in turn.messages
        ],
        "tools": [
            {
                "name": visible(str(each.get("name"))),
                "description": visible(str(each.get("description") or "")),
                "parameters": visible(compact(each.get("parameters") or {})),
            }
            for each in functions
        ],
        "expected": visible(compact(dict(explained.sample.expected))) if explained.sample.expected else None,
        "defects": [visible(each) for each in explained.defects],
        "redacted": t("explain_redacted") if explained.redacted else None,
    }


def _text(rest: Mapping[str, Any]) -> str:
    content = rest.get("content") if set(rest) == {"content"} else rest
    return visible(content if isinstance(content, str) else compact(content), _MOST_TEXT)


def _answer(run: int, explained: Explanation, reference: Sequence[str] | None) -> dict[str, Any]:
    record, final = explained.record, explained.record.final
    response = final.response if final is not None and final.response is not None else Response()
    attempts = [attempt for turn in record.turns for attempt in turn.attempts]
    failures = [attempt.failure for attempt in attempts if attempt.failure is not None]
    return {
        "run": run,
        "label": record.label,
        "repetition": record.repetition,
        "reasons": [str(each) for each in explained.reasons],
        "decision": explained.score.decision,
        "values": dict(explained.score.values),
        "text": visible(response.text, _MOST_TEXT),
        "reasoning": visible(response.reasoning, _MOST_TEXT),
        "calls": [
            {"name": visible(each.name), "arguments": visible(each.arguments, _MOST_TEXT)}
            for each in response.tool_calls
        ],
        "verdicts": [{"tool": visible(each.tool), "verdict": each.verdict} for each in explained.score.calls],
        "violations": [
            {"tool": visible(each.tool), "verdict": each.verdict, "pointer": visible(each.pointer or ""),
             "message": visible(each.message or "")}
            for each in explained.violations
        ],
        "difference": None if reference is None else difference(reference, _words(explained)),
        "finish": visible(response.finish_raw or response.finish_reason or ""),
        "served_model": visible(response.served_model or ""),
        "usage": None if response.usage is None else msgspec.to_builtins(response.usage),
        "timing": None if final is None or final.timing is None else _timing(final.timing),
        "attempts": len(attempts),
        "failures": [f"{each.kind}: {visible(each.message)}" for each in failures],
        "turns": len(record.turns),
        "curl": None if explained.curl is None else str(explained.curl),
    }  # fmt: skip


def _timing(timing: Timing) -> dict[str, Any]:
    """Moments in ms after the request was sent; ``chunks`` are those at which a piece of the answer came."""
    first_ns = timing.first_token_ns
    chunks = [] if first_ns is None else [first_ns, *(first_ns + gap for gap in accumulate(timing.gaps_ns))]
    step = -(-len(chunks) // _MOST_GAPS) or 1
    return {
        "connect_ms": _ms(timing.connect_ns),
        "headers_ms": _ms(timing.headers_ns),
        "first_token_ms": _ms(first_ns),
        "end_ms": _ms(timing.end_ns),
        "chunks": len(chunks),
        "chunk_ms": [_ms(each) for each in chunks[::step]],
    }


def _ms(ns: int | None) -> float | None:
    return None if ns is None else round(ns / 1e6, 3)


def _words(explained: Explanation) -> tuple[str, ...]:
    """The answer as words that are compared: text, then calls."""
    final = explained.record.final
    if final is None or final.response is None:
        return ()
    parts = [final.response.text, *(f"{call.name}({call.arguments})" for call in final.response.tool_calls)]
    words = visible("\n".join(part for part in parts if part), _MOST_TEXT).replace("\n", " \n ").split(" ")
    return tuple(words[:_MOST_WORDS])


def difference(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """(``same``, ``out`` or ``in``, words) of what turns one text into the other."""
    return list(_parts(before, after))


def _parts(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str]]:
    for kind, i, j, k, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield "same", " ".join(before[i:j])
            continue
        if j > i:
            yield "out", " ".join(before[i:j])
        if end > k:
            yield "in", " ".join(after[k:end])
