"""The published job file of ``bfcl``, read: its tasks, its data and its parameters; it opens no file.

Every key is read or refused by name: one that did nothing would change what was measured without a word.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vendor_verifier.errors import ConfigError, Problem, UsageError
from vendor_verifier.suites.bfcl.categories import expand

# The later names of the evaluation type; upstream's versions differ in what `all` holds.
_TYPES = ("bfcl", "bfclv3", "bfclv3_ast", "bfclv2", "bfclv2_ast")
_KEYS = ("type", "name", "namespace", "params", "tasks")
_Rule = tuple[type | tuple[type, ...], Callable[[Any], bool], str]
_FROM_1: _Rule = (int, lambda count: count >= 1, "a whole number from 1")
_PARAMS: Mapping[str, _Rule] = {
    "limit_samples": _FROM_1,
    "parallelism": _FROM_1,
    "max_tokens": _FROM_1,
    "max_retries": (int, lambda count: count >= 0, "a whole number from 0"),
    "temperature": ((int, float), lambda value: 0 <= value <= 2, "a number from 0 to 2"),
    "top_p": ((int, float), lambda value: 0 < value <= 1, "a number above 0, at most 1"),
    "request_timeout": ((int, float), lambda seconds: 0 < seconds < float("inf"), "seconds, above 0"),
}


@dataclass(frozen=True, slots=True)
class JobTask:
    """One task: categories (v4 names), the address of its rows if they are not the leaderboard's, its own limit."""

    name: str
    categories: tuple[str, ...]
    files: str | None = None
    limit_samples: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A whole job. ``params`` are those that it states, by name."""

    tasks: tuple[JobTask, ...]
    identity: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)


def read_job(fields: Mapping[str, Any]) -> Job:
    """The job of a parsed job file.

    Raises:
        ConfigError: every problem of it, together.
    """
    problems = _unknown(fields, _KEYS, "")
    if fields.get("type") not in _TYPES:
        problems.append(Problem(f"read {fields.get('type')!r}, expected one of {', '.join(_TYPES)}", key="type"))
    identity = {key: fields[key] for key in ("name", "namespace") if fields.get(key) is not None}
    problems += [
        Problem(f"read {value!r}, expected text", key=key) for key, value in identity.items() if type(value) is not str
    ]
    params = _params(fields.get("params"), "params", _PARAMS, problems)
    tasks = fields.get("tasks")
    if not isinstance(tasks, dict) or not tasks:
        problems.append(Problem("expected an object with at least one task", key="tasks"))
        tasks = {}
    read = [_task(name, task, problems) for name, task in tasks.items()]
    if problems:
        raise ConfigError(problems)
    return Job(tuple(task for task in read if task), identity, params)


def _task(name: str, task: object, problems: list[Problem]) -> JobTask | None:
    where = f"tasks.{name}"
    if not isinstance(task, dict) or not isinstance(task.get("type"), str):
        problems.append(Problem("expected an object with a type", key=where))
        return None
    problems += _unknown(task, ("type", "params", "dataset"), f"{where}.")
    limits = _params(task.get("params"), f"{where}.params", ("limit_samples",), problems)
    try:
        found = JobTask(name, expand([task["type"]]), **limits)
    except UsageError as error:
        problems.append(Problem(str(error), key=f"{where}.type"))
        return None
    if "dataset" not in task:
        return found
    dataset, where = task["dataset"], f"{where}.dataset"
    if not isinstance(dataset, dict):
        problems.append(Problem(f"read {dataset!r}, expected an object with a files_url", key=where))
        return None
    problems += _unknown(dataset, ("format", "files_url"), f"{where}.")
    if dataset.get("format", "native") != "native":
        problems.append(Problem(f"read {dataset['format']!r}, expected native", key=f"{where}.format"))
    files = dataset.get("files_url")
    if not isinstance(files, str) or not files:
        problems.append(Problem("expected the address of the files", key=f"{where}.files_url"))
        return None
    return replace(found, files=files)


def _unknown(fields: Mapping[str, Any], known: Collection[str], where: str) -> list[Problem]:
    problems = []
    for key in fields:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(known)}"
            if "key" in str(key):
                hint = "API keys belong into .env, because a job file is kept with the results"
            problems.append(Problem(f"unknown key; {hint}", key=f"{where}{key}"))
    return problems


def _params(value: object, where: str, known: Collection[str], problems: list[Problem]) -> dict[str, Any]:
    """The parameters that are set; one that is unknown or out of bounds is a problem."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.append(Problem(f"read {value!r}, expected an object", key=where))
        return {}
    problems += _unknown(value, known, f"{where}.")
    found = {}
    for name, stated in value.items():
        if stated is None or name not in known:
            continue
        kind, fits, expected = _PARAMS[name]
        if isinstance(stated, bool) or not isinstance(stated, kind) or not fits(stated):
            problems.append(Problem(f"read {stated!r}, expected {expected}", key=f"{where}.{name}"))
        else:
            found[name] = stated
    return found
