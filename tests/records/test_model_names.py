"""Names of models: spellings of one model are no names of another."""

from __future__ import annotations

import pytest

from vendor_verifier.records.plan import same_model


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4", "gpt-4-0613", True),
        ("deepseek/deepseek-v3.2-exp:free", "deepseek-v3.2-exp", True),
        ("Qwen/Qwen3-8B", "qwen3-8b", True),
        ("gpt-4", "gpt-4o", False),
        ("claude-3", "claude-3-5-haiku", False),
        ("model-1", "model-10", False),
        ("kimi-k2-thinking", "kimi-k2", False),
        ("kimi-k2.5", "moonshotai/Kimi-K2.5-Instruct", True),
        ("kimi-k2", "Kimi-K2-Instruct-0905", True),
        ("kimi-k2", "kimi-k2-0905-preview", True),
        ("gemma-3", "google/gemma-3-it", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("kimi-k2.5", "Kimi-K2.5-Instruct-FP8", False),
        ("llama-3.3-70b", "Llama-3.3-70B-Instruct-Turbo", False),
        ("model", "model-instructed", False),
    ],
)
def test_what_counts_as_the_same_model(asked: str, served: str, same: bool) -> None:
    """The maker's prefix, dates and router suffixes do not matter, another size or generation does; both ways round."""
    assert same_model(asked, served) is same
    assert same_model(served, asked) is same
