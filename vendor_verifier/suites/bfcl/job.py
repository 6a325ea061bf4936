"""The published job file of ``bfcl``, read: its tasks, its data and its parameters; it opens no file.

Every key is read or refused by name: one that did nothing would change what was measured without a word. A job asks for
calls natively or, as the types ``bfclv2``, ``bfclv3`` and ``…_prompting`` do of themselves, in the text of the answer.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from vendor_verifier.errors import ConfigError, Problem, UsageError
from vendor_verifier.suites.bfcl.categories import AGENTIC, MULTI_TURN, SENSITIVITY, SINGLE_TURN, UNSCORED, expand
from vendor_verifier.suites.bfcl.executable import KEY_NAMES

# By type of a job, the categories that version of the leaderboard has not (``None``: all but these are left out).
_LEFT_OUT: Mapping[str, Collection[str]] = MappingProxyType(
    {"bfcl": (), "bfclv3": (*AGENTIC, SENSITIVITY), "bfclv2": (*AGENTIC, SENSITIVITY, *MULTI_TURN)}
)
_AST_ONLY, _PROMPTING = "_ast", "_prompting"
# By type of a job, whether it asks for native calls where it does not say; the page's own type leaves it open.
_NATIVE: Mapping[str, bool | None] = MappingProxyType(
    {
        "bfcl": None,
        "bfclv3": False, "bfclv3_ast": True, "bfclv3_ast_prompting": False,
        "bfclv2": False, "bfclv2_ast": True, "bfclv2_ast_prompting": False,
    }
)  # fmt: skip
_FORMATS = ("native", "openai", "custom")
_KEYS = ("type", "name", "namespace", "params", "tasks")
_TASK_KEYS = ("type", "params", "dataset")
_DATASET_KEYS = ("format", "files_url", "path")
_TASK_PARAMS = ("limit_samples",)


@dataclass(frozen=True, slots=True)
class Task:
    """One task: categories (v4 names), the data it names if it is not the leaderboard's own, and its own limit.

    ``kind`` is its type as the job spells it, ``files_key`` the key that names its data.
    """

    name: str
    categories: tuple[str, ...]
    data_format: str | None = None
    files: str | None = None
    limit_samples: int | None = None
    kind: str = ""
    files_key: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A whole job. ``limit_samples`` applies to each task without its own; ``parallelism`` is requests in flight,
    ``request_timeout`` seconds of a whole attempt, ``max_retries`` further attempts after a failure.
    ``native_calling``: calls are asked for natively, or in the text of the answer; None where it does not say."""

    tasks: tuple[Task, ...]
    name: str | None = None
    namespace: str | None = None
    limit_samples: int | None = None
    parallelism: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    request_timeout: float | None = None
    max_retries: int | None = None
    native_calling: bool | None = None


def read_job(fields: Mapping[str, Any]) -> Job:
    """The job of a parsed job file.

    Raises:
        ConfigError: every problem of it, together.
    """
    problems = [*_unknown(fields, _KEYS, "")]
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in _NATIVE:
        problems.append(Problem(f"read {kind!r}, expected one of {', '.join(_NATIVE)}", key="type"))
        kind = "bfcl"
    name, namespace = (_text(fields.get(key), key, problems) for key in ("name", "namespace"))
    params = _params(fields.get("params"), "params", _PARAMS, problems)
    tasks = fields.get("tasks")
    if not isinstance(tasks, dict) or not tasks:
        problems.append(Problem("expected an object with at least one task", key="tasks"))
        tasks = {}
    path, form = params.pop("extra.custom_dataset.path", None), params.pop("extra.custom_dataset.format", None)
    shared = None if path is None and form is None else {"path": path, "format": form}
    read = [_task(name, task, kind, problems, shared) for name, task in tasks.items()]
    if problems:
        raise ConfigError(problems)
    native = params.pop("extra.native_calling", _NATIVE[kind])
    return Job(tuple(task for task in read if task), name, namespace, native_calling=native, **params)


_SHARED_KEY = "params.extra.custom_dataset"


def _task(name: str, task: object, kind: str, problems: list[Problem], shared: Mapping[str, Any] | None) -> Task | None:
    """One task; ``shared`` is the data of the whole job, for tasks without their own."""
    where = f"tasks.{name}"
    if not isinstance(task, dict) or not isinstance(task.get("type"), str):
        problems.append(Problem("expected an object with a type", key=where))
        return None
    problems += _unknown(task, _TASK_KEYS, f"{where}.")
    limits = _params(task.get("params"), f"{where}.params", _TASK_PARAMS, problems)
    try:
        categories = _of_version(expand([task["type"]]), kind)
    except UsageError as error:
        problems.append(Problem(str(error), key=f"{where}.type"))
        return None
    dataset, place = task.get("dataset", shared), f"{where}.dataset" if "dataset" in task else _SHARED_KEY
    found = Task(name, categories, kind=task["type"], **limits)
    return found if dataset is None else _with_data(found, dataset, place, problems)


