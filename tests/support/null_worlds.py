"""Scored runs of honest vendors of one and the same model: whatever speaks against one of them is said wrongly.

The rows are drawn as scoring would have made them, so that a hundred runs take seconds; what follows is the product's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from persona_records import MODEL, entry, manifest
from worlds import propensities

from vendor_verifier.audit.choice import advise
from vendor_verifier.metrics import POOLED, RECORD_METRICS
from vendor_verifier.pipeline.judge import judge_report
from vendor_verifier.records.event import Usage
from vendor_verifier.records.manifest import EntryInfo, manifest_of
from vendor_verifier.records.record import Record
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, listed
from vendor_verifier.records.score import PlayedTask
from vendor_verifier.records.verdict import Advice
from vendor_verifier.scoring.answer_texts import AnswerText, AnswerTexts
from vendor_verifier.scoring.collect import Tables
from vendor_verifier.scoring.observation import Observation, Traits, Try
from vendor_verifier.scoring.score_run import score_run

BASELINE = "official"
_WORDINGS = (
    "An answer",
    "Here is my answer",
    "Well, an answer",
    "This",
    "One reply",
    "So, to answer",
    "Certainly",
    "Yes",
)
_MAIN = {"trigger": None, "toolbench": "resolved"}


@dataclass(frozen=True)
class Twin:
    """How one vendor differs from the model it sells; the default is not at all.

    ``loses``: of the calls, made without; ``fails_more``: of the samples of an evaluation, failed besides.
    """

    label: str
    loses: float = 0.0
    fails_more: float = 0.0


@dataclass(frozen=True)
class Model:
    """What the model is like in one run: chances by sample and rates that all its vendors share.

    ``calls`` is the chance to call a tool, ``solves`` that of being right in an evaluation, ``breaks`` that a call's
    arguments are broken, ``fails`` that a request fails, ``refuses`` that it is answered on a later try only.
    ``beside`` are evaluations asked in the same run; ``sure`` is the chance of the likeliest wording of an answer.
    """

    suite: str
    beside: tuple[str, ...]
    sure: float
    calls: NDArray[np.float64]
    solves: NDArray[np.float64]
    breaks: float
    fails: float
    refuses: float

    @property
    def size(self) -> int:
        return int(self.calls.size)


def model(
    rng: np.random.Generator,
    suite: str,
    n: int,
    undecided: float | None = None,
    beside: tuple[str, ...] = (),
    sure: float = 0.5,
) -> Model:
    """A model that contradicts itself on up to 30 % of the samples, or on the given share of them."""
    share = 0.3 * rng.random() if undecided is None else undecided
    return Model(
        suite=suite,
        beside=beside,
        sure=sure,
        calls=propensities(rng, n, share),
        solves=np.where(rng.random(n) < share, rng.random(n), np.where(rng.random(n) < 0.85, 0.995, 0.005)),
        breaks=0.05 * rng.random(),
        fails=0.02 * rng.random(),
        refuses=0.03 * rng.random(),
    )


def advice(rng: np.random.Generator, played: Model, twins: Sequence[Twin]) -> Advice:
    """The advice after a run of ``twins`` beside their baseline, which ran twice where decisions are compared."""
    repeats = {BASELINE: 2 if played.suite == "trigger" else 1} | {twin.label: 1 for twin in twins}
    samples = tuple(Sample(f"s{i}", Turn(({"role": "user", "content": f"{i}"},))) for i in range(played.size))
    infos = [
        EntryInfo(MODEL, label, "simulated", MODEL, is_baseline=label == BASELINE, repeat=repeat)
        for label, repeat in repeats.items()
    ]
    suites = (played.suite, *played.beside)
    tasks = [PlayedTask(suite, samples, _MAIN[suite]) for suite in suites]
    tables, texts = Tables(), AnswerTexts.of(tasks)

    def fill() -> Iterator[Record]:
        for twin in (Twin(BASELINE), *twins):
            for suite in suites:
                for row, text in rows(rng, replace(played, suite=suite), twin, repeats[twin.label]):
                    tables.rows[MODEL, twin.label].add(row)
                    if text is not None:
                        kept = texts.kept.setdefault((MODEL, twin.label), {})
                        kept.setdefault((suite, row.sample), {})[row.repetition] = text
        return
        yield

    stated = [entry(info.label, "faithful", repeats[info.label], is_baseline=info.is_baseline) for info in infos]
    report = score_run(
        infos,
        tasks,
        fill(),
        repeat=1,
        run="run",
        complete=True,
        tables=tables,
        manifest=manifest_of(manifest(stated, suites, played.size)),
    )
    verdicts = judge_report(report, tables.rows, {suite: listed(samples) for suite in suites}, texts)
    [scored] = report.models
    return advise(scored, verdicts[MODEL])


def rows(
    rng: np.random.Generator, played: Model, twin: Twin, repeats: int
) -> Iterator[tuple[Observation, AnswerText | None]]:
    """The rows of one vendor in one evaluation, each with what was said; None where nothing was."""
    n = played.size
    for repetition in range(repeats):
        called = rng.random(n) < played.calls * (1 - twin.loses)
        solved = rng.random(n) < played.solves * (1 - twin.fails_more)
        dice = rng.random((3, n))
        first = 400 * rng.lognormal(0, 0.35, n)
        wordings = np.where(rng.random(n) < played.sure, 0, rng.geometric(0.5, n))
        # One model under one tokenizer bills the same words alike.
        tokens = 40 + (np.arange(n) * 37 + wordings * 61) % 160
        seconds = tokens / 80 * rng.lognormal(0, 0.2, n)
        for i in range(n):
            traits = _traits(played.suite, bool(called[i]), bool(solved[i]), *(dice[:, i] < _rates(played)))
            drawn = (float(first[i]), int(tokens[i]), float(seconds[i]))
            if traits.is_answered:
                text = _text(traits, i, repetition, int(wordings[i]), drawn)
                said = f"{text.text}{text.calls}".encode()
                yield _row(traits, i, repetition, drawn, int.from_bytes(hashlib.sha256(said).digest()[:8])), text
            else:
                yield _row(traits, i, repetition, drawn, None), None


def _text(traits: Traits, i: int, repetition: int, wording: int, drawn: tuple[float, int, float]) -> AnswerText:
    """One of several wordings of the answer."""
    tokens = drawn[1]
    calls = f"get_weather({i}, {wording})" if traits.decision == "called" else ""
    text = "" if calls else f"{_WORDINGS[wording % len(_WORDINGS)]} to the question that was asked here, s{i}."
    return AnswerText(text, "", calls, 600, _sent(i, repetition), characters=4 * tokens, output_tokens=tokens)


def _rates(played: Model) -> NDArray[np.float64]:
    return np.array([played.breaks, played.fails, played.refuses])


_KNOWN: dict[tuple[object, ...], Traits] = {}


def _traits(suite: str, called: bool, solved: bool, broken: bool, failed: bool, refused: bool) -> Traits:
    """The traits of one outcome; equal ones are one object, which is what tables store."""
    key = (suite, called, solved, bool(broken), bool(failed), bool(refused))
    if key not in _KNOWN:
        _KNOWN[key] = _made(*key)
    return _KNOWN[key]


def _made(suite: str, called: bool, solved: bool, broken: bool, failed: bool, refused: bool) -> Traits:
    scores = (("resolved", float(solved and not failed)),) if _MAIN[suite] else ()
    if failed:
        return Traits(suite, attempts=3, failure="http_5xx", troubles=("http_5xx",), scores=scores)
    return Traits(
        suite,
        succeeded=True,
        succeeded_first_try=not refused,
        attempts=2 if refused else 1,
        troubles=("http_5xx",) if refused else (),
        decision="called" if called else "not_called",
        classes=(("schema_mismatch" if broken else "valid"),) if called else (),
        scores=scores,
        is_answered=True,
        finish_reason="tool_calls" if called else "stop",
        served_model=MODEL,
    )


def _sent(i: int, repetition: int) -> float:
    return 1000.0 * repetition + i


def _row(traits: Traits, i: int, repetition: int, drawn: tuple[float, int, float], digest: int | None) -> Observation:
    first, tokens, seconds = drawn
    prompt = 150 + i % 40
    figures = {
        "total_tokens": float(prompt + tokens), "input_tokens": float(prompt), "output_tokens": float(tokens),
        "ttft_ms": first, "tps": tokens / seconds, "e2e_ms": first + 1000 * seconds,
    }  # fmt: skip
    sums = {"tps": (float(tokens), seconds), "e2e_tps": (float(tokens), first / 1000 + seconds)}
    answered = traits.is_answered
    sent = _sent(i, repetition)
    return Observation(
        f"s{i}",
        repetition,
        traits,
        values=tuple(figures.get(metric.name) if answered else None for metric in RECORD_METRICS),
        pooled=tuple(sums.get(metric.name) if answered else None for metric in POOLED),
        sent_s=sent,
        digest=digest,
        tries=(Try(Usage(prompt, tokens) if answered else Usage(), answered, answered=answered, begin_s=sent),),
    )
