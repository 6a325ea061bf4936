"""Vendors are found where they should be, by rank, and a broken one disturbs nobody."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vendor_verifier.registry import WIRES, Registry, find_vendors
from vendor_verifier.resources import shipped
from vendor_verifier.vendor import OpenAICompatible

PLUGIN = """
from vendor_verifier.vendor import OpenAICompatible

class Plugin(OpenAICompatible):
    name = "{name}"
    base_url = "https://{host}"
"""


def plugin(folder: Path, file: str, name: str = "mine", host: str = "example.com") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file
    path.write_text(PLUGIN.format(name=name, host=host))
    return path


def distribution(folder: Path, entry_points: str) -> None:
    info = folder / "fake_vendor-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-vendor\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[vendor_verifier.vendors]\n{entry_points}\n")


def url(registry: Registry, name: str) -> str | None:
    return registry.vendors[name].vendor.base_url


def errors(registry: Registry) -> dict[str, str]:
    return {Path(source).name: error for source, error in registry.broken.items()}


def test_every_shipped_file_is_a_usable_vendor() -> None:
    registry = find_vendors()
    files = {path.name for path in shipped("vendors").glob("*.py")}
    assert not registry.broken
    assert {Path(found.source).name for found in registry.vendors.values()} == files - {"__init__.py"}
    for name, found in registry.vendors.items():
        assert found.vendor.name == name
        assert (found.vendor.base_url or "https://").startswith(("https://", "http://127.0.0.1:"))
        assert found.vendor.wire.name in WIRES


def test_the_users_folder_wins(tmp_path: Path) -> None:
    """A file in --vendor-path replaces the shipped vendor of that name; a later folder replaces an earlier one."""
    plugin(tmp_path / "a", "deepseek.py", "deepseek", "a.example")
    plugin(tmp_path / "a", "other.py", "other", "a.example")
    plugin(tmp_path / "b", "whatever.py", "deepseek", "b.example")
    registry = find_vendors([tmp_path / "a", tmp_path / "b"])
    assert url(registry, "deepseek") == "https://b.example"
    assert url(registry, "other") == "https://a.example"
    assert url(registry, "moonshot") == url(find_vendors(), "moonshot")


def test_an_installed_package_is_found_and_outranked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point wins over what is shipped, names a class or a module, and loses to the user's folder."""
    site = tmp_path / "site"
    plugin(site, "installed_vendor_a.py", "deepseek", "installed.example")
    plugin(site, "installed_vendor_b.py", "minimax", "installed.example")
    distribution(site, "a = installed_vendor_a:Plugin\nb = installed_vendor_b")
    monkeypatch.syspath_prepend(site)
    registry = find_vendors()
    assert url(registry, "deepseek") == url(registry, "minimax") == "https://installed.example"
    assert registry.vendors["deepseek"].source == "installed_vendor_a:Plugin (entry point a)"
    plugin(tmp_path / "mine", "x.py", "deepseek", "mine.example")
    assert url(find_vendors([tmp_path / "mine"]), "deepseek") == "https://mine.example"


BROKEN = {
    "syntax.py": ("class Half(", "SyntaxError"),
    "missing.py": ("import no_such_module", "ModuleNotFoundError"),
    "raising.py": ("raise RuntimeError('boom')", "RuntimeError: boom"),
    "leaving.py": ("import sys; sys.exit('bye')", "SystemExit: bye"),
    "empty.py": ("", "defines no subclass"),
    "nameless.py": (
        "from vendor_verifier.vendor import OpenAICompatible\nclass A(OpenAICompatible): pass",
        "A sets no 'name'",
    ),
    "wireless.py": ("from vendor_verifier.vendor import Vendor\nclass A(Vendor): name = 'a'", "A sets no 'wire'"),
    "init.py": (
        "from vendor_verifier.vendor import OpenAICompatible\n"
        "class A(OpenAICompatible):\n name = 'a'\n def __init__(self): raise OSError('no')",
        "OSError: no",
    ),
    "binary.py": ("\x00\x01", ""),
}


def test_broken_plugins_are_listed_and_the_others_run(tmp_path: Path) -> None:
    """Whatever a file does when it is loaded, it is named with its error and the rest is there."""
    plugin(tmp_path, "zz_good.py")
    for file, (content, _) in BROKEN.items():
        (tmp_path / file).write_text(content)
    before = set(sys.modules)
    registry = find_vendors([tmp_path])
    assert url(registry, "mine") == "https://example.com"
    found = errors(registry)
    assert found.keys() == BROKEN.keys()
    for file, (_, words) in BROKEN.items():
        assert words in found[file]
    assert "vendor_verifier.vendors.raising" not in set(sys.modules) - before


def test_a_name_without_a_plugin_is_a_plain_vendor() -> None:
    """Any name with a url in the config can be run, ``429.icu`` included."""
    vendor = find_vendors().vendor("429.icu")
    assert isinstance(vendor, OpenAICompatible)
    assert (vendor.name, vendor.base_url, vendor.wire.name) == ("429.icu", None, "openai")


def test_nothing_is_loaded_from_the_current_folder(tmp_path: Path) -> None:
    """A plugin, a vendors folder or a package that merely lies where the command is started is not run."""
    trap = "from pathlib import Path; Path('sprung').touch()\n"
    for place in ("evil.py", "vendors/evil.py", "vendor_verifier/__init__.py", "openrouter.py"):
        path = tmp_path / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(trap)
    distribution(tmp_path, "evil = evil:Plugin")
    command = Path(sys.executable).with_name("agent-vendor-verifier")
    if not command.exists():
        pytest.skip("the command is not installed with this interpreter")
    listed = subprocess.run([command, "init", "--list"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "deepseek" in listed.stdout
    assert not (tmp_path / "sprung").exists()
