"""Simulated vendors as the frames that the verdict reads, so that thousands of runs take minutes.

Every run has a baseline, asked twice, and vendors that serve its model, each with a :class:`Vice` or none. Three
families: ``independent``; ``drifting``, where times drift and failures come as outages; ``real``, where answers, calls,
tokens and times are those of published result files, drawn anew for every question and vendor.
"""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from vendor_verifier.findings.base import ModelRun
from vendor_verifier.records.results import VendorResult
from vendor_verifier.scoring.answer import AnswerText
from vendor_verifier.scoring.columns import ATTEMPT_COLUMNS, RECORD_COLUMNS

FAMILIES = ("independent", "drifting", "real")
REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "llmvv"
BASELINE, MODEL, SUITE, TOOL = "official", "simulated-model", "trigger", "look_up"
_WORDINGS = 8
_LONGEST_RUN = 100_000


@dataclass(frozen=True)
class Vice:
    """What a vendor does to the model that it sells; the default is nothing.

    Shares of requests: ``other`` are answered by a cheaper model, ``cuts`` end early, ``fails`` fail; of calls:
    ``rewrites`` have one character of their arguments changed, ``misses`` are not made, ``breaks`` break the schema.
    ``duller`` is how much of the likeliest wording's chance goes to the others. ``ceiling``, in tokens, is where
    prompts are cut. ``crowded`` is how much each request in flight beyond four adds to TTFT.
    """

    name: str = "honest"
    other: float = 0.0
    duller: float = 0.0
    rewrites: float = 0.0
    misses: float = 0.0
    breaks: float = 0.0
    cuts: float = 0.0
    fails: float = 0.0
    slower: float = 1.0
    crowded: float = 0.0
    faked_stream: bool = False
    prompt_tokens: float = 1.0
    output_tokens: float = 1.0
    ceiling: float = np.inf


HONEST = Vice()


@dataclass(frozen=True)
class Model:
    """What a model answers: the chance of each wording, and text, call and whether it calls by question and wording.

    ``called`` is chance by question and wording; ``tokens`` are billed for the text and for the call.
    """

    weights: NDArray[np.float64]
    called: NDArray[np.float64]
    texts: list[list[str]]
    calls: list[list[str]]
    tokens: NDArray[np.int64]


@dataclass(frozen=True)
class World:
    """A run's questions and the circumstances that all its vendors share."""

    family: str
    own: Model
    other: Model
    prompt: NDArray[np.int64]
    sent_s: NDArray[np.float64]
    drift: NDArray[np.float64]
    times_ms: NDArray[np.float64] | None
    fails: float
    retried: float
    breaks: float

    @property
    def n(self) -> int:
        return self.prompt.size


