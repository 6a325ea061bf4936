"""The command ``init``: writes a commented config.yaml, .env and .gitignore into a folder; it overwrites nothing.

``--list`` prints the known vendors and models, ``--from`` converts an old configuration.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.cli.output import EXIT_OK, say, warn
from vendor_verifier.config.flags import INPUT, flag, many, option
from vendor_verifier.config.model_names import MODEL_IDS, known_models, series_of
from vendor_verifier.config.schema import json_schema
from vendor_verifier.errors import Problem, ProblemsError, StorageError, UsageError
from vendor_verifier.registry import Registry, find_vendors
from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.formats import aligned
from vendor_verifier.resources import shipped

_RULE = "# ---"
IGNORED = ".env\n.env.*\n!.env.example\nruns/\n"
_SCHEMA = "config.schema.json"


def init_command(
    folder: Annotated[Path, Parameter(help="Folder to write to.")] = Path(),
    /,
    *,
    model: Annotated[tuple[str, ...], many("Model to test (repeatable); --list shows the names.", INPUT)] = (),
    vendor: Annotated[tuple[str, ...], many("Only this vendor (repeatable). [default: all known]", INPUT)] = (),
    show_known: Annotated[bool, flag("List the known vendors and models; write nothing.", INPUT, "--list")] = False,
    vendor_path: Annotated[tuple[Path, ...], many("With --list: folder with vendor plugins (repeatable).", INPUT)] = (),
    from_: Annotated[
        Path | None,
        option("Convert this config.yaml with literal keys, or of mcpbr; keep a backup.", INPUT, "--from"),
    ] = None,
    env_file: Annotated[Path | None, option("With --from: .env to write. [default: next to the config]", INPUT)] = None,
    dry_run: Annotated[bool, flag("With --from: show what would change; write nothing.", INPUT)] = False,
) -> int:
    """Write config.yaml (commented), .env (readable by you only), .gitignore and a schema for editors.

    Existing files are kept. Without --model the configuration has simulated vendors and runs without a key.
    """
    if show_known:
        print_known(find_vendors(vendor_path))
        return EXIT_OK
    if dry_run and from_ is None:
        raise ProblemsError([Problem("needs --from, the file to convert", key="--dry-run")])
    if from_ is not None:
        from vendor_verifier.cli.old_config import convert

        return convert(from_, env_file, dry_run=dry_run)
    write_first_files(folder, offers_of(model, vendor))
    return EXIT_OK


def write_first_files(folder: Path, chosen: Mapping[str, Mapping[str, str]], suites: str = "", flags: str = "") -> None:
    """Write the first files for model → vendor → model_id, and say what to do next.

    ``suites`` is a section of the configuration, ``flags`` are those that its run needs.

    A file that is there is kept, unless it is still as ``init`` without a model wrote it.

    Raises:
        StorageError: the disk refused.
        UsageError: the folder is a file.
    """
    if folder.is_file():
        raise UsageError(f"{folder} is a file; name a folder")
    plugins = find_vendors(()).vendors
    keys = list(dict.fromkeys(plugins[name].vendor.key_name or name for ids in chosen.values() for name in ids))
    schema = json.dumps(json_schema(), indent=2) + "\n"
    files = {
        "config.yaml": (config_text(chosen, suites), config_text({}), 0o644),
        ".env": (_env_text(keys), _env_text(()), 0o600),
        ".gitignore": (IGNORED, "", 0o644),
        _SCHEMA: (schema, "", 0o644),
    }
    for name, (text, untouched, mode) in files.items():
        path = folder / name
        say(f"wrote {path}" if _create(path, text, untouched, mode) else f"kept {path}: it exists")
    _warn_of_leaks(folder / ".gitignore", folder / ".env")
    config = "" if folder == Path() else f" -c {folder / 'config.yaml'}"
    run = f"`agent-vendor-verifier{config}{flags}`"
    if keys:
        say(
            f"next: set {', '.join(keys)} in {folder / '.env'}; then `agent-vendor-verifier doctor{config}`, then {run}"
        )
    else:
        say(f"next: {run} tests the simulated vendors of {folder / 'config.yaml'}")
        say("real vendors: `agent-vendor-verifier init --model kimi-k2.5`; `init --list` lists models and vendors")


def offers_of(models: Sequence[str], vendors: Sequence[str] = ()) -> dict[str, dict[str, str]]:
    """model → vendor → the model's id at the vendor, of the vendors with a public address unless they are named.

    Raises:
        ProblemsError: no such model, or none of ``vendors`` is known to serve one of them.
    """
    plugins, problems = find_vendors(()).vendors, []
    chosen: dict[str, dict[str, str]] = {}
    for model in models:
        ids = MODEL_IDS.get(model, {})
        if not ids or model.startswith("simulated-"):
            problems.append(Problem(f"read {model!r}; known models are {', '.join(_real_models())}", key="--model"))
            continue
        chosen[model] = {
            name: id_ for name, id_ in ids.items() if name in vendors or (not vendors and plugins[name].vendor.base_url)
        }
        if not chosen[model]:
            words = f"none of {', '.join(vendors)} is known to serve {model}; known are {', '.join(ids)}"
            problems.append(Problem(words, key="--vendor"))
    if vendors and not models:
        problems.append(Problem("add --model: which of its models?", key="--vendor"))
    if problems:
        raise ProblemsError(problems)
    return chosen


def config_text(chosen: Mapping[str, Mapping[str, str]], suites: str = "") -> str:
    """The comments of config_example.yaml, then a section for each model, or the simulated one."""
    head, _, _ = shipped("config_example.yaml").read_text(encoding="utf-8").partition(_RULE)
    sections = [_section(model, ids) for model, ids in chosen.items()] or [_simulated()]
    schema = f"# yaml-language-server: $schema={_SCHEMA}\n"
    return schema + head.rstrip() + "\n\n" + "\n".join([*([suites] if suites else []), *sections])


def _simulated() -> str:
    """The first three vendors of the demo."""
    _, start, rest = shipped("config_simulated.yaml").read_text(encoding="utf-8").partition("simulated-model:\n")
    entries = "    - name: ".join(rest.split("    - name: ")[:4])
    return f"# Simulated vendors: no key, no network, no cost. Remove this section when yours are in.\n{start}{entries}"


def _section(model: str, ids: Mapping[str, str]) -> str:
    series = series_of(model)
    baseline = next((maker for maker in series.makers if maker in ids), None) if series else None
    lines = [f"{model}:", "  vendors:"]
    for vendor, model_id in ids.items():
        lines += [f"    - name: {vendor}", f"      model_id: {model_id}"]
        if vendor == "openrouter":
            lines.append("      # provider: <slug>          # without it the router picks, request by request")
        if vendor == baseline:
            lines.append("      is_baseline: true")
    return "\n".join(lines) + "\n"


def _env_text(keys: Iterable[str]) -> str:
    lines = "".join(f"{name}=\n" for name in keys)
    head = "# Keys of the vendors in config.yaml, NAME=value, one a line. Only you can read this file.\n"
    return head + lines if lines else shipped(".env.example").read_text(encoding="utf-8")


def _create(path: Path, text: str, untouched: str, mode: int) -> bool:
    """Whether the file was written; one that exists, even as a dangling link, is kept unless it is ``untouched``."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if text != untouched and path.is_file() and path.read_bytes() == untouched.encode():
            path.unlink()
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        return False
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from None
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as out:
        out.write(text)
    return True


