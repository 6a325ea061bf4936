"""The unified model names, their ids at each vendor, and the maker of each series.

Adding a model is one line in ``MODEL_IDS``; a series is one in ``SERIES``. Ids are the vendors' own published ones; where
none is public (some resellers) there is none, and config.yaml must give ``model_id``.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

SIMULATED_MODEL = "simulated-model"

# fmt: off
MODEL_IDS: Mapping[str, Mapping[str, str]] = {
    "gemini-2.5-flash": {"gemini": "gemini-2.5-flash", "vertex": "google/gemini-2.5-flash", "openrouter": "google/gemini-2.5-flash"},
    "gemini-3.1-pro": {"gemini": "gemini-3.1-pro-preview", "vertex": "google/gemini-3.1-pro-preview", "openrouter": "google/gemini-3.1-pro-preview"},
    "gemini-3.8-flash": {"gemini": "gemini-3.8-flash", "vertex": "google/gemini-3.8-flash", "openrouter": "google/gemini-3.8-flash"},
    "claude-sonnet-4.5": {"anthropic": "claude-sonnet-4-5", "openrouter": "anthropic/claude-sonnet-4.5"},
    "claude-opus-4.5": {"anthropic": "claude-opus-4-5", "openrouter": "anthropic/claude-opus-4.5"},
    "claude-haiku-4.5": {"anthropic": "claude-haiku-4-5", "openrouter": "anthropic/claude-haiku-4.5"},
    "claude-sonnet-5.5": {"anthropic": "claude-sonnet-5-5", "openrouter": "anthropic/claude-sonnet-5.5"},
    "claude-opus-5.5": {"anthropic": "claude-opus-5-5", "openrouter": "anthropic/claude-opus-5.5"},
    "deepseek-v3.2": {"deepseek": "deepseek-chat", "openrouter": "deepseek/deepseek-v3.2", "siliconflow": "deepseek-ai/DeepSeek-V3.2", "fireworks": "accounts/fireworks/models/deepseek-v3p2", "novita": "deepseek/deepseek-v3.2"},
    "deepseek-v4-pro": {"deepseek": "deepseek-v4-pro", "openrouter": "deepseek/deepseek-v4-pro", "siliconflow": "deepseek-ai/DeepSeek-V4-Pro", "fireworks": "accounts/fireworks/models/deepseek-v4-pro", "novita": "deepseek/deepseek-v4-pro"},
    "glm-4.7": {"bigmodel": "glm-4.7", "zai": "glm-4.7", "openrouter": "z-ai/glm-4.7", "fireworks": "accounts/fireworks/models/glm-4p7", "novita": "zai-org/glm-4.7"},
    "glm-5.3": {"bigmodel": "glm-5.3", "zai": "glm-5.3", "openrouter": "z-ai/glm-5.3", "together": "zai-org/GLM-5.3", "fireworks": "accounts/fireworks/models/glm-5p3", "novita": "zai-org/glm-5.3"},
    "minimax-m2": {"minimax": "MiniMax-M2", "openrouter": "minimax/minimax-m2"},
    "minimax-m2.5": {"minimax": "MiniMax-M2.5", "openrouter": "minimax/minimax-m2.5", "siliconflow": "MiniMaxAI/MiniMax-M2.5", "novita": "minimax/minimax-m2.5"},
    "minimax-m3": {"minimax": "MiniMax-M3", "openrouter": "minimax/minimax-m3", "together": "MiniMaxAI/MiniMax-M3", "fireworks": "accounts/fireworks/models/minimax-m3", "novita": "minimax/minimax-m3"},
    "kimi-k2": {"moonshot": "kimi-k2-0905-preview", "openrouter": "moonshotai/kimi-k2"},
    "kimi-k2.5": {"moonshot": "kimi-k2.5", "openrouter": "moonshotai/kimi-k2.5", "siliconflow": "moonshotai/Kimi-K2.5", "fireworks": "accounts/fireworks/models/kimi-k2p5", "novita": "moonshotai/kimi-k2.5"},
    "kimi-k3": {"moonshot": "kimi-k3", "openrouter": "moonshotai/kimi-k3", "together": "moonshotai/Kimi-K3", "fireworks": "accounts/fireworks/models/kimi-k3", "novita": "moonshotai/kimi-k3"},
    SIMULATED_MODEL: {"simulated": SIMULATED_MODEL},
    "simulated-load": {"simulated": SIMULATED_MODEL},
}
# fmt: on


class ModelSeries(msgspec.Struct, frozen=True):
    """One maker's models.

    ``prefix`` recognises a name of the series, listed or not. ``makers`` are the vendor names whose own service is the
    default baseline, ``pins`` the same maker as a router's provider slug; the earlier one wins.
    """

    prefix: str
    makers: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()


SERIES: tuple[ModelSeries, ...] = (
    ModelSeries("gemini-", ("gemini", "vertex"), ("google-vertex", "google-ai-studio")),
    ModelSeries("claude-", ("anthropic",), ("anthropic",)),
    ModelSeries("deepseek-", ("deepseek",), ("deepseek",)),
    ModelSeries("glm-", ("bigmodel", "zai", "z.ai"), ("z-ai", "z.ai")),
    ModelSeries("minimax-", ("minimax",), ("minimax",)),
    ModelSeries("kimi-", ("moonshot",), ("moonshotai", "moonshot")),
    ModelSeries("simulated-"),
)


def series_of(model: str) -> ModelSeries | None:
    """The series a unified model name belongs to; ``None`` for an unknown name."""
    return next((series for series in SERIES if model.startswith(series.prefix)), None)
