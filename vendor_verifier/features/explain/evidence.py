"""The evidence of the verdict on a vendor, facet by facet, read from the frames of a scored run; then its failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from vendor_verifier.features.explain.sample import (
    Answer,
    answer_of,
    attempt_lines,
    cell,
    curl_lines,
    judged_answers,
    name_of,
    read_answers,
)
from vendor_verifier.findings.reliability import GAP
from vendor_verifier.records.failures import UNCOUNTED
from vendor_verifier.records.results import WORST_FIRST, FacetName, Finding
from vendor_verifier.reports.escape import MAX_SENTENCE, plain
from vendor_verifier.reports.tables import ModelTables
from vendor_verifier.scoring.figures import ScoredRun
from vendor_verifier.scoring.table import INVALID_CALLS, has_word
from vendor_verifier.stats.answers import leanings
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import SUITES

SAMPLE, QUESTION = ["suite", "sample"], ["model", "suite", "sample"]
# What an answer is next to the baseline's, the worst last.
STATES = {
    "fine": "fine",
    "other": "other arguments",
    "score": "lower score",
    "decision": "other decision",
    "call": "invalid call",
    "failed": "failed",
}


class Table(msgspec.Struct, frozen=True):
    """A titled table, most telling row first; what was not measured is None. ``texts`` names columns of long texts."""

    title: str
    rows: Sequence[Mapping[Any, Any]]
    texts: tuple[str, ...] = ()


class Evidence(msgspec.Struct, frozen=True):
    """A facet's verdict (None: the vendor's own) with its findings, tables and failed answers."""

    facet: FacetName | None
    status: str
    reason: str
    findings: Sequence[Finding] = ()
    tables: Sequence[Table] = ()
    failures: Sequence[Answer] = ()


@dataclass(frozen=True)
class Sides:
    """The records of a vendor (``own``) and of its baseline (``base``) in sending order, without checks and probes."""

    folder: RunFolder
    scored: ScoredRun
    model: str
    label: str
    baseline: str
    own: pd.DataFrame
    base: pd.DataFrame
    most: int

    def pairs(self, column: str) -> pd.DataFrame:
        """The samples that both answered: ``vendor`` and ``baseline`` hold the mean of the column over repetitions."""
        own, base = (rows.groupby(SAMPLE, observed=True)[column].mean() for rows in (self.own, self.base))
        return pd.DataFrame({"vendor": own, "baseline": base}).dropna()

    def counts(self, title: str, column: str) -> Table:
        """How often both show each value of a column; values may be several, with commas."""
        found = {}
        for side, rows in (("vendor", self.own), ("baseline", self.base)):
            found[side] = rows.loc[rows["ok"], column].dropna().astype(str).str.split(",").explode().value_counts()
        counts = pd.DataFrame(found).fillna(0).sort_values("vendor", ascending=False)
        return self.table(title, counts.rename_axis("value").reset_index())

    def table(self, title: str, rows: pd.DataFrame, *texts: str) -> Table:
        """The first rows; a sample has the id of its own row next to ours, where it has one."""
        shown = rows.head(self.most).astype(object)
        names = self.own.dropna(subset="sample_name").drop_duplicates("sample").set_index("sample")["sample_name"]
        if "sample" in shown and len(names):
            shown.insert(list(shown).index("sample") + 1, "id", shown["sample"].map(names.astype(object)))
        return Table(title, shown.where(shown.notna(), None).to_dict("records"), texts)


def explain_vendor(
    folder: RunFolder, scored: ScoredRun, model: str, label: str, facet: FacetName | None, most: int
) -> list[Evidence]:
    """The verdict on a vendor, then the evidence of ``facet``, or of all that do not match, worst first."""
    result = scored.report.models[model]
    baseline = result.baseline if result.baseline != label else None
    # As the verdict: without answers of another provider than the pinned one.
    rows = scored.records.query("model == @model and not misrouted").sort_values("sent_s", kind="stable")
    rows = rows[~rows["suite"].isin([kind.name for kind in SUITES if kind.diagnostic])].astype(
        dict.fromkeys(SAMPLE, object)
    )
    own, base = (rows[rows["label"] == each] for each in (label, baseline))
    sides = Sides(folder, scored, model, label, baseline or "", own, base, most)
    makers = {"model": _model, "tool_calls": _tool_calls, "bill": _bill, "reliability": _reliability, "speed": _speed}
    verdict = result.vendors[label].verdict
    failures = list(_failures(sides)) if facet in (None, "reliability") else []
    broken = scored.records.query("model == @model and label == @label and status == 'broken'")[["sample", "problem"]]
    checks = [sides.table("Feature checks that broke", broken)] if facet is None and len(broken) else []
    reason = f"{model} / {label}: {verdict.reason}"
    found = [Evidence(None, verdict.status, reason, tables=checks, failures=failures)]
    for name, judged in sorted(verdict.facets.items(), key=lambda each: WORST_FIRST.index(each[1].status)):
        if facet == name or (facet is None and judged.status not in ("matches", "reference")):
            findings = [
                each for each in scored.findings if (each.model, each.vendor, each.facet) == (model, label, name)
            ]
            tables = [each for each in makers[name](sides) if each.rows]
            found.append(Evidence(name, judged.status, judged.reason, findings, tables))
        elif facet is None:
            found.append(Evidence(name, judged.status, judged.reason))
    return found


def _model(sides: Sides) -> Iterator[Table]:
    """The names in the answers, and the answers most unlike the baseline's two, or nearest to them (below 0)."""
    for name in ("served_model", "provider", "fingerprint"):
        yield sides.counts(f"{name.replace('_', ' ').capitalize()} of answers", name)
    own, base = (sides.scored.texts.kept.get((sides.model, label), {}) for label in (sides.label, sides.baseline))
    rows = []
    for question in sorted(own.keys() & base.keys()):
        answers = [own[question].get(0), base[question].get(0), base[question].get(1)]
        texts = [each.shown for each in answers if each is not None]
        if len(texts) == 3:
            distance = leanings([(texts[0], texts[1], texts[2])])[0, 0]
            rows.append((*question, distance, *(text.replace("\0", " ") for text in texts)))
    columns = ["vendor", "baseline", "baseline again"]
    found = pd.DataFrame(rows, columns=[*SAMPLE, "distance", *columns])
    found = found[found["distance"] != 0].sort_values("distance", key=abs, ascending=False, kind="stable")
    scale = "0: as near as those are to each other, 1: nothing in common"
    yield sides.table(f"Distance from the baseline's answers ({scale})", found, *columns)


