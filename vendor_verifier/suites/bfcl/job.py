"""The evaluation's job file, read from its JSON object; what it asks for is carried out elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vendor_verifier.errors import ConfigError, Problem, UsageError
from vendor_verifier.suites.bfcl.categories import expand

_TYPES = ("bfcl", "bfclv3", "bfclv3_ast", "bfclv2", "bfclv2_ast")
_FORMATS = ("native", "openai", "custom")


@dataclass(frozen=True, slots=True)
class Task:
    """One task: categories (v4 names), and the data it names if it is not the leaderboard's own."""

    name: str
    categories: tuple[str, ...]
    data_format: str | None = None
    files: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A whole job. ``limit_samples`` applies to each task; ``parallelism`` is requests in flight."""

    tasks: tuple[Task, ...]
    name: str | None = None
    namespace: str | None = None
    limit_samples: int | None = None
    parallelism: int | None = None


def read_job(fields: Mapping[str, Any]) -> Job:
    """The job of a parsed job file.

    Raises:
        ConfigError: every problem of it, together.
    """
    problems: list[Problem] = []
    if fields.get("type") not in _TYPES:
        problems.append(Problem(f"read {fields.get('type')!r}, expected one of {', '.join(_TYPES)}", key="type"))
    params = fields.get("params")
    params = params if isinstance(params, dict) else {}
    counts = {name: _count(params.get(name), f"params.{name}", problems) for name in ("limit_samples", "parallelism")}
    tasks = fields.get("tasks")
    if not isinstance(tasks, dict) or not tasks:
        problems.append(Problem("expected an object with at least one task", key="tasks"))
        tasks = {}
    read = [_task(name, task, problems) for name, task in tasks.items()]
    if problems:
        raise ConfigError(problems)
    return Job(tuple(task for task in read if task), fields.get("name"), fields.get("namespace"), **counts)


def _task(name: str, task: object, problems: list[Problem]) -> Task | None:
    if not isinstance(task, dict) or not isinstance(task.get("type"), str):
        problems.append(Problem("expected an object with a type", key=f"tasks.{name}"))
        return None
    try:
        categories = expand([task["type"]])
    except UsageError as error:
        problems.append(Problem(str(error), key=f"tasks.{name}.type"))
        return None
    dataset = task.get("dataset")
    if not isinstance(dataset, dict):
        return Task(name, categories)
    data_format, files = dataset.get("format", "native"), dataset.get("files_url") or dataset.get("path")
    if data_format not in _FORMATS:
        problems.append(Problem(f"expected one of {', '.join(_FORMATS)}", key=f"tasks.{name}.dataset.format"))
    if not isinstance(files, str):
        problems.append(Problem("expected the address of the files", key=f"tasks.{name}.dataset.files_url"))
        return None
    return Task(name, categories, str(data_format), files)


def _count(value: object, key: str, problems: list[Problem]) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        problems.append(Problem(f"read {value!r}, expected a whole number from 1", key=key))
        return None
    return value
