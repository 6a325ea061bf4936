"""How often probes with known answers accuse vendors: `python benchmarks/probe_rates.py` prints the table of
docs/verdict.md.

A model copies a text, or finds a code, wrongly with a stated rate; a vendor serves it unchanged, or with one vice.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from vendor_verifier.findings.base import ModelRun
from vendor_verifier.findings.verdict import judge
from vendor_verifier.records.record import Attempt, Failure, Response, Timing, ToolCall, Usage
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.scoring.columns import ATTEMPT_COLUMNS, RECORD_COLUMNS
from vendor_verifier.suites import replay
from vendor_verifier.suites.probes import ProbesSuite, echo_text, probes_samples

BASELINE = "official"
Rewrite = Callable[[str], str]


@dataclass(frozen=True)
class Vendor:
    """``rewrite`` changes a tool call's text, ``keep`` is what a prompt's characters become, ``caches`` a cache.

    A prompt of more than ``most`` characters is refused.
    """

    rewrite: Rewrite = str
    keep: Rewrite = str
    caches: bool = False
    most: int | None = None
    reports_usage: bool = True
    bills_whole: bool = False


def rewrites_shell(text: str) -> str:
    """Shell commands get another host."""
    return text.replace(".example", ".exampie") if re.match(r"(curl|git|docker|npm|find|pip) ", text) else text


def drops_middle(text: str, most: int = 32_000) -> str:
    """The first and the last half of what fits."""
    return text if len(text) <= most else text[: most // 2] + text[-most // 2 :]


VENDORS: Mapping[str, Vendor] = {
    "honest": Vendor(),
    "honest, with a cache": Vendor(caches=True),
    "one character in all calls": Vendor(rewrite=lambda text: text[:3] + "e" + text[4:]),
    "shell commands only": Vendor(rewrite=rewrites_shell),
    "package names of pip only": Vendor(
        rewrite=lambda text: re.sub(r"(pip install.*?)\b(requests|numpy|cryptography)", r"\1\2s", text)
    ),
    "one package name only": Vendor(rewrite=lambda text: text.replace("requests", "reqeusts")),
    "cut at 8,000 tokens": Vendor(keep=lambda text: text[-32_000:]),
    "cut at 8,000 tokens, billed whole": Vendor(keep=lambda text: text[:32_000], bills_whole=True),
    "one package name only, no usage": Vendor(
        rewrite=lambda text: text.replace("requests", "reqeusts"), reports_usage=False
    ),
    "refuses more than 20,000 tokens": Vendor(most=80_000),
    "middle dropped": Vendor(keep=drops_middle, bills_whole=True),
}


def answer(vendor: Vendor, turn: Turn, rng: np.random.Generator, slip: float, cached: set[str]) -> Attempt:
    """The answer to a turn by a model that slips with this rate, as the vendor passes it on."""
    content = str(turn.messages[-1]["content"])
    if vendor.most is not None and len(content) > vendor.most:
        return Attempt(1, failure=Failure.of("too_large", "the prompt is too long", 400))
    read = vendor.keep(content)
    used, calls, text = read if not vendor.bills_whole else content, (), ""
    if turn.tools:
        copied = echo_text(content)
        if rng.random() < slip and len(copied) > 3:
            place = int(rng.integers(len(copied)))
            copied = copied[:place] + copied[place + 1 :]
        calls = (ToolCall("submit_text", json.dumps({"text": vendor.rewrite(copied)})),)
    else:
        codes = re.findall(r"The code of the \w+ door is (\S+)\.", read)
        text = " ".join(code for code in codes if rng.random() >= slip) or "none"
    hit = vendor.caches and content in cached
    cached.add(content)
    usage = Usage(input=len(used) // 4, output=20, cached=(len(used) // 4 if hit else 0) if vendor.caches else None)
    return Attempt(
        1, Timing("2026-01-01T00:00:00+00:00", 10**9, first_token_ns=10**8 if hit else 3 * 10**8),
        Response(text, tool_calls=calls, usage=usage if vendor.reports_usage else None),
    )  # fmt: skip


def rows_of(label: str, vendor: Vendor, samples: tuple[Sample, ...], seed: int, slip: float, again: int) -> list[dict]:
    """The rows of one vendor, as the frame of a run has them."""
    rng, cached, suite, rows = np.random.default_rng([seed, len(label), again]), set[str](), ProbesSuite(), []
    for sample in samples:
        attempts: list[Attempt] = []
        asked: list[Turn] = []
        while (score := replay(suite.play(sample), attempts, asked := [])) is None:
            attempts.append(answer(vendor, asked[-1], rng, slip, cached))
        usage = attempts[-1].response.usage if attempts[-1].response else None
        rows.append({
            "model": "m", "label": label, "suite": "probes", "sample": sample.id, "repetition": again, "ok": True,
            "status": score.details["status"], "problem": score.details["evidence"][:120] or None,
            "input_tokens": usage.input if usage else None, "sent_s": float(len(rows)),
        })  # fmt: skip
    return rows


def draw_run(
    vices: Mapping[str, Vendor],
    seed: int,
    slip: float,
    lengths: str = "4k,8k,12k,16k,32k",
    baseline: Vendor = VENDORS["honest, with a cache"],
) -> ModelRun:
    """A run of the baseline, asked twice, and of these vendors."""
    drawn = probes_samples(2, 2, seed, lengths)
    samples = tuple(each for each in drawn if each.tags["category"] not in ("probe", "string"))
    rows = [row for again in (0, 1) for row in rows_of(BASELINE, baseline, samples, seed, slip, again)]
    for label, vendor in vices.items():
        rows += rows_of(label, vendor, samples, seed, slip, 0)
    empty = {"bool": False, "int32": 0, "int64": 0}
    frame = pd.DataFrame(rows)
    for column in RECORD_COLUMNS:
        if column.name not in frame:
            frame[column.name] = empty.get(column.dtype)
    frame = frame.astype({column.name: column.dtype for column in RECORD_COLUMNS})
    return ModelRun(
        model="m", baseline=BASELINE, labels=(BASELINE, *vices), records=frame.iloc[:0], diagnostics=frame,
        attempts=pd.DataFrame({each.name: [] for each in ATTEMPT_COLUMNS}),
        planned={},
        model_ids=dict.fromkeys((BASELINE, *vices), "m"),
        probe_texts={each.id.removeprefix("probes-"): str(each.turn.messages[-1]["content"]) for each in samples},
    )  # fmt: skip


def found(run: ModelRun) -> dict[str, dict[str, str]]:
    """Vendor → finding → status, of what counts."""
    made: dict[str, dict[str, str]] = {label: {} for label in run.vendors}
    for finding in judge(run, {}).findings:
        if finding.status != "matches":
            made[finding.vendor][finding.name] = finding.status
    return made


def main() -> None:
    """Print the table: runs in which a vendor is accused or differs, in per cent with 95 % intervals."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("| vendor | model slips | check or worse | differs |\n|---|--:|--:|--:|")
    for slip in (0.0, 0.02, 0.1, 0.3):
        for label, vendor in VENDORS.items():
            counts = [0, 0]
            for seed in range(runs):
                statuses = found(draw_run({label: vendor}, seed, slip))[label].values()
                counts[0] += bool(statuses)
                counts[1] += "differs" in statuses
            shares = []
            for hits in counts:
                low, high = stats.binomtest(hits, runs).proportion_ci()
                shares.append(f"{100 * hits / runs:.0f} ({100 * low:.1f}–{100 * high:.1f})")
            print(f"| {label} | {100 * slip:.0f} % | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
