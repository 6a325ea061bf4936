"""Finds vendor plugins: shipped, installed (entry points) and in folders that the user names.

A plugin that cannot be imported is listed with its error and the others go on. A folder named by the user wins over
an installed package, which wins over what is shipped.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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

_WIRES: tuple[Wire, ...] = (
    OpenAIChat(),
    OpenAIResponses(),
    OpenAICompletions(),
    AnthropicMessages(),
    Gemini(),
)
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
    for outcome in _candidates(vendor_paths):
        if isinstance(outcome, BrokenPlugin):
            broken.append(outcome)
        else:
            vendors[outcome.vendor.name] = outcome
    return Registry(vendors, tuple(broken))


def _candidates(vendor_paths: Iterable[Path]) -> Iterator[FoundVendor | BrokenPlugin]:
    yield from _from_folder(shipped("vendors"))
    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        source = f"{entry_point.value} (entry point {entry_point.name})"
        try:
            loaded = entry_point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 a stranger's plugin may raise anything; it is listed
            yield _broken(source, error)
            continue
        if isinstance(loaded, ModuleType):
            yield from _from_module(loaded, source)
        else:
            yield _instantiate(loaded, source)
    for folder in vendor_paths:
        yield from _from_folder(folder)


def _from_folder(folder: Path) -> Iterator[FoundVendor | BrokenPlugin]:
    if not folder.is_dir():
        yield BrokenPlugin(str(folder), "is not a folder")
        return
    for path in sorted(folder.glob("*.py")):
        if path.name == "__init__.py":
            continue
        try:
            module = _import_file(path)
        except (Exception, SystemExit) as error:  # noqa: BLE001 a stranger's plugin may raise anything; it is listed
            yield _broken(str(path), error)
            continue
        yield from _from_module(module, str(path))


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


def _from_module(module: ModuleType, source: str) -> Iterator[FoundVendor | BrokenPlugin]:
    classes = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Vendor) and value.__module__ == module.__name__
    ]
    classes = [found for found in classes if not found.__name__.startswith("_")]
    if not classes:
        yield BrokenPlugin(source, "defines no subclass of vendor_verifier.vendor.Vendor")
    for found in classes:
        yield _instantiate(found, source)


def _instantiate(found: object, source: str) -> FoundVendor | BrokenPlugin:
    if not (inspect.isclass(found) and issubclass(found, Vendor)):
        return BrokenPlugin(source, f"{found!r} is not a subclass of vendor_verifier.vendor.Vendor")
    for attribute in ("name", "wire"):
        if not hasattr(found, attribute):
            return BrokenPlugin(source, f"{found.__name__} sets no {attribute!r}")
    try:
        return FoundVendor(found(), source)
    except Exception as error:  # noqa: BLE001 a stranger's plugin may raise anything; it is listed
        return _broken(source, error)


def _broken(source: str, error: BaseException) -> BrokenPlugin:
    return BrokenPlugin(source, f"{type(error).__name__}: {error}")
