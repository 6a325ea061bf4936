"""The command ``migrate``: a config.yaml of 0.1.0, its keys and its results, brought over to this version.

What could be lost is written before anything is replaced: .gitignore, the backup, .env, and the configuration last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vendor_verifier.config import load_config, read_environment
from vendor_verifier.config.env_file import read_limited
from vendor_verifier.config.literal_keys import Moved, NotMovable, move_keys
from vendor_verifier.config.yaml_tree import SourceError, Table, parse, plain
from vendor_verifier.console.output import EXIT_OK, EXIT_USAGE, say
from vendor_verifier.errors import ConfigError, Problem, StorageError
from vendor_verifier.pipeline.old_results import OldEntry, bring_over, find_results
from vendor_verifier.pipeline.options import OUTPUT, WHAT, flag, option
from vendor_verifier.registry import Registry, find_vendors
from vendor_verifier.reports.escape import plain as harmless
from vendor_verifier.store import FILE_MODE, NO_LINK, RunFolder
from vendor_verifier.words import Texts

# Flags that mean something else than in 0.1.0, in the order in which its help had them.
CHANGED = ("test_file", "config_file", "vendor_concurrency", "retries", "incremental", "extra_body", "twice", "folders")


@dataclass(frozen=True, slots=True)
class _Place:
    """The files of a migration, links followed, and the texts in them."""

    config: Path
    env: Path
    text: str = field(repr=False)
    env_text: str = field(repr=False)
    marked: bool = False


def migrate_command(
    config: Annotated[Path, Parameter(help="config.yaml of 0.1.0.")] = Path("config.yaml"),
    /,
    *,
    env_file: Annotated[Path | None, option("Move its keys here. [default: .env beside it]", WHAT)] = None,
    data: Annotated[Path | None, option("Read results of 0.1.0 here. [default: data beside the config]", WHAT)] = None,
    output_dir: Annotated[Path, option("Write imported runs into this folder.", OUTPUT, "--output-dir", "-o")] = Path(
        "runs"
    ),
    dry_run: Annotated[bool, flag("Say what would be done; write nothing.", OUTPUT)] = False,
) -> int:
    """Bring a configuration of 0.1.0 over: keys into .env, what changed, its results as runs. Prints no key.

    The configuration is changed at its keys alone; a backup is kept. Exit 2 while something is left to mend.
    """
    t, registry = Texts(), find_vendors(())
    place = _read(config, env_file)
    moved = _move(place, registry)
    if not dry_run and moved.keys:
        backup = _write(place, moved)
        say(t("migrate_backup", path=backup))
    for line in _told(place, moved, t, dry_run=dry_run):
        say(harmless(line))
    for name in CHANGED:
        say(t(f"migrate_flag_{name}"))
    entries = list(old_entries(moved.config))
    if any((entry.model, entry.vendor) == ("kimi-k2.5", "moonshotai") for entry in entries):
        say(t("migrate_moonshotai", vendor="moonshotai"))
    _results(data if data is not None else config.parent / "data", entries, output_dir, t, dry_run=dry_run)
    problems = [] if dry_run and moved.keys else list(_left(place, registry))
    for problem in problems:
        say(t("migrate_left", problem=harmless(str(problem))))
    say(t("migrate_wrote_nothing") if dry_run else t("migrate_next"))
    return EXIT_USAGE if problems else EXIT_OK


def _read(config: Path, env_file: Path | None) -> _Place:
    env = (env_file if env_file is not None else config.parent / ".env").resolve()
    path = config.resolve()
    try:
        text = read_limited(path)
        marked = path.read_bytes().startswith(b"\xef\xbb\xbf")
    except FileNotFoundError:
        raise ConfigError([Problem("no such file; name the config.yaml of 0.1.0", config)]) from None
    except OSError as error:
        raise ConfigError([Problem(f"cannot be read: {error.strerror}", config)]) from None
    except SourceError as error:
        raise ConfigError([Problem(error.message, config, error.line)]) from None
    try:
        held = read_limited(env) if env.exists() else ""
    except OSError as error:
        raise ConfigError([Problem(f"cannot be read: {error.strerror}", env)]) from None
    except SourceError as error:
        raise ConfigError([Problem(error.message, env, error.line)]) from None
    return _Place(path, env, text, held, marked)


def _move(place: _Place, registry: Registry) -> Moved:
    try:
        return move_keys(place.text, place.env_text, lambda name: registry.vendor(name).key_name or name)
    except SourceError as error:
        raise ConfigError([Problem(error.message, place.config, error.line)]) from None
    except NotMovable:
        message = "its keys cannot be moved without changing more than them; write `NAME=<the key>` in .env yourself"
        raise ConfigError([Problem(message, place.config)]) from None


def _write(place: _Place, moved: Moved) -> Path:
    """Write all files, the configuration last, and return the backup's path."""
    folder, mode = RunFolder(place.config.parent), place.config.stat().st_mode & 0o777
    backup = _free_name(place.config)
    _ignore(folder, backup.name)
    _ignore(RunFolder(place.env.parent), place.env.name)
    _keep(backup, place.config.read_bytes())
    RunFolder(place.env.parent).write(place.env.name, moved.env)
    folder.write(place.config.name, ("\ufeff" if place.marked else "") + moved.config)
    place.config.chmod(mode)
    return backup