def states_of(rows: pd.DataFrame, baselines: Sequence[tuple[str, str]]) -> Any:
    """What each answer is next to the baseline's: a name of ``STATES``. ``baselines`` are (model, label)."""
    # As words, because pandas cannot look up many categories in a frame without a baseline.
    rows = rows.astype(dict.fromkeys(QUESTION, object))
    is_base = pd.MultiIndex.from_frame(rows[["model", "label"]]).isin(baselines or [("", "")])
    by_question = rows[is_base & rows["ok"]].groupby(QUESTION, observed=True)
    asked = pd.MultiIndex.from_frame(rows[QUESTION])
    # Where the baseline itself answers in two ways, nobody differs from it.
    calls = by_question["call_digest"].agg(["min", "max"]).reindex(asked).to_numpy()
    decisions = by_question["decision"].agg(lambda found: "/".join(found.unique())).reindex(asked).to_numpy()
    decided = pd.Series(decisions, index=rows.index).isin(["called", "not_called"]) & (rows["decision"] != "undecided")
    own, scores = rows["call_digest"].to_numpy(), by_question["score"].mean().reindex(asked).fillna(1).to_numpy()
    conditions = [
        # A feature that a vendor does not offer is not a failure.
        (~rows["ok"] & rows["status"].isna()) | (rows["status"] == "broken"),
        has_word(rows["classes"], *INVALID_CALLS),
        decided & (rows["decision"].astype(object) != decisions),
        rows["score"] < scores - 1e-9,
        (calls[:, 0] == calls[:, 1]) & (own != calls[:, 0]) & ~np.isnan(own),
    ]
    return np.select(conditions, ["failed", "call", "decision", "score", "other"], "fine")


def _tool_calls(sides: Sides) -> Iterator[Table]:
    """The samples where its calls differ from all of the baseline's, break a schema or score lower."""
    both = pd.concat([sides.own, sides.base])
    own = both.assign(state=states_of(both, [(sides.model, sides.baseline)]))[: len(sides.own)]
    own = own[~own["state"].isin(["fine", "failed"])].drop_duplicates(SAMPLE)
    own = own.assign(difference=own["state"].map(STATES), state=pd.Categorical(own["state"], list(STATES)))
    own = own.sort_values("state", ascending=False, kind="stable")
    counts = own["difference"].value_counts().rename_axis("difference").reset_index(name="samples")
    yield sides.table("Differences from the baseline", counts)
    yield sides.counts("Anomalies of answers", "anomalies")
    worst, rows = own[[*SAMPLE, "difference"]].head(sides.most).astype(str).to_numpy().tolist(), []
    answers = read_answers(sides.folder, sides.model, [(suite, sample) for suite, sample, _ in worst])
    for suite, sample, difference in worst:
        given = answers.get((suite, sample), [])
        texts = [{answer_of(each) for each in given if each.label == label} for label in (sides.label, sides.baseline)]
        rows.append((suite, sample, difference, *(" | ".join(sorted(each)) for each in texts)))
    columns = [*SAMPLE, "difference", "vendor", "baseline"]
    yield sides.table("Calls that differ", pd.DataFrame(rows, columns=columns), "vendor", "baseline")


