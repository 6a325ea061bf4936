"""Finds vendor plugins: shipped, installed (entry points) and in folders that the user names.

A plugin that cannot be imported is listed with its error and the others go on. A folder named by the user wins over
an installed package, which wins over what is shipped.
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
