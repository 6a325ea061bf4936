"""The files of 0.1.0 in ``data/``: its results as run folders, and the figures it had measured itself.

0.1.0 named its files ``<model>_<vendor>[_<provider>]_results.jsonl`` and ``…_summary.json``, and wrote a provider for
OpenRouter alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from vendor_verifier.config.model_names import known_models
from vendor_verifier.errors import VerifierError
from vendor_verifier.metrics import RANKED
from vendor_verifier.pipeline.import_results import import_run
from vendor_verifier.reports.escape import markdown
from vendor_verifier.reports.number_format import PAGE_METRICS, figure_title, fusion, written
from vendor_verifier.scoring.irf import irf
from vendor_verifier.store import RunFolder
from vendor_verifier.values.labels import shown_label
from vendor_verifier.values.score import Report
from vendor_verifier.wire.payload import as_count, parse_json
from vendor_verifier.words import Texts

FIGURES_FILE = "figures_of_0.1.0.md"
_ROUTER = "openrouter"
_RESULTS, _SUMMARY = "_results.jsonl", "_summary.json"


class OldEntry(msgspec.Struct, frozen=True):
    """A vendor of a 0.1.0 config."""

    model: str
    vendor: str
    provider: str | None = None
    is_baseline: bool = False

    @property
    def stem(self) -> str:
        """The beginning of the names of its files."""
        return "_".join(filter(None, (self.model, self.vendor, self.provider if self.vendor == _ROUTER else None)))

    @property
    def label(self) -> str:
        slug = (self.provider or "").strip().rstrip("/")
        return shown_label(f"{self.vendor} ({slug})") if slug else self.vendor


class OldResults(msgspec.Struct):
    """The files of one model: label → file, and which label is the baseline's."""

    model: str
    results: dict[str, Path] = msgspec.field(default_factory=dict)
    summaries: dict[str, Path] = msgspec.field(default_factory=dict)
    baseline: str | None = None


class Brought(msgspec.Struct, frozen=True):
    """The outcome for one model's files: its run with ``results`` files, or the reason ``why`` there is none."""

    model: str
    folder: Path
    results: int = 0
    summaries: int = 0
    why: str | None = None


def find_results(data: Path, entries: Sequence[OldEntry]) -> list[OldResults]:
    """The result files and summaries in ``data`` by model: those of ``entries``, then others by their names."""
    found: dict[str, OldResults] = {}
    known = {entry.stem: entry for entry in entries}
    for ending in (_RESULTS, _SUMMARY):
        for path in sorted(data.rglob(f"*{ending}")):
            stem = str(path.relative_to(data)).removesuffix(ending)
            entry = known.get(stem) or _by_name(stem, [entry.model for entry in entries])
            own = found.setdefault(entry.model, OldResults(entry.model))
            (own.results if ending == _RESULTS else own.summaries)[entry.label] = path
            if entry.is_baseline:
                own.baseline = entry.label
    return list(found.values())


def _by_name(stem: str, models: Iterable[str]) -> OldEntry:
    """The entry that a file's name stands for: the longest model that it begins with, else all before the first _."""
    fitting = [model for model in (*models, *known_models()) if stem.startswith(f"{model}_")]
    model = max(fitting, key=len) if fitting else stem.partition("_")[0]
    vendor, _, provider = stem.removeprefix(f"{model}_").partition("_")
    if vendor == _ROUTER and provider:
        return OldEntry(model, vendor, provider)
    return OldEntry(model, stem.removeprefix(f"{model}_") or model)


def bring_over(old: OldResults, output_dir: Path) -> Brought:
    """Import one model's files into ``output_dir/imported-<model>``, and write down what 0.1.0 had measured."""
    folder = RunFolder(output_dir / f"imported-{re.sub(r'[^A-Za-z0-9.-]+', '_', old.model).strip('.') or 'model'}")
    report = None
    if old.results:
        # A file without one usable row, or a folder that holds a run: the other models' files are brought over anyway.
        try:
            report = import_run(
                {label: [path] for label, path in old.results.items()},
                baseline=old.baseline if old.baseline in old.results else None,
                model=old.model,
                output_dir=folder.path,
                skip_bad=True,
            )
        except VerifierError as error:
            return Brought(old.model, folder.path, why=str(error))
    figures = {label: read for label, path in old.summaries.items() if (read := read_summary(path)) is not None}
    if figures:
        folder.create()
        folder.write(FIGURES_FILE, figures_page(old, figures, report, Texts("wide")))
    return Brought(old.model, folder.path, len(old.results), len(figures))


def read_summary(path: Path) -> dict[str, float | None] | None:
    """Metric → value as 0.1.0 measured it; None for a file that is no summary. What it writes as 0 was not measured."""
    try:
        raw = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(raw, dict) or as_count(raw.get("success_count")) is None:
        return None
    good, bad = as_count(raw.get("success_count")) or 0, as_count(raw.get("failure_count")) or 0
    calls, valid = as_count(raw.get("finish_tool_calls")) or 0, as_count(raw.get("successful_tool_call_count")) or 0
    return {
        "success_rate": good / (good + bad) if good + bad else None,
        "schema_accuracy": valid / calls if calls else None,
        "avg_tokens": _above_zero(raw.get("avg_tokens")),
        "avg_ttft_ms": _above_zero(raw.get("avg_ttft_ms")),
        "tps": _above_zero(raw.get("avg_throughput")),
    }


def _above_zero(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value > 0 else None


def figures_page(
    old: OldResults, figures: Mapping[str, Mapping[str, float | None]], report: Report | None, t: Texts
) -> str:
    """The table of the product's page with the figures of 0.1.0, in Markdown; F1 is counted from the result files."""
    counted = _triggering(report)
    full = {
        label: {name: counted.get(label) if name == "f1" else values.get(name) for name in RANKED}
        for label, values in figures.items()
    }
    fused = irf(full)
    heads = (t("vendor"), t("irf"), *(figure_title(name, t) for name in PAGE_METRICS))
    lines = [f"# {t('migrate_page', model=markdown(old.model))}", "", t("migrate_page_note"), ""]
    lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for label in sorted(fused, key=lambda name: -fused[name]):
        cells = (markdown(label), fusion(fused[label]), *(written(name, full[label][name]) for name in PAGE_METRICS))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _triggering(report: Report | None) -> dict[str, float | None]:
    models = () if report is None else report.models
    return {vendor.label: vendor.metrics.get("f1") for model in models for vendor in model.vendors}
