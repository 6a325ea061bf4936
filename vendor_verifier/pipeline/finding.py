"""Gathers the findings on one model's vendors: bill, identity and behaviour; it decides none of them itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vendor_verifier.compare.behaviour import behaviour_findings, difference_findings
from vendor_verifier.compare.billing import (
    cache_finding,
    cost_finding,
    hidden_reasoning_finding,
    prompt_pairs,
    prompt_token_findings,
    prompt_tokens,
    recount_finding,
    same_counter_findings,
)
from vendor_verifier.compare.caching import shared_beginnings, unexplained_cache_finding
from vendor_verifier.compare.columns import Columns
from vendor_verifier.compare.identity import IdentityRow, identity_findings, pass_through_findings
from vendor_verifier.compare.trials import Trials
from vendor_verifier.pipeline.auditing import Audit
from vendor_verifier.values.judgement import Finding, Gap, Money, RankingJudgement
from vendor_verifier.values.sample import Sample


def bill_findings(
    audits: Mapping[str, Audit],
    money: Mapping[str, Money],
    samples: Sequence[Sample],
    recounted: Mapping[str, Mapping[str, tuple[int, int]]],
) -> Iterator[Finding]:
    """What each vendor's own bill says, without comparing it with another's.

    ``samples`` are all that were asked; ``recounted``: label → sample → (reported, counted) output tokens.
    """
    shares: dict[str, float] | None = None
    for label, audit in audits.items():
        claims = audit.cached_once()
        # Prompts are long: they are held against each other only where somebody claims a cache.
        if claims and shares is None:
            shares = shared_beginnings(samples)
        found = (
            hidden_reasoning_finding(
                label, ((sample, tokens, bool(shown)) for sample, tokens, shown in audit.reasoning)
            ),
            cache_finding(label, audit.cached),
            unexplained_cache_finding(label, claims, shares or {}),
            _recount_finding(label, recounted.get(label, {})),
            cost_finding(label, money[label]) if label in money else None,
        )
        yield from (finding for finding in found if finding is not None)


def _recount_finding(label: str, counts: Mapping[str, tuple[int, int]]) -> Finding | None:
    reported, counted = ({name: float(pair[place]) for name, pair in counts.items()} for place in (0, 1))
    return recount_finding(label, reported, counted)


def prompt_findings(trials: Sequence[Trials], baseline: str | None) -> Iterator[Finding]:
    """Prompt tokens against the baseline's, and between vendors."""
    by_label = {each.label: each for each in trials}
    reference = by_label.get(baseline or "")
    if reference is not None:
        for label, each in by_label.items():
            if label != baseline:
                yield from prompt_token_findings(label, prompt_pairs(reference, each))
    counts = {label: prompt_tokens(each) for label, each in by_label.items()}
    yield from same_counter_findings(counts, baseline)


def who_answered(rows: Mapping[str, Sequence[IdentityRow]]) -> Iterator[Finding]:
    """Names, ids and bytes of the answers, by label."""
    repeating = False
    for label, each in rows.items():
        own = identity_findings(label, each)
        repeating = repeating or any(finding.name == "answers_repeated" for finding in own)
        yield from own
    for finding in pass_through_findings(rows):
        # Where a vendor answers itself byte for byte, equal bytes elsewhere say nothing about a common source.
        if finding.name != "identical_answers" or not repeating:
            yield finding


def conduct(
    columns: Mapping[str, Columns], baseline: str | None, ranking: RankingJudgement | None, gaps: Sequence[Gap]
) -> Iterator[Finding]:
    """What vendors do otherwise than the baseline."""
    reference = columns.get(baseline or "")
    by_label = {gap.label: gap for gap in gaps}
    for label, own in columns.items():
        yield from behaviour_findings(label, own, None if label == baseline else reference)
        if ranking is not None and reference is not None and baseline is not None and label != baseline:
            yield from difference_findings(label, own, (baseline, reference), ranking, by_label.get(label), len(gaps))