def _with_data(task: Task, dataset: object, place: str, problems: list[Problem]) -> Task | None:
    """The task with the data that the job names at ``place``."""
    if not isinstance(dataset, dict):
        problems.append(Problem(f"read {dataset!r}, expected an object with a files_url", key=place))
        return None
    problems += _unknown(dataset, _DATASET_KEYS, f"{place}.")
    data_format, files = dataset.get("format"), dataset.get("files_url", dataset.get("path"))
    key = f"{place}.{'path' if 'path' in dataset else 'files_url'}"
    if data_format is not None and data_format not in _FORMATS:
        problems.append(Problem(f"read {data_format!r}, expected one of {', '.join(_FORMATS)}", key=f"{place}.format"))
    if "files_url" in dataset and "path" in dataset:
        problems.append(Problem("the same as files_url, which is there too; keep one", key=f"{place}.path"))
    if not isinstance(files, str) or not files:
        problems.append(Problem("expected the address of the files", key=key))
        return None
    return replace(task, data_format=data_format, files=files, files_key=key)


def _of_version(categories: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """Those of the categories that the job's type has.

    Raises:
        UsageError: none of them.
    """
    version = kind.removesuffix(_PROMPTING)
    only_ast = version.endswith(_AST_ONLY)
    left_out = _LEFT_OUT[version.removesuffix(_AST_ONLY)]
    of_ast = (*SINGLE_TURN, *MULTI_TURN, *UNSCORED)
    kept = tuple(name for name in categories if name not in left_out and (not only_ast or name in of_ast))
    if not kept:
        raise UsageError(f"a job of the type {kind} has none of {', '.join(categories)}; make it of the type bfcl")
    return kept


def _unknown(fields: Mapping[str, Any], known: Collection[str], where: str) -> Iterator[Problem]:
    for key in fields:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            yield Problem(f"nothing reads this key; {hint}", key=f"{where}{key}")


def _params(value: object, where: str, known: Collection[str], problems: list[Problem]) -> dict[str, Any]:
    """The parameters that are set; what is unknown or out of bounds is a problem."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.append(Problem(f"read {value!r}, expected an object", key=where))
        return {}
    fields = dict(_flat(value))
    problems += (
        Problem(_REFUSED[key], key=f"{where}.{key}") for key, each in fields.items() if key in _REFUSED and each
    )
    problems += _unknown({key: each for key, each in fields.items() if key not in _REFUSED}, known, f"{where}.")
    found = {}
    for name in known:
        stated = fields.get(name)
        if stated is None:
            continue
        kind, fits, expected = _PARAMS[name]
        if isinstance(stated, bool) != (kind is bool) or not isinstance(stated, kind) or not fits(stated):
            problems.append(Problem(f"read {stated!r}, expected {expected}", key=f"{where}.{name}"))
        else:
            found[name] = stated
    return found


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The parameters, those of ``extra`` and of ``extra.custom_dataset`` by their whole names."""
    for key, each in value.items():
        name = f"{before}{key}"
        if name in ("extra", "extra.custom_dataset") and isinstance(each, dict):
            yield from _flat(each, f"{name}.")
        else:
            yield name, each


def _text(value: object, key: str, problems: list[Problem]) -> str | None:
    if value is None or isinstance(value, str):
        return value
    problems.append(Problem(f"read {value!r}, expected text", key=key))
    return None


_Rule = tuple[type | tuple[type, ...], Callable[[Any], bool], str]
_FROM_1: _Rule = (int, lambda count: count >= 1, "a whole number from 1")
_PARAMS: Mapping[str, _Rule] = MappingProxyType(
    {
        "limit_samples": _FROM_1,
        "parallelism": _FROM_1,
        "max_tokens": _FROM_1,
        "max_retries": (int, lambda count: count >= 0, "a whole number from 0"),
        "temperature": ((int, float), lambda value: 0 <= value <= 2, "a number from 0 to 2"),
        "top_p": ((int, float), lambda value: 0 < value <= 1, "a number above 0, at most 1"),
        "request_timeout": ((int, float), lambda seconds: 0 < seconds < float("inf"), "seconds, above 0"),
        "extra.native_calling": (bool, lambda _value: True, "true or false"),
        "extra.custom_dataset.path": (str, bool, "the path of the files"),
        "extra.custom_dataset.format": (str, lambda name: name in _FORMATS, f"one of {', '.join(_FORMATS)}"),
    }
)
_NO_KEYS = "a key has no place in a job file, which is kept with the results; put {} into .env"
_REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "extra.custom_dataset.data_template_path": "templates are not read; write the rows in one of the forms of "
        "docs/bfcl.md, and leave this out",
        "task": "the tasks say which categories; leave it out",
        **{f"extra.{name.lower()}": _NO_KEYS.format(name) for name in KEY_NAMES},
    }
)