def _bill(sides: Sides) -> Iterator[Table]:
    for kind, column in (("prompt", "input_tokens"), ("output", "output_tokens")):
        found = sides.pairs(column)
        if found.empty:
            continue
        sums = {"samples": len(found), **found.sum(), "ratio": found["vendor"].sum() / found["baseline"].sum()}
        yield sides.table(f"Billed {kind} tokens", pd.DataFrame([sums]))
        found["surplus"] = found["vendor"] - found["baseline"]
        most = found[found["surplus"] > 0].sort_values("surplus", ascending=False, kind="stable")
        yield sides.table(f"Largest surpluses of {kind} tokens", most.reset_index())


def _reliability(sides: Sides) -> Iterator[Table]:
    """Failed attempts by kind, and groups of failed or retried requests with at most one good one between them."""
    tries = sides.scored.attempts.query("model == @sides.model and label == @sides.label")
    kinds = tries.groupby("failure", observed=True)["succeeded"].agg(attempts="size", recovered="sum").reset_index()
    yield sides.table("Failed attempts", kinds.sort_values("attempts", ascending=False))
    own = sides.own[~sides.own["charge"].isin(UNCOUNTED)].reset_index(drop=True)
    hit = own[~own["ok"] | own["retried"]]
    hit = hit.assign(request=hit.index, kind=hit["failure"].astype(object).fillna("answered on a later try"))
    groups = hit.groupby((hit["request"].diff() > GAP).cumsum())
    table = groups.agg(first=("sent_s", "min"), last=("sent_s", "max"), failed=("ok", "size"))
    table["requests"] = groups["request"].max() - groups["request"].min() + 1
    table["kinds"] = groups["kind"].agg(lambda found: ", ".join(found.unique()))
    yield sides.table("Groups of failures", table.sort_values("failed", ascending=False, kind="stable"))
    yield sides.counts("Finish reasons", "finish")


def _speed(sides: Sides) -> Iterator[Table]:
    times = ModelTables(sides.scored, sides.model).latency().rows
    rows = [
        {"metric": row["metric"], "vendor": label, **row}
        for label, row in times
        if label in (sides.label, sides.baseline) and row["n"] > 0
    ]
    yield Table("Times", rows)
    yield sides.counts("Anomalies of answers", "anomalies")
    slow = sides.own.join(sides.pairs("e2e_ms")["baseline"], on=SAMPLE)
    surplus = (slow["e2e_ms"] - slow["baseline"].fillna(0)).dropna().sort_values(ascending=False)
    heads = {"sent_s": "sent", "ttft_ms": "TTFT ms", "output_tokens": "output tokens", "e2e_ms": "total ms"}
    heads |= {"baseline": "baseline's total ms", "late_ms": "our lateness ms"}
    slow = slow.loc[surplus.index, [*SAMPLE, *heads]].rename(columns=heads)
    yield sides.table("Slowest compared with the baseline", slow)


def _failures(sides: Sides) -> Iterator[Answer]:
    failed = sides.own[~sides.own["ok"]]
    turn = failed.groupby("failure", observed=True).cumcount().sort_values(kind="stable")
    rows = failed.loc[turn.index].head(sides.most)
    answers = read_answers(sides.folder, sides.model, zip(rows["suite"], rows["sample"], strict=True))
    for suite, sample, repetition in zip(rows["suite"], rows["sample"], rows["repetition"], strict=True):
        own = [each for each in answers[suite, sample] if (each.label, each.repetition) == (sides.label, repetition)]
        yield from judged_answers(sides.folder, sides.scored.manifest, suite, sample, own)


def vendor_lines(found: Sequence[Evidence], limit: int) -> Iterator[str]:
    """The verdict, then facet by facet its findings and tables, then the failures with their curl commands."""
    for evidence in found:
        head = "verdict" if evidence.facet is None else evidence.facet.replace("_", " ")
        yield plain(f"{head}: {evidence.status.replace('_', ' ')}: {evidence.reason}", MAX_SENTENCE)
        for finding in evidence.findings:
            if finding.text != evidence.reason:
                word = "note" if finding.status == "matches" else finding.status.replace("_", " ")
                yield "  " + plain(f"{word}: {finding.text}", MAX_SENTENCE)
            if finding.samples:
                yield "  " + plain(f"samples: {', '.join(finding.samples[:5])}")
        for table in evidence.tables:
            yield from _table(table, limit)
    for answer in (answer for evidence in found for answer in evidence.failures):
        yield plain(f"failure: {name_of(answer.record)}")
        attempts = [attempt for turn in answer.record.turns for attempt in turn.attempts]
        yield from ("  " + plain(line, limit) for attempt in attempts[-1:] for line in attempt_lines(attempt))
        yield from curl_lines(answer)


def _table(found: Table, limit: int) -> Iterator[str]:
    yield f"  {found.title}"
    names = [name for name in found.rows[0] if name not in found.texts]
    table = pd.DataFrame({name: [cell(name, row[name]) for row in found.rows] for name in names})
    header, *lines = table.to_string(index=False).splitlines()
    yield f"    {header}"
    for line, row in zip(lines, found.rows, strict=True):
        yield f"    {line}"
        yield from (f"      {name}: {plain(str(row[name]), limit)}" for name in found.texts)
