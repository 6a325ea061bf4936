"""The command ``init``: writes a commented config.yaml, .env and .gitignore into a folder; it overwrites nothing.

``--list`` prints the known vendors and models, ``--from`` moves the keys of an old configuration to .env.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from vendor_verifier.cli.output import EXIT_OK, say
from vendor_verifier.config.model_names import MODEL_IDS, known_models, series_of
from vendor_verifier.errors import Problem, ProblemsError, StorageError
from vendor_verifier.pipeline.options import WHAT, flag, many, option
from vendor_verifier.registry import Registry, find_vendors
from vendor_verifier.reports.escape import plain
from vendor_verifier.resources import shipped

_RULE = "# ---"
_SECRET_MODE = 0o600
_PUBLIC_MODE = 0o644
_IGNORED = (".env", ".env.*", "!.env.example", "runs/")
_SCHEMA = "config.schema.json"
_SIMULATED = """\
# Simulated vendors: no key, no network, no cost. Take this section out when yours are in.
simulated-model:
  vendors:
    - name: simulated
      label: official             # answers as the model does
      model_id: simulated-model
      url: sim://faithful
      is_baseline: true
    - name: simulated
      label: reseller             # the same model behind another name
      model_id: simulated-model
      url: sim://faithful
    - name: simulated
      label: quantised            # misses tool calls and breaks schemas
      model_id: simulated-model
      url: sim://quantised
"""


class FirstFiles(msgspec.Struct, frozen=True):
    """The files that were written and those that were there already; ``keys`` are the variables missing in .env."""

    written: tuple[Path, ...]
    kept: tuple[Path, ...]
    keys: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def write_first_files(folder: Path, *, models: Sequence[str] = (), vendors: Sequence[str] = ()) -> FirstFiles:
    """Write config.yaml, .env, .gitignore and the editor's schema into ``folder``, each only if it is not there.

    Raises:
        ProblemsError: no such model, or none of ``vendors`` is known to serve one of them.
        StorageError: the disk refused.
    """
    plugins = find_vendors(()).vendors
    chosen = _chosen(models, vendors, lambda name: plugins[name].vendor.base_url)
    keys = tuple(dict.fromkeys(plugins[name].vendor.key_name or name for offers in chosen.values() for name in offers))
    contents = {
        "config.yaml": (config_text(chosen), _PUBLIC_MODE),
        ".env": (env_text(keys), _SECRET_MODE),
        ".gitignore": ("".join(f"{line}\n" for line in _IGNORED), _PUBLIC_MODE),
        _SCHEMA: (shipped(_SCHEMA).read_text(encoding="utf-8"), _PUBLIC_MODE),
    }
    written: list[Path] = []
    kept: list[Path] = []
    for name, (text, mode) in contents.items():
        (written if _create(folder / name, text, mode) else kept).append(folder / name)
    return FirstFiles(tuple(written), tuple(kept), keys, tuple(_warnings(folder, kept)))


def _chosen(
    models: Sequence[str], vendors: Sequence[str], url_of: Callable[[str], str | None]
) -> dict[str, dict[str, str]]:
    """model → vendor → the model's id at the vendor."""
    problems = []
    chosen: dict[str, dict[str, str]] = {}
    for model in models:
        offers = MODEL_IDS.get(model, {})
        if not offers or model.startswith("simulated-"):
            known = ", ".join(name for name in known_models() if not name.startswith("simulated-"))
            problems.append(Problem(f"{model!r} is no model that we know vendors of; known are {known}", key="--model"))
            continue
        # A vendor whose address is not public would need one first: it takes part only if asked for.
        chosen[model] = {name: id_ for name, id_ in offers.items() if name in vendors or (not vendors and url_of(name))}
        if not chosen[model]:
            words = f"none of {', '.join(vendors)} is known to serve {model}; known are {', '.join(offers)}"
            problems.append(Problem(words, key="--vendor"))
    if vendors and not models:
        problems.append(Problem("needs --model too: which of its models?", key="--vendor"))
    if problems:
        raise ProblemsError(problems)
    return chosen


def config_text(chosen: dict[str, dict[str, str]]) -> str:
    """The comments of config_example.yaml, then a section for each model, or the simulated one."""
    head, _, _ = shipped("config_example.yaml").read_text(encoding="utf-8").partition(_RULE)
    sections = [_section(model, offers) for model, offers in chosen.items()] or [_SIMULATED]
    schema = f"# yaml-language-server: $schema={_SCHEMA}\n"
    return schema + head.rstrip() + "\n\n" + "\n".join(sections)