def _warn_of_leaks(ignore: Path, secrets: Path) -> None:
    lines = {line.strip().strip("/") for line in ignore.read_text(encoding="utf-8", errors="replace").splitlines()}
    missing = [name for name in (".env", "runs") if name not in lines and f"{name}*" not in lines]
    if missing:
        warn(f"{ignore} does not list {' and '.join(missing)}; add them, or keys and answers may be committed")
    if os.name != "nt" and secrets.exists() and secrets.stat().st_mode & 0o077:
        warn(f"{secrets} can be read by others on this machine; run: chmod 600 {secrets}")


def _real_models() -> list[str]:
    return [name for name in known_models() if not name.startswith("simulated-")]


def print_known(registry: Registry) -> None:
    """Print the vendor plugins as a table, then the model names with each vendor's ``model_id``."""
    table = [["VENDOR", "WIRE", "KEY", "ADDRESS", "FILE"]]
    for _, found in sorted(registry.vendors.items()):
        vendor = found.vendor
        cells = (vendor.name, vendor.wire.name, vendor.key_name or vendor.name, vendor.base_url or "(url in config)")
        table.append([plain(cell) for cell in (*cells, found.source)])
    lines = [line.rstrip() for line in aligned(table, left=5)]
    lines += [plain(f"cannot be used: {plugin.source}: {plugin.error}") for plugin in registry.broken]
    lines += ["", "MODEL, and its model_id by vendor"]
    for model in _real_models():
        lines += [model, *(f"  {vendor:12} {model_id}" for vendor, model_id in MODEL_IDS[model].items())]
    lines.append("Other names work too: give each vendor's model_id in config.yaml.")
    sys.stdout.writelines(f"{line}\n" for line in lines)
