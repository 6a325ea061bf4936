"""Finds vendor plugins: shipped, installed (entry points) and in folders that the user names.

A plugin that cannot be imported is listed with its error and the others go on. A folder named by the user wins over
an installed package, which wins over what is shipped.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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


class BrokenPlugin(msgspec.Struct, frozen=True):
    """A plugin that could not be used, and why."""

    source: str
    error: str


@dataclass(frozen=True, slots=True)
class Registry:
    """All vendors by name."""

    vendors: Mapping[str, FoundVendor]
    broken: tuple[BrokenPlugin, ...] = field(default=())

    def vendor(self, name: str) -> Vendor:
        """The plugin of that name, or a plain chat-completions vendor: a name with a url needs no code."""
        found = self.vendors.get(name)
        return found.vendor if found else type("Unlisted", (OpenAICompatible,), {"name": name})()


def find_vendors(vendor_paths: Iterable[Path] = ()) -> Registry:
    """Load every plugin. ``vendor_paths`` are folders of plugin files, later ones winning."""
    vendors: dict[str, FoundVendor] = {}
    broken: list[BrokenPlugin] = []
    for source, load in _places(vendor_paths):
        plugins: list[object] = []
        try:
            plugins = _plugins(load())
        except (Exception, SystemExit) as error:  # noqa: BLE001 a stranger's plugin may raise anything; it is listed
            broken.append(_broken(source, error))
        for plugin in plugins:
            try:
                vendor = _vendor(plugin)
            except Exception as error:  # noqa: BLE001 as above
                broken.append(_broken(source, error))
            else:
                vendors[vendor.name] = FoundVendor(vendor, source)
    return Registry(vendors, tuple(broken))


class _NotAVendor(ValueError):
    """It can be imported and is no plugin; the message says why."""


def _broken(source: str, error: BaseException) -> BrokenPlugin:
    return BrokenPlugin(source, str(error) if isinstance(error, _NotAVendor) else f"{type(error).__name__}: {error}")


def _places(vendor_paths: Iterable[Path]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every place where plugins may be, and what imports it."""
    yield from _files(shipped("vendors"))
    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        yield f"{entry_point.value} (entry point {entry_point.name})", entry_point.load
    for folder in vendor_paths:
        yield from _files(folder)


def _files(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    if not folder.is_dir():
        yield str(folder), _no_folder
    for path in sorted(folder.glob("*.py")):
        if path.name != "__init__.py":
            yield str(path), partial(_import_file, path)


def _no_folder() -> object:
    raise _NotAVendor("is not a folder")


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"vendor_verifier.vendors.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"not a Python file: {path}")
    module = importlib.util.module_from_spec(spec)
    # Known by its name while it runs, as any module is: dataclasses, among others, look themselves up there.
    before = sys.modules.get(spec.name)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        if before is None:
            del sys.modules[spec.name]
        else:
            sys.modules[spec.name] = before
        raise
    return module


def _plugins(loaded: object) -> list[object]:
    """What was loaded, or the vendors that a module defines; names with an underscore are helpers."""
    if not isinstance(loaded, ModuleType):
        return [loaded]
    own = [each for each in vars(loaded).values() if inspect.isclass(each) and each.__module__ == loaded.__name__]
    found: list[object] = [each for each in own if issubclass(each, Vendor) and not each.__name__.startswith("_")]
    if not found:
        raise _NotAVendor("defines no subclass of vendor_verifier.vendor.Vendor")
    return found


def _vendor(plugin: object) -> Vendor:
    if not (inspect.isclass(plugin) and issubclass(plugin, Vendor)):
        raise _NotAVendor(f"{plugin!r} is not a subclass of vendor_verifier.vendor.Vendor")
    for attribute in ("name", "wire"):
        if not hasattr(plugin, attribute):
            raise _NotAVendor(f"{plugin.__name__} sets no {attribute!r}")
    return plugin()
