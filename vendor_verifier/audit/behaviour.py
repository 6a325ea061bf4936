"""Findings on a vendor's behaviour that differs from the baseline's, each defect under its own name.

Two kinds. A share (answers cut, refused at first, buffered, calls written as text) is reported when its interval lies
above 1 % and above the baseline's own interval; requests that a closed connection lost are counted, more than 5 % of
them are reported. A figure (F1, schema accuracy, speed) is reported when the difference
from the baseline is proven, all comparisons taken together. So a faithful twin has none of them in 19 of 20 runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from vendor_verifier.audit.finding import finding
from vendor_verifier.metrics.answer import LOOP_LAG
from vendor_verifier.metrics.inter_chunk_latency import ICL
from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.failures import DENIED, NOT_SENT, kinds_where
from vendor_verifier.records.judgement import Difference, Finding, Gap, RankingJudgement
from vendor_verifier.scoring.observation import Traits
from vendor_verifier.scoring.observation_table import ObservationTable
from vendor_verifier.stats.intervals import wilson
from vendor_verifier.words import english

LEAST_ROWS = 5
LEAST_SHARE = 0.01
LEAST_LOSS = 0.005
# A vendor is reported as slow from this many times the baseline's figure on; below, the ranking suffices.
LEAST_SLOWDOWN = 1.5
_MOST_STALLED = 0.05
_MOST_LOST = 0.05
_CLOCK_TROUBLE = frozenset({LOOP_LAG, "clock_jump"})
_CUT = frozenset({"truncated"})
# Statuses by which a vendor asks to try again later.
_REFUSED = kinds_where(lambda kind: bool(kind.statuses) and kind.retried == "always")
_INVALID = ("invalid_json", "unknown_tool", "schema_mismatch")
_SPEEDS = {"avg_ttft_ms": "slow_first_token", "tps": "slow_decoding"}


class _Share(msgspec.Struct, frozen=True):
    """A defect that a row shows or not; ``of`` selects the rows that count in the denominator."""

    name: str
    shows: Callable[[Traits], bool]
    of: Callable[[Traits], bool] = lambda _: True


_SHARES: tuple[_Share, ...] = (
    _Share("answers_cut", lambda f: _any(f, _CUT)),
    _Share("refused_at_first", lambda f: f.succeeded and _any(f, _REFUSED)),
    _Share(
        "stream_buffered",
        lambda f: "buffered" in f.anomalies,
        # Where we read late, pieces that came one by one are read at one moment.
        lambda f: f.succeeded and ICL not in f.spoilt,
    ),
    _Share("calls_in_text", lambda f: "markup_in_text" in f.anomalies, lambda f: f.succeeded),
)


def behaviour_findings(label: str, own: ObservationTable, baseline: ObservationTable | None) -> tuple[Finding, ...]:
    """Findings from the vendor's own rows; ``baseline``: its rows, ``None`` for itself or where there is none."""
    silent = _nothing_answered(label, own)
    if silent is not None:
        return (silent,)
    found = [_share(label, each, own, baseline) for each in _SHARES]
    found.append(_requests_lost(label, own))
    return tuple(finding for finding in found if finding is not None)


def difference_findings(
    label: str,
    own: ObservationTable,
    baseline: tuple[str, ObservationTable],
    ranking: RankingJudgement,
    gap: Gap | None = None,
    comparisons: int = 1,
) -> Iterator[Finding]:
    """Findings on proven differences of one vendor from the baseline, given as its label and rows.

    The differences of ``ranking`` hold simultaneously already. ``comparisons``: the number of vendors compared with
    the ceiling, by which the level of ``gap`` is divided (Bonferroni). Speed is left out where our own clock was not
    to be trusted in more than 5 % of the answers of either.
    """
    name, reference = baseline
    if gap is not None and _is_below_ceiling(gap, comparisons):
        yield _calls_unlike(label, gap)
    differences = _differences(ranking.differences, name, label)
    schema = differences.get("schema_accuracy")
    if (
        schema is not None
        and schema.low > 0
        and schema.value >= LEAST_LOSS
        and _breaks_what_it_was_sent(own, reference)
    ):
        yield _invalid(label, own, schema)
    if _clock_is_good(own) and _clock_is_good(reference):
        slow = _slow(label, name, differences, ranking.estimates, by_schedule=own.cap is not None)
        yield from (each for each in slow if each.name != "slow_first_token" or shows_tokens_alike(own, reference))


