"""The known vendors and models: finds vendor plugins, and has the models' ids at each vendor and their makers.

Plugins are shipped, installed (entry points) or in folders that the user names; of these the later win. One that cannot
be imported is listed with its error and the others go on. Adding a model is one line in ``MODEL_IDS``; a series is one
in ``SERIES``. Ids are the vendors' own published ones; where none is public (some resellers) there is none.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

import msgspec

from vendor_verifier.resources import shipped
from vendor_verifier.vendor import OpenAICompatible, Vendor
from vendor_verifier.wire.anthropic_messages import AnthropicMessages
from vendor_verifier.wire.base import Wire
from vendor_verifier.wire.gemini import Gemini
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.openai_completions import OpenAICompletions
from vendor_verifier.wire.openai_responses import OpenAIResponses

ENTRY_POINT_GROUP = "vendor_verifier.vendors"

_WIRES: tuple[Wire, ...] = (OpenAIChat(), OpenAIResponses(), OpenAICompletions(), AnthropicMessages(), Gemini())
WIRES: Mapping[str, Wire] = {wire.name: wire for wire in _WIRES}


class FoundVendor(msgspec.Struct, frozen=True):
    """A usable plugin and where it came from (a file, or ``package:object``)."""

    vendor: Vendor
    source: str


@dataclass(frozen=True, slots=True)
class Registry:
    """All vendors by name, and by its source why a ``broken`` plugin cannot be used."""

    vendors: Mapping[str, FoundVendor]
    broken: Mapping[str, str]

    def vendor(self, name: str) -> Vendor:
        """The plugin of that name, or a plain chat-completions vendor: a name with a url needs no code."""
        found = self.vendors.get(name)
        return found.vendor if found else type("Unlisted", (OpenAICompatible,), {"name": name})()


def find_vendors(vendor_paths: Iterable[Path] = ()) -> Registry:
    """Load every plugin. ``vendor_paths`` are folders of plugin files, later ones winning."""
    vendors: dict[str, FoundVendor] = {}
    broken: dict[str, str] = {}
    for source, load in _places(vendor_paths):
        try:
            found = list(_vendors(load()))
        except (Exception, SystemExit) as error:  # noqa: BLE001 a stranger's plugin may raise anything; it is listed
            broken[source] = f"{type(error).__name__}: {error}"
        else:
            vendors |= {vendor.name: FoundVendor(vendor, source) for vendor in found}
    return Registry(vendors, broken)


def _places(vendor_paths: Iterable[Path]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every place where plugins may be, and what imports it."""
    yield from _files(shipped("vendors"))
    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        yield f"{entry_point.value} (entry point {entry_point.name})", entry_point.load
    for folder in vendor_paths:
        yield from _files(folder)


def _files(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    if not folder.is_dir():
        yield str(folder), partial(os.listdir, folder)
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            yield str(path), partial(_import_file, path)


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"vendor_verifier.vendors.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Known by its name while it runs, as any module is: dataclasses, among others, look themselves up there.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _vendors(loaded: object) -> Iterator[Vendor]:
    """The vendor that was loaded, or those that a module defines; names with an underscore are helpers."""
    classes = [loaded]
    if isinstance(loaded, ModuleType):
        own = [each for each in vars(loaded).values() if inspect.isclass(each) and each.__module__ == loaded.__name__]
        classes = [each for each in own if issubclass(each, Vendor) and not each.__name__.startswith("_")]
    if not classes:
        raise ImportError("defines no subclass of vendor_verifier.vendor.Vendor")
    for each in classes:
        if not (inspect.isclass(each) and issubclass(each, Vendor)):
            raise ImportError(f"{each!r} is not a subclass of vendor_verifier.vendor.Vendor")
        for attribute in ("name", "wire"):
            if not hasattr(each, attribute):
                raise ImportError(f"{each.__name__} sets no {attribute!r}")
        yield each()


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
