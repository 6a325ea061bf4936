"""The published job file of ``bfcl``: its tasks, its data and its parameters. Every key is read or refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from vendor_verifier.config.yaml_tree import SourceError, line_of, parse
from vendor_verifier.errors import ConfigError, Problem, UsageError
from vendor_verifier.suites.bfcl.categories import expand
from vendor_verifier.wire.payload import parse_json

_Count = Annotated[int, Field(ge=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class JobData(_Part):
    """The rows of a task: a folder in the native layout, custom rows, or an address."""

    files_url: str = Field(min_length=1)
    format: Literal["native"] = "native"


class TaskParams(_Part):
    """``limit_samples``: the first rows of the task."""

    limit_samples: _Count | None = None


class JobParams(TaskParams):
    """``parallelism``: requests in flight."""

    parallelism: _Count | None = None


class JobTask(_Part):
    """One task: ``type`` is a category or a group."""

    type: str
    dataset: JobData | None = None
    params: TaskParams = TaskParams()

    @field_validator("type")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            expand([name])
        except UsageError as error:
            raise ValueError(str(error)) from None
        return name


class Job(_Part):
    """A whole job. ``limit_samples`` of ``params`` applies to each task without its own."""

    type: Literal["bfcl", "bfclv3", "bfclv3_ast", "bfclv2", "bfclv2_ast"]
    tasks: dict[str, JobTask] = Field(min_length=1)
    name: str | None = None
    namespace: str | None = None
    params: JobParams = JobParams()


def read_job(fields: Mapping[str, Any]) -> Job:
    """The job of a parsed job file.

    Raises:
        ConfigError: every problem of it, together.
    """
    try:
        return Job.model_validate(fields)
    except ValidationError as error:
        raise ConfigError([_problem(each) for each in error.errors(include_url=False)]) from None


def _problem(found: Any) -> Problem:
    key, words = ".".join(map(str, found["loc"])), found["msg"].removeprefix("Value error, ")
    if found["type"] == "extra_forbidden":
        words = "unknown key; API keys belong into .env" if "key" in key else "unknown key; leave it out"
    elif found["type"] != "missing":
        words = f"read {found['input']!r:.100}; {words[:1].lower()}{words[1:]}"
    return Problem(words, key=key)


def read_job_file(path: Path) -> Job:
    """The job of a file.

    Raises:
        ConfigError: it cannot be read, or what it asks for cannot be meant; with the lines.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return read_job(parse_json(text))
    except ConfigError as error:
        try:
            root = parse(text)[0]
        except SourceError:  # JSON that is no YAML
            root = None
        problems = []
        for each in error.problems:
            line = line_of(root, tuple((each.key or "").split("."))) if root else None
            problems.append(Problem(each.message, path, line, each.key))
        raise ConfigError(problems) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError([Problem(f"cannot be read: {reason}", path)]) from None