def shows_tokens_alike(own: ObservationTable, reference: ObservationTable) -> bool:
    """Whether both protocols show the first token of a call when it is there, or both only with the last."""
    return len({any(traits.calls_whole for traits in table.kinds()) for table in (own, reference)}) == 1


def _breaks_what_it_was_sent(own: ObservationTable, reference: ObservationTable) -> bool:
    """Whether the vendor breaks more schemas than the baseline also where our wire could say the whole schema."""
    reworded = own.entries_where(lambda traits: any(note.startswith("schema:") for note in traits.reworded))
    samples = {sample for (_, sample, _), _ in reworded}
    if not samples:
        return True
    shares = []
    for table in (own, reference):
        classes = [name for (_, sample, _), each in table.entries() if sample not in samples for name in each.classes]
        shares.append(sum(name in _INVALID for name in classes) / len(classes) if classes else 0.0)
    return shares[0] - shares[1] >= LEAST_LOSS


def _differences(differences: Sequence[Difference], baseline: str, label: str) -> dict[str, Difference]:
    """Metric → baseline − vendor, from the pairs in either order."""
    found = {}
    for each in differences:
        if (each.first, each.second) == (baseline, label):
            found[each.metric] = each
        elif (each.first, each.second) == (label, baseline):
            found[each.metric] = Difference(each.metric, baseline, label, -each.value, -each.high, -each.low)
    return found


def _any(traits: Traits, kinds: frozenset[str]) -> bool:
    return any(kind in kinds for kind in traits.troubles)


def _nothing_answered(label: str, own: ObservationTable) -> Finding | None:
    charged = {traits: times for traits, times in own.kinds().items() if traits.failure not in NOT_SENT}
    if not charged or any(traits.succeeded for traits in own.kinds()):
        return None
    kinds: Counter[str] = Counter()
    for traits, times in charged.items():
        kinds[traits.failure or "no reason"] += times
    shown = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common(4))
    requests = kinds.total()
    evidence: dict[str, float | int | str] = {"requests": requests, "failures": shown}
    samples = tuple(key[1] for key, _ in islice(own.entries_where(lambda traits: traits.failure in kinds), 3))
    if set(kinds) <= DENIED:
        return finding("access_refused", label, evidence, samples)
    return finding("nothing_answered", label, evidence, samples) if requests >= LEAST_ROWS else None


def _share(label: str, share: _Share, own: ObservationTable, baseline: ObservationTable | None) -> Finding | None:
    showing, asked = _counted(share, own)
    if showing < 2 or asked < LEAST_ROWS:
        return None
    found, reference = wilson(showing, asked), _reference(share, baseline)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    if found.low <= max(LEAST_SHARE, reference.high or 0.0):
        return None
    against = "" if reference.value is None else english("finding_against", percent=f"{100 * reference.value:.3g}")
    evidence: dict[str, float | int | str] = {"share": found.value, "low": found.low, "high": found.high}
    words: dict[str, Any] = {"showing": showing, "all": asked, "percent": f"{100 * found.value:.3g}"}
    samples = _first_samples(own, lambda traits: _is_asked(share, traits) and share.shows(traits))
    return finding(share.name, label, evidence, samples, against=against, **words)


def _is_asked(share: _Share, traits: Traits) -> bool:
    return traits.charged and share.of(traits)


def _counted(share: _Share, table: ObservationTable) -> tuple[int, int]:
    """Rows that show the defect, and rows that count."""
    asked = {traits: times for traits, times in table.kinds().items() if _is_asked(share, traits)}
    return sum(times for traits, times in asked.items() if share.shows(traits)), sum(asked.values())


def _first_samples(table: ObservationTable, of: Callable[[Traits], bool]) -> tuple[str, ...]:
    """The first three samples with a row of these traits."""
    found: dict[str, None] = {}
    for (_, sample, _), _ in table.entries_where(of):
        found[sample] = None
        if len(found) == 3:
            break
    return tuple(found)


