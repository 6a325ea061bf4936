"""Two runs compared: verdicts, figures over the samples that both asked, and settings that differ.

Figures are compared sample by sample. A share is worse where p ≤ 1 % and the figure is 2 points or more lower: by the
paired test, for F1 over the decisions that agree with the run's own baseline, for success by groups of failures. Times,
speeds and tokens are worse where the ratio is above its line by batch means. Holm's correction covers the vendors of a
figure, and no vendor is worse whose plain figure is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
import numpy as np
import pandas as pd
from msgspec import structs

from vendor_verifier.features.history.check import FacetChange, change_line, facet_changes, vendor_names
from vendor_verifier.features.history.database import history_frame, least_change, run_document, shown, shown_change
from vendor_verifier.findings.reliability import GAP
from vendor_verifier.records.failures import UNCOUNTED
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.scoring.metrics import RANK_METRICS, is_higher_better, is_share
from vendor_verifier.scoring.table import judged_calls
from vendor_verifier.stats.compare import LEAST_TIMES, WINDOWS, holm, more_stretches, paired, slower, stretches
from vendor_verifier.text import counted, listed

ChangeVerdict = Literal["worse", "improved", "same", "undecided"]
ORDER: tuple[ChangeVerdict, ...] = ("worse", "improved", "undecided", "same")
LEVEL = 0.01
_LINES = {"avg_ttft_ms": 1.25, "tps": 1.25, "avg_tokens": 1.05}
_KEY = ["model", "label", "suite", "sample"]
# Parts of a manifest that somebody chose.
_CHOSEN = ("settings", "score", "redacted", "tool", "packages")
_MOST_SETTINGS = 40
_DIGESTS = {"asked": "other samples were asked", "sha256": "the file has another content"}


class MetricChange(msgspec.Struct, frozen=True):
    """One figure of one vendor in two runs.

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
    """The comparison of two runs: facets whose status changed, figures, settings, and vendors of one run only."""

    before: str
    after: str
    common_samples: int
    gone: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    verdicts: tuple[FacetChange, ...] = ()
    changes: tuple[MetricChange, ...] = ()
    settings: tuple[SettingChange, ...] = ()


def compare_scored(before: ScoredRun, after: ScoredRun) -> RunComparison:
    """``after`` against ``before``, over the samples and vendors that both have."""
    stored = history_frame([{**run_document(run), "run": str(place)} for place, run in enumerate((before, after))])
    stored = stored[stored.duplicated(["model", "label"], keep=False)]
    keys = [[(model, label) for model, found in run.report.models.items() for label in found.vendors]
            for run in (before, after)]  # fmt: skip
    names = vendor_names([*keys[0], *keys[1]])
    found = list(_changes(before, after))
    changes: list[MetricChange] = []
    for metric in dict.fromkeys(change.metric for change in found):
        own = [change for change in found if change.metric == metric]
        changes += map(_judged, own, holm([change.p_value for change in own]))
    return RunComparison(
        before=before.report.run,
        after=after.report.run,
        common_samples=sum(
            len(set(samples.ids) & set(after.samples[suite].ids))
            for suite, samples in before.samples.items()
            if suite in after.samples
        ),
        gone=tuple(names[key] for key in keys[0] if key not in keys[1]),
        added=tuple(names[key] for key in keys[1] if key not in keys[0]),
        verdicts=tuple(one for one in facet_changes(stored, "1") if one.before != one.after),
        changes=tuple(changes),
        settings=tuple(_setting_changes(before.manifest, after.manifest)),
    )


