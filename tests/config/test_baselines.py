"""Whom the others are compared with, and the message when nobody is."""

from __future__ import annotations

import pytest

KEYS = "deepseek=k-deepseek\nsiliconflow=k-silicon\nopenrouter=k-router\nmoonshot=k-moon\n"


def entries(model: str, *lines: str) -> str:
    return f"{model}:\n  vendors:\n" + "".join(f"    - {{model_id: m, {line}}}\n" for line in lines)


@pytest.mark.parametrize(
    ("model", "lines", "expected"),
    [
        ("deepseek-v3.2", ("name: siliconflow", "name: deepseek"), "deepseek"),
        ("deepseek-v3.2", ("name: siliconflow", "name: openrouter, provider: deepseek"), "deepseek (openrouter)"),
        ("deepseek-v3.2", ("name: openrouter, provider: deepseek", "name: deepseek"), "deepseek"),
        ("kimi-k2", ("name: siliconflow", "name: openrouter, provider: moonshotai/"), "moonshotai (openrouter)"),
        ("deepseek-v3.2", ("name: siliconflow, is_baseline: true", "name: deepseek"), "siliconflow"),
    ],
)
def test_the_maker_is_the_default(load, model, lines, expected):
    """Without a mark the model's maker is the baseline, directly or pinned behind a router; a mark always wins."""
    configuration = load(entries(model, *lines), KEYS)
    assert [entry.label for entry in configuration.entries if entry.is_baseline] == [expected]


def test_a_model_without_baseline_is_a_warning(load):
    configuration = load(entries("deepseek-v3.2", "name: siliconflow"), KEYS)
    assert not any(entry.is_baseline for entry in configuration.entries)
    assert any("deepseek-v3.2: no baseline" in warning for warning in configuration.warnings)


def test_filtering_out_the_marked_baseline_chooses_no_other(load):
    config = entries("deepseek-v3.2", "name: siliconflow, is_baseline: true", "name: deepseek")
    configuration = load(config, KEYS, vendor=("deepseek",))
    assert not configuration.entries[0].is_baseline


def test_strange_models_and_unpinned_routers_warn(load):
    """A name outside the table and a router without a pin may be meant: a warning each, with the nearest name."""
    warnings = load(entries("deepsek-v3.2", "name: openrouter, is_baseline: true"), KEYS).warnings
    assert any("did you mean `deepseek-v3.2`?" in warning for warning in warnings)
    assert any("vendors[0]" in warning and "router" in warning for warning in warnings)
