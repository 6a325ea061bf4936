"""Two runs compared over the samples that both asked: verdicts, figures, settings, and answers with another outcome.

Figures are compared sample by sample, by the tests of the verdict. A share (F1 by the decisions that agree with the
run's own baseline) is worse where the paired test gives p ≤ 1 % and the figure is 2 points or more lower; a time, a
speed or tokens where the ratio is above its line by batch means: 12 windows in sending order, 60 samples or more. One
Holm correction covers all figures, and no vendor is worse whose plain figure is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd

from vendor_verifier.features.history.check import FacetChange, change_line, facet_changes, vendor_names
from vendor_verifier.features.history.database import history_frame, run_document
from vendor_verifier.features.history.figures import least_change, shown, shown_change
from vendor_verifier.pipeline.score import score_plan
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.results import ModelResult
from vendor_verifier.records.sample import ChosenSamples
from vendor_verifier.scoring.calls import counted_calls, valid_calls
from vendor_verifier.scoring.figures import score_models
from vendor_verifier.scoring.metrics import RANK_METRICS, is_higher_better, is_share
from vendor_verifier.scoring.scored_run import ScoredRun
from vendor_verifier.scoring.table import Frames
from vendor_verifier.stats.compare import LEAST_TIMES, WINDOWS, holm, paired, slower
from vendor_verifier.text import counted, listed

ChangeVerdict = Literal["worse", "improved", "same", "undecided"]
ORDER: tuple[ChangeVerdict, ...] = ("worse", "improved", "undecided", "same")
LEVEL = 0.01
_LINES = {"avg_ttft_ms": 1.25, "tps": 1.25, "avg_tokens": 1.05}
_QUESTION = ["suite", "sample"]
_KEY = ["model", "label", *_QUESTION, "repetition"]
# Parts of a manifest that somebody chose.
_CHOSEN = ("settings", "score", "redacted", "tool", "packages")
Values = pd.Series


class MetricChange(msgspec.Struct, frozen=True):
    """One figure of one vendor, before and after, over the samples in common.

    ``low`` and ``high`` enclose its change with 95 %: after − before of a share, else the part of ``before`` that was
    added (0.15: 15 % more); None with too few samples. ``n`` samples were measured by both; ``p_value`` is corrected.
    """

    model: str
    label: str
    metric: str
    before: float
    after: float
    verdict: ChangeVerdict = "undecided"
    low: float | None = None
    high: float | None = None
    n: int = 0
    p_value: float = 1.0


class SettingChange(msgspec.Struct, frozen=True):
    """A part of the configuration that differs; None where one run has no such thing."""

    where: str
    before: str | None
    after: str | None


class RunComparison(msgspec.Struct, frozen=True):
    """The comparison of two runs. ``verdicts`` are facets whose status changed; ``flips`` are answers with another
    outcome: model, label, suite, sample, repetition, what (``ok``, ``decision``, ``valid``, ``score``), before, after."""

    before: str
    after: str
    common_samples: int
    verdicts: tuple[FacetChange, ...] = ()
    changes: tuple[MetricChange, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    flips: tuple[Mapping[str, Any], ...] = ()


def compare_scored(before: ScoredRun, after: ScoredRun) -> RunComparison:
    """``after`` against ``before``, over the samples and vendors that both have."""
    common = {
        suite: set(samples.ids) & set(after.samples[suite].ids)
        for suite, samples in before.samples.items()
        if suite in after.samples
    }
    sides = [_restricted(run, common) for run in (before, after)]
    changes = list(_changes(*sides, after.manifest.score.schema_policy))
    corrected = holm([change.p_value for change in changes])
    stored = [{"run": str(place), **run_document("", run)} for place, run in enumerate((before, after))]
    return RunComparison(
        before=before.report.run,
        after=after.report.run,
        common_samples=sum(map(len, common.values())),
        verdicts=tuple(each for each in facet_changes(history_frame(stored), "1") if each.before not in (None, each.after)),
        changes=tuple(_judged(change, p_value) for change, p_value in zip(changes, corrected, strict=True)),
        settings=tuple(_setting_changes(before.manifest, after.manifest)),
        flips=tuple(_flips(sides[0][0], sides[1][0])),
    )


def _restricted(run: ScoredRun, common: Mapping[str, set[str]]) -> tuple[pd.DataFrame, Mapping[str, ModelResult]]:
    """The records of a run over the samples in common, and the results from these alone."""
    records, attempts = (
        frame[pd.MultiIndex.from_frame(frame[_QUESTION].astype(object)).isin(asked)]
        for asked in [[(suite, name) for suite, names in common.items() for name in names]]
        for frame in (run.records, run.attempts)
    )
    samples = {
        suite: ChosenSamples(whole, [place for place, name in enumerate(whole.ids) if name in common[suite]])
        for suite, whole in run.samples.items()
        if common.get(suite)
    }
    evaluations = run.evaluations[run.evaluations["record"].isin(records.index)]
    frames = Frames(records, attempts, evaluations, run.texts)
    return records, score_models(frames, score_plan(run.manifest, samples)).models


def _changes(before: Any, after: Any, policy: Any) -> Iterator[MetricChange]:
    """Every figure that both runs measured of a vendor; until it is corrected, ``verdict`` is the likelier side."""
    for model, result in after[1].items():
        earlier = before[1].get(model)
        for label, vendor in result.vendors.items() if earlier is not None else ():
            other = earlier.vendors.get(label)
            for metric in (*RANK_METRICS, *vendor.suites) if other is not None else ():
                known = metric in RANK_METRICS or metric in other.suites
                figures = (other.metric(metric) if known else None, vendor.metric(metric))
                if None in figures or (metric == "f1" and vendor.is_baseline):
                    continue
                rows = [side[0][side[0]["model"] == model] for side in (before, after)]
                values = [
                    _values(part, label, found.baseline, metric, policy)
                    for part, found in zip(rows, (earlier, result), strict=True)
                ]
                sent = rows[1][rows[1]["label"] == label].astype({name: object for name in _QUESTION})
                order = sent.groupby(_QUESTION)["sent_s"].min().sort_values().index
                pairs = pd.concat(values, axis=1, join="inner").reindex(order).dropna().to_numpy(float)
                yield _compared(MetricChange(model, label, metric, *figures, n=len(pairs)), pairs)


def _compared(change: MetricChange, pairs: np.ndarray) -> MetricChange:
    """The change with its interval, its likelier side and that side's p-value, not yet corrected."""
    if is_share(change.metric) and len(pairs) > 1:
        worse, better = paired(pairs[:, 1], pairs[:, 0]), paired(pairs[:, 0], pairs[:, 1])
        low, high = worse.low, worse.high
    elif not is_share(change.metric) and len(pairs) >= LEAST_TIMES:
        windows = np.array_split(np.log(pairs[:, 1] / pairs[:, 0]), WINDOWS)
        ratios = np.array([window.mean() for window in windows])
        worse, better = slower(ratios, _LINES[change.metric]), slower(-ratios, _LINES[change.metric])
        low, high = worse.low - 1, worse.high - 1
        if is_higher_better(change.metric):
            worse, better = better, worse
    else:
        return change
    side: ChangeVerdict = "worse" if worse.p_value < better.p_value else "improved"
    p_value = min(1.0, 2 * min(worse.p_value, better.p_value))
    return msgspec.structs.replace(change, verdict=side, low=low, high=high, p_value=p_value)


