"""Cache claims against what could have been cached: the common beginnings of a run's own prompts; it reads no clock.

A cache holds beginnings of earlier prompts. A prompt that was sent once can share at most as many tokens with another
as its text begins like that one's. What a vendor calls cached beyond that comes from before the run, or from nowhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from vendor_verifier.values.judgement import Finding
from vendor_verifier.values.sample import Sample
from vendor_verifier.values.samples import listed

LEAST_CLAIMS = 5
# Characters do not become tokens evenly, and templates add some tokens of their own before the prompt.
_SLACK_SHARE, _SLACK_TOKENS = 0.1, 64


def shared_beginnings(samples: Sequence[Sample]) -> dict[str, float]:
    """Sample id → the largest share of its prompt (0 … 1) that begins like another sample's.

    Templates put tools before or after the first message: the order that shares more counts. Sorted texts share most
    with a neighbour.
    """
    shares = dict.fromkeys(listed(samples).ids, 0.0)
    for tools_first in (True, False):
        texts = sorted((_text(sample, tools_first=tools_first), sample.id) for sample in samples)
        for (one, first), (other, second) in pairwise(texts):
            common = _common(one, other)
            for text, name in ((one, first), (other, second)):
                shares[name] = max(shares[name], common / len(text))
    return shares


def unexplained_cache_finding(
    label: str, rows: Iterable[tuple[str, int, int]], shares: Mapping[str, float]
) -> Finding | None:
    """Cached tokens beyond the common beginnings, on prompts sent once; rows are (sample, prompt, cached tokens).

    ``shares`` come from :func:`shared_beginnings`. Nothing below ``LEAST_CLAIMS`` prompts.
    """
    beyond = [
        (sample, cached, cached - _most(prompt, shares[sample]))
        for sample, prompt, cached in rows
        if sample in shares and 0 < cached <= prompt and cached > _most(prompt, shares[sample])
    ]
    if len(beyond) < LEAST_CLAIMS:
        return None
    claimed, more = sum(each for _, each, _ in beyond), sum(each for _, _, each in beyond)
    said = (
        f"calls {claimed} prompt tokens cached in {len(beyond)} prompts that were sent once, {more:.0f} more than "
        "begin like any other prompt of this run: consistent with an earlier run of the same prompts"
    )
    worst = sorted(beyond, key=lambda each: -each[2])[:3]
    evidence = {"prompts": len(beyond), "cached_tokens": claimed, "unexplained_tokens": round(more)}
    return Finding("cache_unexplained", label, said, evidence, tuple(name for name, _, _ in worst))


def _most(prompt: int, share: float) -> float:
    return prompt * min(1.0, share + _SLACK_SHARE) + _SLACK_TOKENS


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _text(sample: Sample, *, tools_first: bool) -> str:
    parts = (sample.turn.tools, sample.turn.messages)
    return "\n".join(json.dumps(part, ensure_ascii=False) for part in (parts if tools_first else reversed(parts)))
