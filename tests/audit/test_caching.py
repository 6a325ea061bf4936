"""A cache can hold no more than what prompts have in common; claims beyond that are told, honest ones are not."""

from __future__ import annotations

import pytest

from vendor_verifier.audit.billing import shared_beginnings, unexplained_cache_finding
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample

RULES = "You are a careful assistant. " * 100


def samples(system: str, count: int = 10) -> list[Sample]:
    """``count`` questions behind one system prompt."""
    return [
        Sample(f"s{n}", Turn(({"role": "system", "content": system}, {"role": "user", "content": f"{n} is what?"})))
        for n in range(count)
    ]


def test_a_common_system_prompt_may_be_cached() -> None:
    """Nearly all of every prompt begins like the others', and nine tenths of its tokens being cached is no wonder."""
    shares = shared_beginnings(samples(RULES))
    assert min(shares.values()) > 0.95
    assert unexplained_cache_finding("v", [(name, 3000, 2700) for name in shares], shares) is None


def test_prompts_with_little_in_common_cannot_be_cached() -> None:
    """Different texts of the same length: all tokens called cached are, and half of four prompts say too little."""
    asked = [Sample(f"s{n}", Turn(({"role": "user", "content": f"{n} " + chr(97 + n) * 3000},))) for n in range(10)]
    shares = shared_beginnings(asked)
    assert max(shares.values()) < 0.02
    finding = unexplained_cache_finding("v", [(name, 1000, 1000) for name in shares], shares)
    assert finding is not None
    assert (finding.name, finding.evidence["prompts"], finding.evidence["cached_tokens"]) == (
        "cache_unexplained", 10, 10_000,
    )  # fmt: skip
    assert 8000 < float(finding.evidence["unexplained_tokens"]) < 9000
    assert unexplained_cache_finding("v", [(name, 1000, 1000) for name in list(shares)[:4]], shares) is None
    assert unexplained_cache_finding("v", [(name, 1000, 0) for name in shares], shares) is None


@pytest.mark.parametrize("tools_first", [True, False])
def test_tools_may_stand_before_or_after_the_messages(tools_first: bool) -> None:
    """Two prompts that share only their tools, or only their first message, share that."""
    tool = {"type": "function", "function": {"name": "f", "description": "x" * 2000}}
    common = {"role": "user", "content": "y" * 2000}
    asked = [
        Sample(name, Turn(({"role": "user", "content": name * 500},), (tool,)) if tools_first
               else Turn((common,), ({"type": "function", "function": {"name": name, "description": name * 500}},)))
        for name in ("a", "b")
    ]  # fmt: skip
    assert min(shared_beginnings(asked).values()) > 0.75