def _values(rows: pd.DataFrame, label: str, baseline: str | None, metric: str, policy: Any) -> pd.Series[Any]:
    """What was measured of a vendor, by suite and sample, over its repetitions."""
    own = rows[rows["label"] == label]
    if metric == "f1":
        # The share of the pairs of a sample's decisions in which the vendor decides as the baseline.
        expected = rows[(rows["label"] == baseline) & rows["decision"].isin(["called", "not_called"])]
        both = [part[[*_QUESTION, "decision"]].astype(object) for part in (own, expected)]
        own = both[0].merge(both[1], on=_QUESTION)
        found = (own["decision_x"] == own["decision_y"]).astype(float)
    elif metric == "schema_accuracy":
        valid, judged = (pd.Series(of(own["classes"], policy), own.index) for of in (valid_calls, counted_calls))
        found = valid / judged.where(judged > 0)
    elif metric == "tps":
        found = own["tokens_after"] / own["decode_s"]
    elif metric == "avg_tokens":
        found = own["input_tokens"] + own["output_tokens"]
    elif metric in ("success_rate", "avg_ttft_ms"):
        found = own["ok" if metric == "success_rate" else "ttft_ms"].astype(float)
    else:
        found = own["score"].where(own["suite"] == metric)
    return found.groupby([own[name].astype(object) for name in _QUESTION]).mean().dropna()


