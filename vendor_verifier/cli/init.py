"""The command ``init``: writes a commented config.yaml, .env and .gitignore into a folder; it overwrites nothing.

``--list`` prints the known vendors and models. ``--from`` moves the literal keys of a config.yaml to .env, or writes
ours from a configuration of mcpbr; what could be lost is written before anything is replaced.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.cli.output import EXIT_OK, EXIT_USAGE, say, warn
from vendor_verifier.config.document import read_environment, read_text, read_yaml
from vendor_verifier.config.entries import MODEL_IDS, makers_of
from vendor_verifier.config.load import is_of_mcpbr, load_config
from vendor_verifier.config.old_files import McpbrFile, move_keys, read_mcpbr
from vendor_verifier.config.run_config import INPUT, RunOptions, option
from vendor_verifier.config.schema import json_schema
from vendor_verifier.errors import ConfigError, Problem, ProblemsError, StorageError, UsageError
from vendor_verifier.registry import find_vendors
from vendor_verifier.reports.escape import plain
from vendor_verifier.reports.formats import aligned
from vendor_verifier.resources import shipped
from vendor_verifier.store import RunFolder

IGNORED = ".env\n.env.*\n!.env.example\nruns/\n"
_SCHEMA = "config.schema.json"
_REAL_MODELS = [name for name in MODEL_IDS if not name.startswith("simulated-")]


def init_command(
    folder: Annotated[Path, Parameter(help="Folder to write to.")] = Path(),
    /,
    *,
    model: Annotated[tuple[str, ...], option("Model to test (repeatable); --list shows the names.", INPUT)] = (),
    vendor: Annotated[tuple[str, ...], option("Only this vendor (repeatable). [default: all known]", INPUT)] = (),
    show_known: Annotated[bool, option("List known vendors and models; write nothing.", INPUT, name="--list")] = False,
    vendor_path: Annotated[tuple[Path, ...], option("With --list: folder of plugins (repeatable).", INPUT)] = (),
    from_: Annotated[
        Path | None, option("Move the literal keys of this config.yaml to .env, or convert a file of mcpbr.", INPUT)
    ] = None,
    env_file: Annotated[Path | None, option("With --from: .env to write. [default: next to the config]", INPUT)] = None,
    dry_run: Annotated[bool, option("With --from: show what would change; write nothing.", INPUT)] = False,
) -> int:
    """Write config.yaml (commented), .env (readable by you only), .gitignore and a schema for editors.

    Existing files are kept. Without --model the configuration has simulated vendors and runs without a key.
    """
    if env_file is not None and from_ is None:
        warn("--env-file has no effect without --from")
    if vendor_path and not show_known:
        warn("--vendor-path has no effect without --list")
    if show_known:
        _print_known(vendor_path)
    elif from_ is not None:
        content = read_yaml(read_text(from_), from_).content
        if not is_of_mcpbr(content):
            return _convert(from_, env_file, dry_run=dry_run)
        _from_mcpbr(read_mcpbr(content), folder, dry_run=dry_run)
    elif dry_run:
        raise ProblemsError([Problem("needs --from, the file to convert", key="--dry-run")])
    else:
        _write_first_files(folder, _offers_of(model, vendor))
    return EXIT_OK


def _from_mcpbr(found: McpbrFile, folder: Path, *, dry_run: bool) -> None:
    """Write the first files with the model and the options of a configuration of mcpbr."""
    target, chosen = folder / "config.yaml", _offers_of([found.model] if found.model else [], ())
    if found.left_out:
        say(plain(f"not carried over: {', '.join(found.left_out[:10])}"))
    if found.model is None:
        say("it names no known model, so the simulated vendors are in; replace them with yours")
    if target.exists():
        raise UsageError(f"{target} exists; name another folder, as in `agent-vendor-verifier init NEW --from …`")
    if dry_run:
        say(f"dry run: nothing was written; {target} would be\n\n{_config_text(chosen, found.options)}")
    else:
        _write_first_files(folder, chosen, found.options, f" --suite {found.suite}")


def _write_first_files(
    folder: Path, chosen: Mapping[str, Mapping[str, str]], suites: str = "", flags: str = ""
) -> None:
    """Write the first files for model → vendor → model_id, and say what to do next.

    ``suites`` is a section of the configuration, ``flags`` are those that its run needs.
    A file that is there is kept, unless it is still as ``init`` without a model wrote it.
    """
    if folder.is_file():
        raise UsageError(f"{folder} is a file; name a folder")
    plugins = find_vendors(()).vendors
    keys = list(dict.fromkeys(plugins[name].vendor.key_name or name for ids in chosen.values() for name in ids))
    examples = shipped(".env.example").read_text(encoding="utf-8")
    env = "# Keys of the vendors in config.yaml, NAME=value, one per line. Only you can read this file.\n"
    env += "".join(f"{name}=\n" for name in keys)
    files = {
        ".env": (env if keys else examples, examples, 0o600),
        ".gitignore": (IGNORED, "", 0o644),
        _SCHEMA: (json.dumps(json_schema(), indent=2) + "\n", "", 0o644),
        "config.yaml": (_config_text(chosen, suites), _config_text({}), 0o644),
    }
    is_new = False
    for name, (text, untouched, mode) in files.items():
        is_new = _create(folder / name, text, untouched, mode)
        say(f"wrote {folder / name}" if is_new else f"kept {folder / name}: it exists")
    ignored = {line.strip(" \t/") for line in (folder / ".gitignore").read_text(errors="replace").splitlines()}
    if missing := [name for name in (".env", "runs") if name not in ignored and f"{name}*" not in ignored]:
        ignore = folder / ".gitignore"
        warn(f"{ignore} does not list {' and '.join(missing)}; add them, or keys and answers may be committed")
    config = "" if folder == Path() else f" -c {folder / 'config.yaml'}"
    run = f"`agent-vendor-verifier{config}{flags}`"
    if not is_new:
        say(f"next: `agent-vendor-verifier{config} --dry-run` shows what {folder / 'config.yaml'} would send")
    elif keys:
        doctor = f"`agent-vendor-verifier doctor{config}`"
        say(f"next: set {', '.join(keys)} in {folder / '.env'}; then {doctor}, then {run}")
    else:
        say(f"next: {run} tests the simulated vendors of {folder / 'config.yaml'}")
        say("real vendors: `agent-vendor-verifier init --model kimi-k2.5`; `init --list` lists models and vendors")


def _offers_of(models: Sequence[str], vendors: Sequence[str]) -> dict[str, dict[str, str]]:
    """model → vendor → the model's id at the vendor, of the vendors with a public address unless they are named."""
    plugins, problems = find_vendors(()).vendors, []
    chosen: dict[str, dict[str, str]] = {}
    for model in models:
        ids = MODEL_IDS.get(model, {})
        if model not in _REAL_MODELS:
            problems.append(Problem(f"read {model!r}; known models are {', '.join(_REAL_MODELS)}", key="--model"))
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