def draw_world(rng: np.random.Generator, family: str, n: int) -> World:
    """The questions and circumstances of one run."""
    own, times_ms = (_invented(rng, n), None) if family != "real" else _published(rng, n)
    bursts = np.where(np.arange(n) // 20 % 2, 0.5, 1.0) if family == "drifting" else np.ones(n)
    drift = np.zeros(n)
    if family == "drifting":
        phase = rng.random() + np.arange(n) / rng.uniform(60, 300)
        drift = 0.3 * np.sin(2 * np.pi * phase) + np.linspace(0, rng.normal(0, 0.3), n)
    return World(
        family=family,
        own=own,
        other=_invented(rng, n, flipped=own),
        prompt=np.rint(np.exp(rng.normal(5.3, 0.6, n))).astype(np.int64) + 20,
        sent_s=1_800_000_000 + np.cumsum(rng.exponential(0.35, n) * bursts),
        drift=drift,
        times_ms=times_ms,
        fails=0.01 * rng.random(),
        retried=0.03 * rng.random(),
        breaks=0.03 * rng.random(),
    )


def draw_run(rng: np.random.Generator, world: World, vices: Sequence[Vice]) -> ModelRun:
    """One run: the baseline twice, then a vendor for each vice, labelled v0, v1, …"""
    labels = (BASELINE, *(f"v{place}" for place in range(len(vices))))
    parts: list[dict[str, Any]] = []
    texts: dict[str, dict[tuple[str, str], dict[int, AnswerText]]] = {}
    for label, vice in zip(labels, (HONEST, *vices), strict=True):
        host = _host(rng, world, is_baseline=label == BASELINE, is_slow=vice.slower > 1)
        for repetition in range(2 if label == BASELINE else 1):
            parts.append(_answers(rng, world, vice, host, label, repetition, texts.setdefault(label, {})))
    records = pd.DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    for column in RECORD_COLUMNS:
        if column.name not in records:
            records[column.name] = np.nan if column.dtype == "float64" else None
    records = records[[column.name for column in RECORD_COLUMNS]].astype({c.name: c.dtype for c in RECORD_COLUMNS})
    return ModelRun(
        model=MODEL,
        baseline=BASELINE,
        labels=labels,
        records=records,
        attempts=_attempts(records),
        diagnostics=records.iloc[:0],
        planned={label: world.n * (2 if label == BASELINE else 1) for label in labels},
        model_ids=dict.fromkeys(labels, MODEL),
        texts=texts,
    )


def results(run: ModelRun) -> dict[str, VendorResult]:
    """The figures that the first line reads."""
    found = {}
    for label, rows in run.rows.items():
        answered = rows[rows.ok]
        found[label] = VendorResult(
            label=label,
            vendor="simulated",
            model_id=MODEL,
            is_baseline=label == BASELINE,
            success_rate=float(rows.ok.mean()),
            avg_tokens=float((answered.input_tokens + answered.output_tokens).mean()),
            avg_ttft_ms=float(answered.ttft_ms.mean()),
            planned=run.planned[label],
            recorded=len(rows),
            succeeded=len(answered),
        )
    return found


@dataclass(frozen=True)
class _Host:
    """What one vendor's machines are like: ``pace`` is the log of how slow it is, ``out`` where it had an outage."""

    pace: NDArray[np.float64]
    out: NDArray[np.bool_]
    template: int
    times_ms: NDArray[np.float64] | None


def _host(rng: np.random.Generator, world: World, *, is_baseline: bool, is_slow: bool) -> _Host:
    n = world.n
    pace = np.zeros(n) if is_baseline or is_slow else np.full(n, rng.uniform(-0.2, 0.1))
    out = np.zeros(n, bool)
    times_ms = None
    if world.family == "drifting":
        steps = rng.normal(0, 0.15 * np.sqrt(1 - 0.95**2), n)
        steps[0] = rng.normal(0, 0.15)
        pace = pace + np.fromiter(_walk(steps), float, n)
        for begin in np.flatnonzero(rng.random(n) < rng.uniform(0, 0.04) / 20):
            out[begin : begin + 1 + rng.geometric(1 / 20)] = True
    if world.times_ms is not None:
        times_ms = 0.25 * np.roll(world.times_ms, rng.integers(world.times_ms.size))[:n]
    return _Host(pace, out, 0 if is_baseline else int(rng.integers(0, 7)), times_ms)


def _walk(steps: NDArray[np.float64]) -> Any:
    level = 0.0
    for step in steps:
        level = 0.95 * level + step
        yield level


def _answers(
    rng: np.random.Generator,
    world: World,
    vice: Vice,
    host: _Host,
    label: str,
    repetition: int,
    texts: dict[tuple[str, str], dict[int, AnswerText]],
) -> dict[str, Any]:
    """The columns of one vendor's answers to every question, in the order of sending; the texts go into ``texts``."""
    n, at = world.n, np.arange(world.n)
    cut_prompt = world.prompt > vice.ceiling
    by_other = (rng.random(n) < vice.other) | (cut_prompt & (rng.random(n) < 0.5))
    weights = world.own.weights * np.where(np.arange(world.own.weights.size) == 0, 1 - vice.duller, 1)
    own_wording = rng.choice(weights.size, n, p=weights / weights.sum())
    wording = np.where(by_other, rng.choice(_WORDINGS, n, p=world.other.weights), own_wording)
    chance = np.where(by_other, world.other.called[at, wording % _WORDINGS], world.own.called[at, own_wording])
    called = (rng.random(n) < chance) & ~(rng.random(n) < vice.misses)
    broken = called & (rng.random(n) < world.breaks + vice.breaks)
    rewritten = called & (rng.random(n) < vice.rewrites)
    cut = rng.random(n) < vice.cuts
    failed = host.out | (rng.random(n) < world.fails + vice.fails)
    ok = ~failed & ~cut
    retried = ok & (rng.random(n) < world.retried)

    marks = np.stack([by_other, called, broken, rewritten, ok], axis=1)
    digest, characters, output = _said(world, wording, marks, vice.output_tokens, repetition, texts)

    pace = np.exp(world.drift + host.pace) * vice.slower
    ttft = 400 * pace * rng.lognormal(0, 0.35, n) * (1 + world.prompt / 2000)
    if host.times_ms is not None:
        ttft = host.times_ms * pace * rng.lognormal(0, 0.05, n)
    decode = np.maximum(output, 1) / 80 * pace * rng.lognormal(0, 0.2, n)
    sent = world.sent_s + 0.3 * rng.random(n)
    if vice.crowded:
        ttft = ttft * (1 + vice.crowded * np.maximum(0, _in_flight(sent, (ttft / 1e3 + decode)) - 4))
    if vice.faked_stream:
        ttft, decode = ttft + 1e3 * decode, decode / 10
    prompt = np.minimum(world.prompt, vice.ceiling + rng.integers(0, 3, n)) + host.template
    prompt = np.rint(prompt * vice.prompt_tokens)
    missing = np.where(ok, 1.0, np.nan)
    order = np.argsort(sent)
    columns: dict[str, Any] = {
        "model": np.full(n, MODEL, object), "label": np.full(n, label, object), "suite": np.full(n, SUITE, object),
        "sample": _names(n), "repetition": np.full(n, repetition), "block": at // 25, "sent_s": sent, "ok": ok,
        "failure": np.where(ok, None, np.where(cut, "truncated", "http_5xx")), "charge": np.where(ok, None, "vendor"),
        "ended_s": sent + ttft / 1e3 + decode, "turns": np.ones(n, int),
        "attempts": np.where(failed, 3, 1 + retried), "resent": np.zeros(n, int), "retried": retried,
        "decision": np.where(ok, np.where(called, "called", "not_called"), "undecided"),
        "calls": (ok & called).astype(int),
        "classes": np.where(ok & called, np.where(broken, "schema_mismatch", "valid"), None), "offered": ok,
        "finish": np.where(ok, np.where(called, "tool_calls", "stop"), None),
        "served_model": np.where(ok, MODEL, None),
        "ttft_ms": ttft * missing, "ttfat_ms": ttft * missing, "e2e_ms": (ttft + 1e3 * decode) * missing,
        "decode_s": decode * missing, "characters": characters * missing,
        "input_tokens": prompt * missing, "output_tokens": output * missing, "cached_tokens": 0 * missing,
        "reasoning_tokens": 0 * missing, "tokens_after": (output - 1) * missing, "late_ms": np.full(n, 0.5),
        "call_digest": np.where(called, digest, np.nan) * missing,
    }  # fmt: skip
    return {name: values[order] for name, values in columns.items()}


def _said(
    world: World,
    wording: NDArray[np.int64],
    marks: NDArray[np.bool_],
    output_tokens: float,
    repetition: int,
    texts: dict[tuple[str, str], dict[int, AnswerText]],
) -> NDArray[np.float64]:
    """Digest of the calls, characters and billed tokens, a row each; the successful texts go into ``texts``.

    ``marks`` are, by question: answered by the other model, with a call, which is broken or rewritten; successful.
    """
    said = np.empty((3, world.n))
    for i, (by_other, called, broken, rewritten, ok) in enumerate(marks.tolist()):
        model, k = (world.other if by_other else world.own), int(wording[i])
        text, call = (model.texts[i][k] or "I can not.", "")
        if called:
            text, call = model.texts[i][k] if world.family == "real" else "", model.calls[i][k]
            call = call.replace('":', '_":', 1) if broken else call
            call = f"{call[:-4]}{'x' if call[-4] != 'x' else 'y'}{call[-3:]}" if rewritten else call
        tokens = round(float(model.tokens[i, k, int(called)]) * output_tokens)
        characters = len(text) + max(0, len(call) - len(TOOL) - 2)
        said[:, i] = hash(call) & 0xFFFFFFFFFFF, characters, tokens
        if ok:
            texts.setdefault((SUITE, f"s{i}"), {})[repetition] = AnswerText(text, "", call)
    return said


def _in_flight(sent: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many earlier requests of the same vendor were under way when each was sent."""
    order, ends = np.sort(sent), np.sort(sent + seconds)
    return np.asarray(np.searchsorted(order, sent) - np.searchsorted(ends, sent))


@functools.cache
def _names(n: int) -> NDArray[Any]:
    return np.array([f"s{i}" for i in range(n)], object)


def _attempts(records: pd.DataFrame) -> pd.DataFrame:
    """The attempts that ended no success: one before each retried answer, three of each failure."""
    spent = records.loc[records.index.repeat(records.attempts - records.ok)]
    made = {
        "seconds": 0.2, "failure": spent.failure.astype(object).fillna("http_5xx"), "succeeded": spent.ok,
        "billed": False, "input_tokens": np.nan, "output_tokens": np.nan, "cached_tokens": np.nan,
        "reasoning_tokens": np.nan, "reported_usd": np.nan,
    }  # fmt: skip
    names = [c.name for c in ATTEMPT_COLUMNS]
    return spent.assign(**made)[names].astype({c.name: c.dtype for c in ATTEMPT_COLUMNS}).reset_index(drop=True)


@functools.cache
def _prose() -> str:
    """Words of made-up syllables, from which texts are cut."""
    rng = np.random.default_rng(0)
    syllables = [first + second for first in "aeiou" for second in "bcdfglmnprst"]
    words = ("".join(rng.choice(syllables, rng.integers(1, 5))) for _ in range(_LONGEST_RUN // 4))
    return " ".join(words)


def _invented(rng: np.random.Generator, n: int, flipped: Model | None = None) -> Model:
    """A model whose wordings part from the likeliest one somewhere, and which is undecided on up to a quarter of the
    questions. ``flipped``: another model than that one, which decides the opposite on 15 % of the questions."""
    sure = rng.uniform(0.4, 0.95)
    weights = np.append(sure, (1 - sure) * 0.5 ** np.arange(1, _WORDINGS))
    clear = np.where(rng.random(n) < 0.6, 0.995, 0.005)
    chance = np.where(rng.random(n) < 0.25 * rng.random(), rng.random(n), clear)
    if flipped is not None:
        weights, chance = flipped.weights[: flipped.weights.size], flipped.called @ flipped.weights
        weights = np.append(0.5, 0.5 * 0.5 ** np.arange(1, _WORDINGS))
        chance = np.where(rng.random(n) < 0.15, 1 - chance, chance)
    prose, texts, calls = _prose(), [], []
    begin = rng.integers(0, len(prose) - 2_000, (n, _WORDINGS))
    length, parts = rng.integers(60, 600, n), rng.random((n, _WORDINGS))
    parts[:, 0] = 1
    for i in range(n):
        spoken, made = [], []
        for k in range(_WORDINGS):
            size, kept = int(length[i] * (0.8 + 0.4 * parts[i, k])), int(length[i] * parts[i, k])
            first = int(begin[i, 0])
            wording = prose[first : first + kept] + prose[begin[i, k] : begin[i, k] + size - kept]
            spoken.append(wording)
            place = f"{prose[first : first + 14]}{wording[kept : kept + 10 if k else kept]}".strip()
            made.append(f'{TOOL}({{"days": {1 + i % 7}, "place": "{place}"}})')
        texts.append(spoken)
        calls.append(made)
    tokens = np.array([[[len(t) // 4 + 1, (len(c) - len(TOOL)) // 4 + 20] for t, c in zip(*both, strict=True)]
                       for both in zip(texts, calls, strict=True)])  # fmt: skip
    return Model(weights / weights.sum(), np.repeat(chance[:, None], _WORDINGS, 1), texts, calls, tokens)


@functools.cache
def _files(folder: Path) -> tuple[list[dict[int, Any]], list[NDArray[np.float64]]]:
    """The successful rows of each result file by number of the question, and its durations in order of time."""
    rows, times = [], []
    for path in sorted(folder.glob("results-*.jsonl.gz")):
        lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        good = [line for line in lines if line["status"] == "success"]
        rows.append({line["data_index"]: line["response"] for line in good})
        times.append(np.array([x["duration_ms"] for x in sorted(good, key=lambda x: x["last_run_at"])], float))
    return rows, times


def _published(rng: np.random.Generator, n: int) -> tuple[Model, NDArray[np.float64]]:
    """A model that answers a question as one of the published files did, and one file's times."""
    files, times = _files(REAL)
    both = sorted(set.intersection(*(set(rows) for rows in files)))
    chosen = rng.choice(both, n, replace=False)
    texts: list[list[str]] = []
    calls: list[list[str]] = []
    tokens, called = [], []
    for number in chosen:
        texts.append([])
        calls.append([])
        for rows in files:
            message = rows[number]["choices"][0]["message"]
            made = [each["function"] for each in message.get("tool_calls") or []]
            texts[-1].append((message.get("content") or "").strip())
            calls[-1].append("\0".join(f"{each['name']}({_canonical(each['arguments'])})" for each in made))
            tokens.append(rows[number]["usage"]["completion_tokens"])
            called.append(float(bool(made)))
    shape = (n, len(files))
    billed = np.repeat(np.reshape(tokens, shape)[:, :, None], 2, 2)
    weights = np.full(len(files), 1 / len(files))
    return Model(weights, np.reshape(called, shape), texts, calls, billed), times[rng.integers(len(times))]


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True, ensure_ascii=False)
    except ValueError:
        return arguments