def _judged(change: MetricChange, p_value: float) -> MetricChange:
    """The change with its corrected p-value and its verdict."""
    if change.low is None or change.high is None:
        return change
    line = least_change(change.metric) if is_share(change.metric) else _LINES[change.metric] - 1
    is_plain = (change.verdict == "worse") == ((change.after < change.before) == is_higher_better(change.metric))
    is_large = not is_share(change.metric) or abs(change.after - change.before) >= line
    verdict: ChangeVerdict = "same" if -line < change.low and change.high < line else "undecided"
    if p_value <= LEVEL and is_plain and is_large:
        verdict = change.verdict
    return msgspec.structs.replace(change, verdict=verdict, p_value=p_value)


def _setting_changes(before: Manifest, after: Manifest) -> Iterator[SettingChange]:
    """The differences between two manifests; entries are joined by model and label, evaluations by name."""
    sides = []
    for manifest in (before.raw, after.raw):
        chosen = {name: manifest.get(name) for name in _CHOSEN}
        chosen["entries"] = {f"{entry['model']} / {entry['label']}": entry for entry in manifest["entries"]}
        chosen["tasks"] = {task["suite"]: task for task in manifest["tasks"]}
        flat = pd.json_normalize(chosen).iloc[0].to_dict()
        sides.append({where: str(value) for where, value in flat.items() if value not in (None, [], {})})
    for where in dict.fromkeys([*sides[0], *sides[1]]):
        if sides[0].get(where) != sides[1].get(where):
            yield SettingChange(where, sides[0].get(where), sides[1].get(where))


def _flips(before: pd.DataFrame, after: pd.DataFrame) -> Iterator[Mapping[str, Any]]:
    """The answers whose success, decision, validity of calls or score changed sides."""
    sides = []
    for records in (before, after):
        side = records[_KEY].astype(object)
        side["ok"] = records["ok"].map({True: "succeeded", False: "failed"})
        side["decision"] = records["decision"].astype(object)
        is_valid = pd.Series(valid_calls(records["classes"]) == counted_calls(records["classes"]), records.index)
        side["valid"] = is_valid.map({True: "valid", False: "invalid"}).where(records["classes"].notna())
        side["score"] = (records["score"] >= 1).map({True: "right", False: "wrong"}).where(records["score"].notna())
        sides.append(side.melt(_KEY, var_name="what").dropna())
    both = sides[0].merge(sides[1], on=[*_KEY, "what"], suffixes=("_x", "_y"))
    both = both.rename(columns={"value_x": "before", "value_y": "after"})
    yield from both[both["before"] != both["after"]].to_dict("records")


def comparison_lines(found: RunComparison) -> list[str]:
    """The comparison as lines of text: verdicts, figures by verdict, settings, flips."""
    counts = [f"{n} {word}" for word in ORDER if (n := sum(change.verdict == word for change in found.changes))]
    over = counted(found.common_samples, "sample")
    lines = [f"{found.after} against {found.before} over {over}: {', '.join(counts) or 'nothing to compare'}"]
    names = vendor_names((each.model, each.label) for each in (*found.changes, *found.verdicts))
    lines += [f"  {change_line(change, names)}" for change in found.verdicts]
    for change in sorted(found.changes, key=lambda change: ORDER.index(change.verdict)):
        ends = [end if is_share(change.metric) else math.log1p(end) for end in (change.low, change.high) if end is not None]
        interval = " … ".join(shown_change(change.metric, end) for end in ends) or f"fewer than {LEAST_TIMES} samples"
        values = f"{shown(change.metric, change.before)} → {shown(change.metric, change.after)}"
        name = names[change.model, change.label]
        lines.append(f"  {change.verdict}: {name}: {change.metric} {values} ({interval}; n {change.n})")
    lines.append(f"settings that differ: {len(found.settings) or 'none'}")
    lines += [f"  {each.where}: {each.before or '–'} → {each.after or '–'}" for each in found.settings[:40]]
    flips: dict[str, list[str]] = {}
    for flip in found.flips:
        name = names.get((flip["model"], flip["label"]), flip["label"])
        flips.setdefault(f"{name}: {flip['what']}: {flip['before']} → {flip['after']}", []).append(flip["sample"])
    lines.append(f"answers with another outcome: {len(found.flips) or 'none'}")
    return lines + [f"  {what}: {len(samples)} ({listed(samples)})" for what, samples in flips.items()]