def _free_name(config: Path) -> Path:
    names = (config.with_name(f"{config.name}.before-migrate{number or ''}") for number in range(1000))
    return next(name for name in names if not name.exists() and not name.is_symlink())


def _keep(backup: Path, content: bytes) -> None:
    try:
        descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, FILE_MODE)
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(descriptor)
    except OSError as error:
        raise StorageError(f"cannot write {backup}: {error.strerror}; nothing was changed") from None


def _ignore(folder: RunFolder, name: str) -> None:
    """Have git ignore a file of the folder, in the .gitignore beside it."""
    path = folder.path / ".gitignore"
    text = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""
    if name not in {line.strip().strip("/") for line in text.splitlines()}:
        text += ("\n" if text and not text.endswith("\n") else "") + f"{name}\n"
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        folder.write(path.name, text.encode("utf-8", errors="surrogateescape"))
        path.chmod(mode)


def _told(place: _Place, moved: Moved, t: Texts, *, dry_run: bool) -> Iterator[str]:
    if not moved.keys:
        yield t("migrate_no_key", path=place.config)
    for key in moved.keys:
        words = {"place": f"{place.config}:{key.line}", "name": key.name, "usual": key.usual, "env": place.env}
        yield t(f"migrate_key_{key.how}", **words)
    for number in moved.lines:
        yield t("migrate_comment", place=f"{place.config}:{number}")
    environment = read_environment()
    for name, value in moved.values.items():
        if environment.get(name, value).strip() != value:
            yield t("migrate_environment", name=name)
    if moved.keys and not dry_run:
        yield t("migrate_history", path=place.config)


def old_entries(config: str) -> Iterator[OldEntry]:
    """The vendors of a configuration as far as they can be told, whatever else is wrong with it."""
    root, _ = parse(config)
    for model, section in plain(root).items() if isinstance(root, Table) else ():
        vendors = section.get("vendors") if isinstance(section, dict) else None
        for each in vendors if isinstance(vendors, list) else ():
            if isinstance(each, dict) and isinstance(each.get("name"), str):
                provider = each.get("provider")
                named = provider if isinstance(provider, str) else None
                yield OldEntry(model, each["name"], named, each.get("is_baseline") is True)


def _results(data: Path, entries: list[OldEntry], output_dir: Path, t: Texts, *, dry_run: bool) -> None:
    found = find_results(data, entries) if data.is_dir() else []
    if not found:
        say(t("migrate_no_results", path=data))
    for old in found:
        if dry_run:
            say(harmless(t("migrate_would_import", model=old.model, n=len(old.results), summaries=len(old.summaries))))
            continue
        done = bring_over(old, output_dir)
        if done.why is not None:
            say(harmless(t("migrate_not_imported", model=done.model, why=done.why)))
        elif done.results:
            say(harmless(t("migrate_imported", model=done.model, n=done.results, run=done.folder)))
        if done.summaries:
            say(harmless(t("migrate_summaries", model=done.model, n=done.summaries, run=done.folder)))


def _left(place: _Place, registry: Registry) -> Iterator[Problem]:
    """The problems that this version still finds in the configuration."""
    try:
        load_config(place.config, env_file=place.env, environ=read_environment(), registry=registry)
    except ConfigError as error:
        yield from error.problems