def _config_text(chosen: Mapping[str, Mapping[str, str]], suites: str = "") -> str:
    """The comments of config_example.yaml, the suites, then a section for each model, or three vendors of the demo."""
    lines = [f"# yaml-language-server: $schema={_SCHEMA}"]
    lines += [shipped("config_example.yaml").read_text(encoding="utf-8").partition("# ---")[0].rstrip()]
    lines += ["", suites.rstrip()] if suites else []
    if not chosen:
        _, start, rest = shipped("config_simulated.yaml").read_text(encoding="utf-8").partition("simulated-model:\n")
        lines += ["", "# Simulated vendors: no key, no network, no cost. Remove this section when yours are in."]
        lines.append(start + "    - name: ".join(rest.split("    - name: ")[:4]).rstrip())
    for model, ids in chosen.items():
        baseline = next((maker for maker in makers_of(model)[0] if maker in ids), None)
        lines += ["", f"{model}:", "  vendors:"]
        for vendor, model_id in ids.items():
            lines += [f"    - name: {vendor}", f"      model_id: {model_id}"]
            if vendor == "openrouter":
                lines.append("      # provider: <slug>          # without it the router picks, request by request")
            if vendor == baseline:
                lines.append("      is_baseline: true")
    return "\n".join(lines) + "\n"


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


