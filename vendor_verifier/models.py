"""The unified model names, and which vendor makes each series; it knows no addresses and no prices.

Adding a model is one word in one line, adding a series is one line.
"""

from __future__ import annotations

from dataclasses import dataclass

SIMULATED_MODEL = "simulated-model"


@dataclass(frozen=True, slots=True)
class ModelSeries:
    """One maker's models.

    ``names`` are the unified names, ``prefix`` recognises a name of the series that is not listed yet. ``makers`` are
    the vendor names whose own service is the default baseline, ``pins`` the same maker as a router's provider slug;
    the earlier one wins.
    """

    title: str
    prefix: str
    names: tuple[str, ...]
    makers: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()


SERIES: tuple[ModelSeries, ...] = (
    ModelSeries(
        "Gemini", "gemini-", ("gemini-2.5-flash",), ("gemini", "vertex"), ("google-vertex", "google-ai-studio")
    ),
    ModelSeries(
        "Claude",
        "claude-",
        ("claude-sonnet-4.5", "claude-opus-4.5", "claude-haiku-4.5"),
        ("anthropic",),
        ("anthropic",),
    ),
    ModelSeries("DeepSeek", "deepseek-", ("deepseek-v3.2",), ("deepseek",), ("deepseek",)),
    ModelSeries("GLM", "glm-", ("glm-4.7",), ("bigmodel", "zai", "z.ai"), ("z-ai", "z.ai")),
    ModelSeries("MiniMax", "minimax-", ("minimax-m2.5", "minimax-m2"), ("minimax",), ("minimax",)),
    ModelSeries("Kimi", "kimi-", ("kimi-k2.5", "kimi-k2"), ("moonshot",), ("moonshotai", "moonshot")),
    ModelSeries("Simulated", "simulated-", (SIMULATED_MODEL,)),
)


def known_models() -> tuple[str, ...]:
    """Every unified model name, in the order of the table."""
    return tuple(name for series in SERIES for name in series.names)


def series_of(model: str) -> ModelSeries | None:
    """The series a unified model name belongs to, listed or by its prefix; ``None`` for a stranger."""
    return next((series for series in SERIES if model in series.names or model.startswith(series.prefix)), None)
