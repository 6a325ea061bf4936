"""The reading of a BFCL job file and its effect on a run's settings.

The command line counts more than the job, and the job more than the configuration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vendor_verifier.config.problems import key_text
from vendor_verifier.config.yaml_tree import Node, Scalar, SourceError, Table, line_of, parse
from vendor_verifier.config.yaml_tree import Path as KeyPath
from vendor_verifier.errors import ConfigError, Problem
from vendor_verifier.pipeline.options import RunOptions
from vendor_verifier.suites.bfcl.job_file import Job, read_job
from vendor_verifier.values.plan import Entry
from vendor_verifier.wire.payload import parse_json


def read_job_file(path: Path) -> Job:
    """The job of a file.

    Raises:
        ConfigError: it cannot be read, or what it asks for cannot be meant; with the lines.
    """
    try:
        text = path.read_text(encoding="utf-8")
        fields = parse_json(text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError([Problem(f"cannot be read: {reason}", path)]) from None
    if not isinstance(fields, dict):
        raise ConfigError([Problem("expected a JSON object", path)])
    try:
        return read_job(fields)
    except ConfigError as error:
        lines = _lines(text)
        raise ConfigError(
            [replace(problem, file=path, line=_line(lines, problem.key)) for problem in error.problems]
        ) from None


def with_job(options: RunOptions, job: Job) -> RunOptions:
    """The options with the job's concurrency, timeout and retries, where no others are stated."""
    brought: dict[str, Any] = {
        "request_concurrency": job.parallelism,
        "timeout": job.request_timeout,
        "retries": job.max_retries,
    }
    unsaid = {name: value for name, value in brought.items() if value is not None and getattr(options, name) is None}
    return replace(options, **unsaid)


def with_job_settings(entries: Sequence[Entry], job: Job, overrides: Mapping[str, Any]) -> tuple[Entry, ...]:
    """The entries with the sampling settings of the job, except those of the command line (``overrides``)."""
    typed = {**overrides, **overrides.get("extra_body", {})}
    wanted = {"temperature": job.temperature, "max_tokens": job.max_tokens, "top_p": job.top_p}
    stated = {name: value for name, value in wanted.items() if value is not None and name not in typed}
    return tuple(_with_settings(entry, stated) for entry in entries) if stated else tuple(entries)


def job_identity(job: Job) -> dict[str, Any]:
    """The name and namespace of a job, as far as it states them, for the manifest."""
    return {name: value for name, value in (("name", job.name), ("namespace", job.namespace)) if value is not None}


def _with_settings(entry: Entry, stated: Mapping[str, Any]) -> Entry:
    """The entry with the job's settings; top_p goes into ``extra_body``, as no wire has a setting of its own for it."""
    parameters = {name: value for name, value in stated.items() if name != "top_p"}
    body = {name: value for name, value in entry.endpoint.body.items() if name not in parameters}
    body |= {name: value for name, value in stated.items() if name == "top_p"}
    return replace(entry, parameters={**entry.parameters, **parameters}, endpoint=replace(entry.endpoint, body=body))


def _lines(text: str) -> Mapping[str, int]:
    """The line of each key, by the name that messages give it; empty where JSON does not parse as YAML."""
    try:
        root, _ = parse(text)
    except SourceError:
        return {}
    return {} if root is None else {key_text(path): line_of(root, path) for path in _paths(root)}


def _paths(node: Node, path: KeyPath = ()) -> Iterator[KeyPath]:
    if path:
        yield path
    if isinstance(node, Scalar):
        return
    children = node.items.items() if isinstance(node, Table) else enumerate(node.items)
    for step, child in children:
        yield from _paths(child, (*path, step))


def _line(lines: Mapping[str, int], key: str | None) -> int | None:
    """The line of a key, or of the nearest one above it that is in the file."""
    while key:
        if key in lines:
            return lines[key]
        key = key.rpartition(".")[0]
    return None
