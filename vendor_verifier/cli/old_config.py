"""Moves the literal keys of an old config.yaml to .env (``init --from``).

What could be lost is written before anything is replaced: .gitignore, the backup, .env, and the configuration last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from vendor_verifier.cli.output import EXIT_OK, EXIT_USAGE, say
from vendor_verifier.config import load_config, read_environment
from vendor_verifier.config.env_file import read_limited
from vendor_verifier.config.literal_keys import Moved, MovedKey, NotMovable, move_keys
from vendor_verifier.config.yaml_source import SourceError
from vendor_verifier.errors import ConfigError, Problem, StorageError
from vendor_verifier.registry import Registry, find_vendors
from vendor_verifier.reports.escape import plain
from vendor_verifier.store import FILE_MODE, NO_LINK, RunFolder

_BOM = b"\xef\xbb\xbf"


def move_keys_out(config: Path, env_file: Path | None, *, dry_run: bool) -> int:
    """Move every literal ``api_key`` of ``config`` to ``env_file`` (default: .env beside it) and return the exit code.

    The configuration is changed at its keys alone, and a backup of it is kept. No key is printed. The code is 2 while
    the configuration has other problems, which are named.

    Raises:
        ConfigError: a file cannot be read, or its keys cannot be moved.
        StorageError: the disk refused.
    """
    registry = find_vendors(())
    # Links are followed: the file that is meant is changed, not the link replaced.
    config = config.resolve()
    env = (env_file if env_file is not None else config.parent / ".env").resolve()
    text, held = _read(config), _read(env) if env.exists() else ""
    try:
        moved = move_keys(text, held, lambda name: registry.vendor(name).key_name or name)
    except SourceError as error:
        raise ConfigError([Problem(error.message, config, error.line)]) from None
    except NotMovable:
        message = "its keys cannot be moved without changing more than them; write `NAME=<the key>` in .env yourself"
        raise ConfigError([Problem(message, config)]) from None
    if moved.keys and not dry_run:
        backup = _write(config, env, moved)
        say(f"{backup} is the file as it was, with its keys; git ignores it. Delete it when everything works.")
    for line in _report(config, env, moved):
        say(plain(line))
    if dry_run:
        say("dry run: nothing was written")
        return EXIT_OK
    problems = _problems(config, env, registry)
    for problem in problems:
        say(plain(f"still to fix: {problem}"))
    say("next: `agent-vendor-verifier doctor`, then `agent-vendor-verifier --dry-run`")
    return EXIT_USAGE if problems else EXIT_OK


def _read(path: Path) -> str:
    try:
        return read_limited(path)
    except FileNotFoundError:
        raise ConfigError([Problem("no such file", path)]) from None
    except OSError as error:
        raise ConfigError([Problem(f"cannot be read: {error.strerror}", path)]) from None
    except SourceError as error:
        raise ConfigError([Problem(error.message, path, error.line)]) from None


def _write(config: Path, env: Path, moved: Moved) -> Path:
    """Write all files, the configuration last, and return the backup's path."""
    content, mode = config.read_bytes(), config.stat().st_mode & 0o777
    names = (config.with_name(f"{config.name}.backup{number or ''}") for number in range(1000))
    backup = next(name for name in names if not name.exists() and not name.is_symlink())
    _ignore(RunFolder(config.parent), backup.name)
    _ignore(RunFolder(env.parent), env.name)
    try:
        descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, FILE_MODE)
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(descriptor)
    except OSError as error:
        raise StorageError(f"cannot write {backup}: {error.strerror}; nothing was changed") from None
    RunFolder(env.parent).write(env.name, moved.env)
    changed = moved.config.encode()
    RunFolder(config.parent).write(config.name, _BOM + changed if content.startswith(_BOM) else changed)
    config.chmod(mode)
    return backup


def _ignore(folder: RunFolder, name: str) -> None:
    """Add a file of the folder to the folder's .gitignore."""
    path = folder.path / ".gitignore"
    text = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else ""
    if name not in {line.strip().strip("/") for line in text.splitlines()}:
        text += ("\n" if text and not text.endswith("\n") else "") + f"{name}\n"
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        folder.write(path.name, text.encode("utf-8", errors="surrogateescape"))
        path.chmod(mode)


def _report(config: Path, env: Path, moved: Moved) -> Iterator[str]:
    if not moved.keys:
        yield f"{config} holds no literal key; it is unchanged"
    for key in moved.keys:
        yield f"{config}:{key.line}: {_place(key, env)}"
    for number in moved.lines:
        yield f"{config}:{number}: this line still holds what looks like a key; delete it yourself"
    environment = read_environment()
    for name, value in moved.values.items():
        if environment.get(name, value).strip() != value:
            yield f"`{name}` has another value in the environment, which takes precedence over .env"
    if moved.keys:
        yield f"if {config} was ever committed or shared, its keys are known to others: have them replaced"


def _place(key: MovedKey, env: Path) -> str:
    if key.how == "there":
        return f"the key is `{key.name}` in {env}, where it was already"
    if key.how == "renamed":
        return f"the key is `{key.name}` in {env}, because `{key.usual}` holds another key there"
    return f"the key is `{key.name}` in {env}"


def _problems(config: Path, env: Path, registry: Registry) -> tuple[Problem, ...]:
    """The problems that the configuration has besides its keys."""
    try:
        load_config(config, env_file=env, environ=read_environment(), registry=registry)
    except ConfigError as error:
        return tuple(error.problems)
    return ()