def _print_known(vendor_path: Sequence[Path]) -> None:
    """Print the vendor plugins as a table, then the model names with each vendor's ``model_id``."""
    registry = find_vendors(vendor_path)
    table = [["VENDOR", "WIRE", "KEY", "ADDRESS", "FILE"]]
    for _, found in sorted(registry.vendors.items()):
        vendor = found.vendor
        cells = (vendor.name, vendor.wire.name, vendor.key_name or vendor.name, vendor.base_url or "(url in config)")
        table.append([plain(cell) for cell in (*cells, found.source)])
    lines = [line.rstrip() for line in aligned(table, left=5)]
    lines += [plain(f"cannot be used: {source}: {error}") for source, error in registry.broken.items()]
    lines += ["", "MODEL, and its model_id by vendor"]
    for model in _REAL_MODELS:
        lines += [model, *(f"  {vendor:12} {model_id}" for vendor, model_id in MODEL_IDS[model].items())]
    lines.append("Other names work too: give each vendor's model_id in config.yaml.")
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _convert(config: Path, env_file: Path | None, *, dry_run: bool) -> int:
    """Move the keys of ``config`` and return the exit code: 2 while the result has problems, which are named.

    Keys go to ``env_file`` (default: .env next to the config); a backup is kept, and no key is printed.
    """
    # Links are followed: the file that is meant is changed, not the link replaced.
    config = config.resolve()
    env = (env_file or config.parent / ".env").resolve()
    held = read_text(env) if env.exists() else ""
    text = read_text(config)
    registry = find_vendors(())
    moved = move_keys(config, text, held, lambda name: registry.vendor(name).key_name or name)
    for line, name in moved.keys:
        say(plain(f"{config}:{line}: the key is `{name}` in {env}"))
    for line in moved.lines:
        say(f"{config}:{line}: this line still holds what looks like a key; delete it")
    if not moved.keys:
        say(f"{config} holds no literal key; it is unchanged")
    if dry_run:
        say("dry run: nothing was written")
        return EXIT_OK
    if moved.keys:
        backup = config.with_name(f"{config.name}.backup")
        _ignore(backup)
        if not _create(backup, text, "", 0o600):
            raise UsageError(f"{backup} exists; move it away first, and run this again")
        say(f"{backup} is the file as it was; git ignores it. Delete it when everything works.")
        _ignore(env)
        RunFolder(env.parent).write(env.name, moved.env)
        mode = config.stat().st_mode & 0o777
        RunFolder(config.parent).write(config.name, moved.config)
        config.chmod(mode)
        say(f"if {config} was ever committed or shared, replace its keys: others may have them")
    try:
        load_config(RunOptions(config_file_path=config, env_file=env), read_environment(), registry=registry)
    except ConfigError as error:
        for problem in error.problems:
            say(plain(f"still to fix: {problem}"))
        return EXIT_USAGE
    say("next: `agent-vendor-verifier doctor`, then `agent-vendor-verifier --dry-run`")
    return EXIT_OK


def _ignore(file: Path) -> None:
    """Add a file to the .gitignore of its folder, which is created with what ``init`` puts there."""
    path = file.with_name(".gitignore")
    _create(path, IGNORED, "", 0o644)
    if file.name.encode() not in path.read_bytes().split():
        with path.open("ab") as out:
            out.write(f"\n{file.name}\n".encode())
