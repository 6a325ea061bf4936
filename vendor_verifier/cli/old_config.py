"""``init --from``: moves the literal keys of a config.yaml to .env, or writes ours from a configuration of mcpbr.

What could be lost is written before anything is replaced: .gitignore, the backup, .env, and the configuration last.
"""

from __future__ import annotations

import os
from pathlib import Path

from vendor_verifier.cli.init import IGNORED, config_text, offers_of, write_first_files
from vendor_verifier.cli.output import EXIT_OK, EXIT_USAGE, say
from vendor_verifier.config import old_files
from vendor_verifier.config.env_file import read_limited
from vendor_verifier.config.load import load_config, read_environment
from vendor_verifier.config.old_files import Moved, MovedKey, NotMovable, move_keys
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.yaml_source import SourceError, read_yaml
from vendor_verifier.errors import ConfigError, Problem, StorageError, UsageError
from vendor_verifier.registry import Registry, find_vendors
from vendor_verifier.reports.escape import plain
from vendor_verifier.store import FILE_MODE, NO_LINK, RunFolder

_BOM = b"\xef\xbb\xbf"


def convert(config: Path, env_file: Path | None, *, dry_run: bool) -> int:
    """Convert ``config`` and return the exit code: 2 while the result has problems, which are named.

    Keys go to ``env_file`` (default: .env next to the config); the file is changed at its keys only, a backup is kept,
    and no key is printed.

    Raises:
        ConfigError: a file cannot be read, or its keys cannot be moved.
        StorageError: the disk refused.
    """
    # Links are followed: the file that is meant is changed, not the link replaced.
    config = config.resolve()
    env = (env_file or config.parent / ".env").resolve()
    registry = find_vendors(())
    text, held = _read(config), _read(env) if env.exists() else ""
    try:
        content = read_yaml(text).content
        if isinstance(content, dict) and old_files.is_of_mcpbr(content):
            return _from_mcpbr(config, content, dry_run=dry_run)
        moved = move_keys(text, held, lambda name: registry.vendor(name).key_name or name)
    except SourceError as error:
        raise ConfigError([Problem(error.message, config, error.line)]) from None
    except NotMovable:
        message = "its keys cannot be moved without changing more than them; write `NAME=<the key>` in .env yourself"
        raise ConfigError([Problem(message, config)]) from None
    if moved.keys and not dry_run:
        backup = _backup(config)
        _ignore(env)
        RunFolder(env.parent).write(env.name, moved.env)
        changed, mode = moved.config.encode(), config.stat().st_mode & 0o777
        has_mark = config.read_bytes().startswith(_BOM)
        RunFolder(config.parent).write(config.name, _BOM + changed if has_mark else changed)
        config.chmod(mode)
        say(f"{backup} is the file as it was, with its keys; git ignores it. Delete it when everything works.")
    _say_moved(config, env, moved)
    if dry_run:
        say("dry run: nothing was written")
        return EXIT_OK
    problems = _problems(config, env, registry)
    for problem in problems:
        say(plain(f"still to fix: {problem}"))
    say("next: `agent-vendor-verifier doctor`, then `agent-vendor-verifier --dry-run`")
    return EXIT_USAGE if problems else EXIT_OK


def _from_mcpbr(source: Path, content: dict[str, object], *, dry_run: bool) -> int:
    """Write config.yaml next to a configuration of mcpbr, in place of it if that is its name."""
    model, target = old_files.known_model(content), source.with_name("config.yaml")
    chosen = offers_of([model] if model else [])
    for words in old_files.left_out(content):
        say(plain(words))
    if model is None:
        say("it names no model that we know, so the simulated vendors are in; put yours in their place:")
        say("each needs a model_id, and a url unless `agent-vendor-verifier init --list` lists it")
    suites = old_files.suites_section(content)
    if dry_run:
        say(f"dry run: nothing was written; {target} would be\n\n{config_text(chosen, suites)}")
        return EXIT_OK
    if target == source:
        say(f"{_backup(source)} is the file as it was; git ignores it")
        source.unlink()
    elif target.exists():
        raise UsageError(f"{target} exists; move it away first, and run this again")
    folder = Path(os.path.relpath(target.parent))
    write_first_files(folder, chosen, suites, f" --suite {old_files.suite_of(content)}")
    return EXIT_OK


def _read(path: Path) -> str:
    try:
        return read_limited(path)
    except FileNotFoundError:
        raise ConfigError([Problem("no such file", path)]) from None
    except OSError as error:
        raise ConfigError([Problem(f"cannot be read: {error.strerror}", path)]) from None
    except SourceError as error:
        raise ConfigError([Problem(error.message, path, error.line)]) from None


def _backup(config: Path) -> Path:
    """Copy a file that may hold keys to a name that is free and that git ignores, and return it."""
    names = (config.with_name(f"{config.name}.backup{number or ''}") for number in range(1000))
    backup = next(name for name in names if not name.exists() and not name.is_symlink())
    _ignore(backup)
    try:
        descriptor = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, FILE_MODE)
        with os.fdopen(descriptor, "wb") as out:
            out.write(config.read_bytes())
            out.flush()
            os.fsync(descriptor)
    except OSError as error:
        raise StorageError(f"cannot write {backup}: {error.strerror}; nothing was changed") from None
    return backup


def _ignore(file: Path) -> None:
    """Add a file to the .gitignore of its folder, which is created with what ``init`` puts there."""
    path = file.with_name(".gitignore")
    text = path.read_text(encoding="utf-8", errors="surrogateescape") if path.exists() else IGNORED
    if file.name not in {line.strip().strip("/") for line in text.splitlines()}:
        text += ("\n" if text and not text.endswith("\n") else "") + f"{file.name}\n"
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        RunFolder(path.parent).write(path.name, text.encode("utf-8", errors="surrogateescape"))
        path.chmod(mode)


def _say_moved(config: Path, env: Path, moved: Moved) -> None:
    lines = [f"{config}:{key.line}: the key is `{key.name}` in {env}{_reason(key)}" for key in moved.keys]
    lines = lines or [f"{config} holds no literal key; it is unchanged"]
    lines += [f"{config}:{number}: this line still holds what looks like a key; delete it" for number in moved.lines]
    environment = read_environment()
    others = [name for name, value in moved.values.items() if environment.get(name, value).strip() != value]
    lines += [f"`{name}` has another value in the environment, which takes precedence over .env" for name in others]
    if moved.keys:
        lines.append(f"if {config} was ever committed or shared, replace its keys: others may have them")
    for line in lines:
        say(plain(line))


def _reason(key: MovedKey) -> str:
    reasons = {"there": ", where it was already", "renamed": f", because `{key.usual}` holds another key there"}
    return reasons.get(key.how, "")


def _problems(config: Path, env: Path, registry: Registry) -> tuple[Problem, ...]:
    """The problems that the configuration has besides its keys."""
    try:
        load_config(RunOptions(config_file_path=config, env_file=env), read_environment(), registry=registry)
    except ConfigError as error:
        return tuple(error.problems)
    return ()