def _changes(before: ScoredRun, after: ScoredRun) -> Iterator[MetricChange]:
    """Every figure that both runs measured of a vendor; until it is corrected, ``verdict`` is the likelier side."""
    both = pd.concat({"before": _by_sample(before), "after": _by_sample(after)}, axis=1, join="inner")
    both = both.sort_values(("after", "sent_s"), kind="stable")
    groups: Any = both.groupby(level=["model", "label"], sort=False)
    for (model, label), part in groups:
        vendors = [run.report.models[model].vendors[label] for run in (before, after)]
        for metric in (*RANK_METRICS, *(name for name in vendors[0].suites if name in vendors[1].suites)):
            first, second = (vendor.metric(metric) for vendor in vendors)
            by_definition = metric == "f1" and vendors[1].is_baseline
            if first is not None and second is not None and metric in part["after"] and not by_definition:
                pairs = part[[("before", metric), ("after", metric)]].dropna().to_numpy(float)
                yield _compared(MetricChange(model, label, metric, first, second, n=len(pairs)), pairs)


def _by_sample(run: ScoredRun) -> pd.DataFrame:
    """Every metric by model, label, suite and sample, over repetitions, and when the sample was sent."""
    rows = run.records[~run.records["charge"].isin(UNCOUNTED)].astype(dict.fromkeys([*_KEY, "decision"], object))
    valid, judged = judged_calls(rows["classes"], run.manifest.score.schema_policy)
    table = rows[[*_KEY, "sent_s"]].assign(
        success_rate=rows["ok"].astype(float),
        schema_accuracy=valid / np.where(judged, judged, np.nan),
        tps=rows["tokens_after"] / rows["decode_s"],
        avg_ttft_ms=rows["ttft_ms"],
        avg_tokens=rows["input_tokens"] + rows["output_tokens"],
        **{suite: rows["score"].where(rows["suite"] == suite) for suite in rows["suite"].unique()},
    )
    means = table.groupby(_KEY).mean()
    # Of F1 the share of decisions that agree with the baseline's.
    baselines = rows["model"].map({model: result.baseline for model, result in run.report.models.items()})
    expected = rows[(rows["label"] == baselines) & (rows["decision"] != "undecided")]
    question = [name for name in _KEY if name != "label"]
    pairs = rows[[*_KEY, "decision"]].merge(expected[[*question, "decision"]], on=question, suffixes=("", "_expected"))
    pairs["agrees"] = pairs["decision"] == pairs["decision_expected"]
    return means.join(pairs.groupby(_KEY)["agrees"].mean().rename("f1"))


def _compared(change: MetricChange, pairs: np.ndarray) -> MetricChange:
    """The change with its interval, its likelier side and that side's p-value, not yet corrected."""
    before, after = pairs[:, 0], pairs[:, 1]
    if is_share(change.metric) and len(pairs) > 1:
        worse, better = paired(after, before), paired(before, after)
        # That no sample changed bounds how many could (the rule of three); it does not say that none ever will.
        rare = 0.0 if (before != after).any() else min(1.0, 3 / len(pairs))
        low, high = worse.low - rare, worse.high + rare
        if change.metric == "success_rate":
            failed = pairs < 1
            first, second = (stretches(side, GAP) for side in failed.T)
            counts = failed.sum(axis=0)
            worse = more_stretches(second, int(counts[1]), len(pairs), first, len(pairs))
            better = more_stretches(first, int(counts[0]), len(pairs), second, len(pairs))
    elif not is_share(change.metric) and len(pairs) >= LEAST_TIMES:
        ratios = np.array([window.mean() for window in np.array_split(np.log(after / before), WINDOWS)])
        worse, better = (slower(signed, _LINES[change.metric]) for signed in (ratios, -ratios))
        low, high = worse.low - 1, worse.high - 1
        worse, better = (better, worse) if is_higher_better(change.metric) else (worse, better)
    else:
        return change
    side: ChangeVerdict = "worse" if worse.p_value < better.p_value else "improved"
    p_value = min(1.0, 2 * min(worse.p_value, better.p_value))
    return structs.replace(change, verdict=side, low=low, high=high, p_value=p_value)


