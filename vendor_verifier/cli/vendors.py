"""The commands ``vendors``, ``models`` (unified names by vendor) and ``completion`` (a shell's completion script)."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vendor_verifier.config.model_names import MODEL_IDS
from vendor_verifier.console.output import EXIT_OK
from vendor_verifier.pipeline.options import OUTPUT, flag, many
from vendor_verifier.registry import find_vendors
from vendor_verifier.reports.escape import plain


def models_command(*, json: Annotated[bool, flag("Print JSON.", OUTPUT)] = False) -> int:
    """List the unified model names with every vendor's ``model_id`` for them."""
    table = {model: ids for model, ids in MODEL_IDS.items() if "simulated" not in ids}
    if json:
        sys.stdout.write(json_module.dumps(table, indent=2) + "\n")
        return EXIT_OK
    for model, ids in table.items():
        sys.stdout.write(f"{model}\n")
        sys.stdout.writelines(f"  {vendor:12} {model_id}\n" for vendor, model_id in ids.items())
    sys.stdout.write("Other names work too: give each vendor's model_id in config.yaml.\n")
    return EXIT_OK


def vendors_command(
    *,
    vendor_path: Annotated[tuple[Path, ...], many("Load vendor plugins from this folder (repeatable).", OUTPUT)] = (),
    json: Annotated[bool, flag("Print JSON.", OUTPUT)] = False,
) -> int:
    """List vendor plugins: name, wire, key variable, address, file."""
    registry = find_vendors(vendor_path)
    rows = [
        {
            "name": found.vendor.name,
            "wire": found.vendor.wire.name,
            "key": found.vendor.key_name or found.vendor.name,
            "base_url": found.vendor.base_url,
            "source": found.source,
        }
        for _, found in sorted(registry.vendors.items())
    ]
    broken = [{"source": plugin.source, "error": plugin.error} for plugin in registry.broken]
    if json:
        sys.stdout.write(json_module.dumps({"vendors": rows, "broken": broken}, indent=2) + "\n")
        return EXIT_OK
    sys.stdout.writelines(line + "\n" for line in _aligned(rows))
    for plugin in broken:
        sys.stdout.write(plain(f"cannot be used: {plugin['source']}: {plugin['error']}") + "\n")
    return EXIT_OK


def completion_command(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Your shell.")],
    /,
) -> int:
    """Print the completion script of a shell, to put where that shell looks for one.

    bash: ~/.local/share/bash-completion/completions/agent-vendor-verifier; zsh: a file _agent-vendor-verifier in a
    folder of $fpath; fish: ~/.config/fish/completions/agent-vendor-verifier.fish.
    """
    from vendor_verifier.cli.main import build_app

    sys.stdout.write(build_app().generate_completion(shell=shell).rstrip() + "\n")
    return EXIT_OK


def _aligned(rows: Sequence[Mapping[str, str | None]]) -> Iterator[str]:
    """One line a vendor under a line of headings, in columns; without vendors nothing."""
    if not rows:
        return
    table = [["VENDOR", "WIRE", "KEY", "ADDRESS", "FILE"]]
    table += [[plain(value or "(url in config)") for value in row.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