def _section(model: str, offers: dict[str, str]) -> str:
    series = series_of(model)
    makers = series.makers if series else ()
    baseline = next((maker for maker in makers if maker in offers), None)
    lines = [f"{model}:", "  vendors:"]
    for vendor, name in offers.items():
        lines += [f"    - name: {vendor}", f"      model_id: {name}"]
        if vendor == "openrouter":
            lines.append("      # provider: <slug>          # without it the router picks, request by request")
        if vendor == baseline:
            lines.append("      is_baseline: true")
    return "\n".join(lines) + "\n"


def env_text(keys: Sequence[str]) -> str:
    """A line a key; without any, the shipped example."""
    if not keys:
        return shipped(".env.example").read_text(encoding="utf-8")
    head = (
        "# Keys of the vendors in config.yaml; nobody else on this machine may read this file. NAME=value, a line each."
    )
    return "\n".join([head, *(f"{name}=" for name in keys)]) + "\n"


def _create(path: Path, text: str, mode: int) -> bool:
    """Whether the file was made; one that exists, even as a dangling link, is left alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        return False
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as out:
        out.write(text)
    return True


def _warnings(folder: Path, kept: Sequence[Path]) -> Iterator[str]:
    ignore, secrets = folder / ".gitignore", folder / ".env"
    if ignore in kept and ignore.is_file():
        lines = {line.strip().strip("/") for line in ignore.read_text(encoding="utf-8", errors="replace").splitlines()}
        missing = [name for name in (".env", "runs/") if name.strip("/") not in lines and f"{name}*" not in lines]
        if missing:
            yield f"{ignore} does not name {' and '.join(missing)}: add them, or keys and answers may be committed"
    if secrets in kept and os.name != "nt" and secrets.exists() and secrets.stat().st_mode & 0o077:
        yield f"{secrets} can be read by others on this machine; run: chmod 600 {secrets}"


def init_command(
    folder: Annotated[Path, Parameter(help="Folder to write to.")] = Path(),
    /,
    *,
    model: Annotated[tuple[str, ...], many("Begin with this model (repeatable); --list shows them.", WHAT)] = (),
    vendor: Annotated[tuple[str, ...], many("Write these vendors only (repeatable).", WHAT)] = (),
    show_known: Annotated[
        bool, flag("List the vendor plugins and the model names; write nothing.", WHAT, "--list")
    ] = False,
    vendor_path: Annotated[tuple[Path, ...], many("List vendor plugins of this folder, too (repeatable).", WHAT)] = (),
    from_: Annotated[
        Path | None, option("Move the literal keys of this config.yaml to .env; keep a backup.", WHAT, "--from")
    ] = None,
    env_file: Annotated[Path | None, option("With --from: the .env to write. [default: beside it]", WHAT)] = None,
    dry_run: Annotated[bool, flag("With --from: show what would be moved; write nothing.", WHAT)] = False,
) -> int:
    """Write config.yaml (commented), .env (for you alone), .gitignore and a schema for editors; keep what exists.

    Without --model the configuration has simulated vendors: it runs as it is, without a key.
    """
    if show_known:
        print_known(find_vendors(vendor_path))
        return EXIT_OK
    if from_ is not None:
        from vendor_verifier.cli.old_config import move_keys_out

        return move_keys_out(from_, env_file, dry_run=dry_run)
    done = write_first_files(folder, models=model, vendors=vendor)
    for path in done.written:
        say(f"wrote {path}")
    for path in done.kept:
        say(f"kept {path}: it exists")
    for warning in done.warnings:
        say(f"warning: {warning}", "doubtful")
    if done.keys:
        say(f"next: fill in {', '.join(done.keys)} in {folder / '.env'}, then `agent-vendor-verifier doctor`")
    else:
        say("next: `agent-vendor-verifier`, or name your own vendors in config.yaml")
    return EXIT_OK


def print_known(registry: Registry) -> None:
    """Print the vendor plugins as a table, then the model names with each vendor's ``model_id``."""
    table = [["VENDOR", "WIRE", "KEY", "ADDRESS", "FILE"]]
    for _, found in sorted(registry.vendors.items()):
        vendor = found.vendor
        cells = (vendor.name, vendor.wire.name, vendor.key_name or vendor.name, vendor.base_url or "(url in config)")
        table.append([plain(cell) for cell in (*cells, found.source)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        sys.stdout.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")
    for plugin in registry.broken:
        sys.stdout.write(plain(f"cannot be used: {plugin.source}: {plugin.error}") + "\n")
    sys.stdout.write("\nMODEL, and its model_id by vendor\n")
    for model in known_models():
        if not model.startswith("simulated-"):
            sys.stdout.write(f"{model}\n")
            sys.stdout.writelines(f"  {vendor:12} {model_id}\n" for vendor, model_id in MODEL_IDS[model].items())
    sys.stdout.write("Other names work too: give each vendor's model_id in config.yaml.\n")
