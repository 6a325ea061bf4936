"""Judges the models of a run: what the findings need, from the frames and the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd
from msgspec import structs

from vendor_verifier.config.suite_options import build_suite, known_suite
from vendor_verifier.findings.base import ModelRun
from vendor_verifier.findings.gates import judge_gates
from vendor_verifier.findings.verdict import judge
from vendor_verifier.pipeline.gates import read_gates
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.results import Finding, GateResult, ModelResult
from vendor_verifier.records.sample import Samples
from vendor_verifier.scoring.figures import Scored
from vendor_verifier.scoring.intervals import intervals
from vendor_verifier.scoring.money import Money, Price, input_price_usd
from vendor_verifier.scoring.table import Frames
from vendor_verifier.suites import suite_kind
from vendor_verifier.suites.probes import NAME, ProbesSuite, group_of, probes_samples

EntryKey = tuple[str, str]


@dataclass
class Judged:
    """The results of all models with their verdicts, all findings, and the outcome of every gate."""

    models: dict[str, ModelResult] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    gates: list[GateResult] = field(default_factory=list)


def judge_models(
    manifest: Manifest,
    frames: Frames,
    scored: Scored,
    samples: Mapping[str, Samples],
    money: Mapping[EntryKey, Money],
    prices: Mapping[EntryKey, Price],
    run: str,
) -> Judged:
    """Judge every model; ``run`` is how commands name the run."""
    judged = Judged()
    for model, result in scored.models.items():
        found = _model_run(model, result, manifest, frames, scored, samples, money, prices, run)
        verdicts = judge(found, result.vendors)
        spans = intervals(result, found.records, manifest.score.undecided)
        vendors = {
            label: structs.replace(
                vendor,
                verdict=verdicts.verdicts[label],
                intervals=spans.get(label, {}),
                input_price_usd=(
                    input_price_usd(prices[model, label], vendor.cached_share) if (model, label) in prices else None
                ),
            )
            for label, vendor in result.vendors.items()
        }
        judged.models[model] = structs.replace(result, vendors=vendors, choice=verdicts.choice)
        judged.findings += verdicts.findings
        gates = read_gates(manifest.score.gates_of(model), manifest.suites)
        if gates:
            judged.gates += judge_gates(found, vendors, verdicts.verdicts, gates)
    return judged


def _model_run(
    model: str,
    result: ModelResult,
    manifest: Manifest,
    frames: Frames,
    scored: Scored,
    samples: Mapping[str, Samples],
    money: Mapping[EntryKey, Money],
    prices: Mapping[EntryKey, Price],
    run: str,
) -> ModelRun:
    # Answers of another provider than the pinned one say nothing of the vendor.
    records = _of_model(frames.records[~scored.records["misrouted"]], model)
    apart = records["suite"].isin([name for name in samples if (kind := suite_kind(name)) is None or kind.apart])
    entries = [entry for entry in manifest.entries if entry.model == model]
    return ModelRun(
        model=model,
        baseline=result.baseline,
        labels=tuple(entry.label for entry in entries),
        records=records[~apart],
        attempts=_of_model(frames.attempts, model),
        evaluations=frames.evaluations[frames.evaluations["record"].isin(records.index)],
        apart=records[apart],
        planned={label: vendor.planned for label, vendor in result.vendors.items()},
        model_ids={entry.label: entry.model_id for entry in entries},
        texts={entry.label: frames.texts.kept.get((model, entry.label), {}) for entry in entries},
        money={label: spent for (name, label), spent in money.items() if name == model},
        prices={label: price for (name, label), price in prices.items() if name == model},
        probe_texts=_probe_texts(manifest),
        complete=scored.complete,
        redacted=manifest.redacted,
        run=run,
        seed=abs(manifest.settings.seed or 0),
    )


def _of_model(frame: pd.DataFrame, model: str) -> pd.DataFrame:
    return frame[frame["model"] == model]


def _probe_texts(manifest: Manifest) -> Mapping[str, str]:
    """The texts of the run's probes by group, made again from their seed; none where that is unknown."""
    seed = manifest.settings.question_seed
    options = next((task.options for task in manifest.tasks if task.suite == NAME), {})
    if seed is None:
        return {}
    suite = build_suite(known_suite(NAME), options)
    assert isinstance(suite, ProbesSuite)
    samples = probes_samples(suite.questions, 1, seed, suite.lengths)
    return {group_of(each.id): str(each.turn.messages[-1]["content"]) for each in samples}