def _requests_lost(label: str, own: ObservationTable) -> Finding | None:
    resent = own.count(lambda traits: 0 if traits.failure in NOT_SENT else traits.resent)
    sends = resent + own.count(lambda traits: 0 if traits.failure in NOT_SENT else traits.attempts)
    if resent < 2 or sends < LEAST_ROWS or resent <= _MOST_LOST * sends:
        return None
    samples = _first_samples(own, lambda traits: traits.failure not in NOT_SENT and bool(traits.resent))
    return finding("requests_lost", label, {"resent": resent, "sends": sends}, samples)


def _reference(share: _Share, baseline: ObservationTable | None) -> Estimate:
    showing, asked = (0, 0) if baseline is None else _counted(share, baseline)
    return wilson(showing, asked) if asked else Estimate(None)


def _is_below_ceiling(gap: Gap, comparisons: int) -> bool:
    if gap.delta.value is None:
        return False
    level = 0.05 / max(1, comparisons)
    # Failures lower F1 too; they have their own findings, so that the decisions must differ as well.
    return gap.delta.value < 0 and gap.proof < level


def _calls_unlike(label: str, gap: Gap) -> Finding:
    delta, bias = gap.delta, gap.bias
    assert delta.value is not None
    lean: str = ""
    if bias.p_mid < 0.05:
        lean = english("finding_calls_rarely" if bias.second > bias.first else "finding_calls_often")
    points = f"{100 * delta.value:+.1f}".replace("-", "−")
    evidence: dict[str, float | int | str] = {
        "delta": delta.value,
        "p_value": gap.proof,
        "missed": bias.second,
        "extra": bias.first,
    }
    return finding("calls_unlike_baseline", label, evidence, points=points, lean=lean)


def _invalid(label: str, own: ObservationTable, found: Difference) -> Finding:
    kinds: Counter[str] = Counter(name for traits in own.traits() for name in traits.classes if name in _INVALID)
    worst = _first_samples(own, lambda traits: any(name in _INVALID for name in traits.classes))
    shown = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    evidence = {"difference": found.value, "low": found.low, "high": found.high, **kinds}
    points = f"{100 * found.value:.1f}"
    return finding("calls_invalid", label, evidence, worst, points=points, shown=shown)


def _slow(
    label: str,
    baseline: str,
    differences: Mapping[str, Difference],
    estimates: Mapping[str, Mapping[str, Estimate]],
    *,
    by_schedule: bool,
) -> Iterator[Finding]:
    """Findings on first token and decoding, each where proven and at least ``LEAST_SLOWDOWN`` times as slow."""
    for metric, name in _SPEEDS.items():
        found = differences.get(metric)
        own, reference = (estimates.get(each, {}).get(metric, Estimate(None)).value for each in (label, baseline))
        if found is None or not own or not reference or not found.differs:
            continue
        times = reference / own if metric == "tps" else own / reference
        if times >= LEAST_SLOWDOWN:
            evidence = {"times": times, "own": own, "baseline": reference}
            figures: dict[str, Any] = {"own_4": f"{own:.4g}", "baseline_4": f"{reference:.4g}"}
            # Under a cap a slower vendor is waited for much longer than it is slower: a sentence of its own.
            said = "late_first_token" if by_schedule and metric != "tps" else None
            yield finding(name, label, evidence, said=said, times_1=f"{times:.1f}", **figures)


def _clock_is_good(table: ObservationTable) -> bool:
    stalled = table.count(lambda traits: not _CLOCK_TROUBLE.isdisjoint(traits.anomalies))
    return stalled <= _MOST_STALLED * len(table)


def conduct(
    tables: Mapping[str, ObservationTable],
    baseline: str | None,
    ranking: RankingJudgement | None,
    gaps: Sequence[Gap],
) -> Iterator[Finding]:
    """The behaviour and difference findings of all vendors, given their tables by label."""
    reference = tables.get(baseline or "")
    by_label = {gap.label: gap for gap in gaps}
    for label, own in tables.items():
        yield from behaviour_findings(label, own, None if label == baseline else reference)
        if ranking is not None and reference is not None and baseline is not None and label != baseline:
            yield from difference_findings(label, own, (baseline, reference), ranking, by_label.get(label), len(gaps))