def _judged(change: MetricChange, p_value: float) -> MetricChange:
    if change.low is None or change.high is None:
        return change
    line = least_change(change.metric) if is_share(change.metric) else _LINES[change.metric] - 1
    is_plain = (change.verdict == "worse") == ((change.after < change.before) == is_higher_better(change.metric))
    is_large = not is_share(change.metric) or abs(change.after - change.before) >= line
    verdict: ChangeVerdict = "same" if -line < change.low and change.high < line else "undecided"
    if p_value <= LEVEL and is_plain and is_large:
        verdict = change.verdict
    return structs.replace(change, verdict=verdict, p_value=p_value)


def _setting_changes(before: Manifest, after: Manifest) -> Iterator[SettingChange]:
    """The differences between two manifests; entries of both are joined by model and label, evaluations by name."""
    sides = []
    common = {entry.name for entry in before.entries} & {entry.name for entry in after.entries}
    for one in (before, after):
        manifest = msgspec.to_builtins(one)
        chosen = {name: manifest[name] for name in _CHOSEN}
        # What was typed, which the other settings hold in full.
        chosen["settings"].pop("stated", None)
        chosen["entries"] = {
            entry.name: msgspec.to_builtins(entry) | {"account": None} for entry in one.entries if entry.name in common
        }
        chosen["tasks"] = {task["suite"]: task for task in manifest["tasks"]}
        flat = pd.json_normalize(chosen).iloc[0].to_dict()
        sides.append({where: str(value) for where, value in flat.items() if value not in (None, [], {})})
    for where in dict.fromkeys([*sides[0], *sides[1]]):
        if sides[0].get(where) != sides[1].get(where):
            yield SettingChange(str(where), sides[0].get(where), sides[1].get(where))


def comparison_lines(found: RunComparison) -> list[str]:
    """The comparison as lines of text: what got worse, verdicts, figures by verdict, settings."""
    worse = sum(change.is_worse for change in found.verdicts)
    counts = [f"{counted(worse, 'verdict')} worse"] if worse else []
    counts += [f"not in the second run: {listed(found.gone)}"] if found.gone else []
    counts += [f"not in the first run: {listed(found.added)}"] if found.added else []
    figures = [f"{n} {word}" for word in ORDER if (n := sum(change.verdict == word for change in found.changes))]
    counts += [f"figures: {', '.join(figures)}"] if figures else []
    over = f" over {counted(found.common_samples, 'common sample')}" if found.changes else ""
    lines = [f"{found.after} against {found.before}{over}: {'; '.join(counts) or 'nothing to compare'}"]
    keys = [(change.model, change.label) for change in found.changes]
    names = vendor_names([*keys, *((change.model, change.label) for change in found.verdicts)])
    lines += [f"  {change_line(change, names)}" for change in found.verdicts]
    others: dict[str, list[str]] = {}
    for change in sorted(found.changes, key=lambda change: ORDER.index(change.verdict)):
        name = names[change.model, change.label]
        if change.verdict not in ("worse", "improved") or change.low is None or change.high is None:
            others.setdefault(f"{change.verdict}: {change.metric}", []).append(name)
            continue
        ends = [end if is_share(change.metric) else math.log1p(end) for end in (change.low, change.high)]
        interval = " … ".join(shown_change(change.metric, end) for end in ends)
        values = f"{shown(change.metric, change.before)} → {shown(change.metric, change.after)}"
        lines.append(f"  {change.verdict}: {name}: {change.metric} {values} ({interval}; n {change.n})")
    lines += [f"  {what}: {listed(who)}" for what, who in others.items()]
    lines.append(f"settings that differ: {len(found.settings) or 'none'}")
    for one in found.settings[:_MOST_SETTINGS]:
        where, _, name = one.where.rpartition(".")
        lines.append(f"  {one.where}: {one.before or '–'} → {one.after or '–'}")
        if name in _DIGESTS and one.before and one.after:
            lines[-1] = f"  {where}: {_DIGESTS[name]}"
    return lines
