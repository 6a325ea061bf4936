"""Other options of judging for the evaluations of a stored run: its answers are there, so nothing is asked again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vendor_verifier.config.problems import listed
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import Flag, build_suite, known_suite, stated_options
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.pipeline.suites import hooks_of, ready_suite
from vendor_verifier.records.manifest import Manifest, StoredTask
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import SuiteKind


def rejudged(manifest: Manifest, folder: RunFolder, options: RunOptions) -> Manifest:
    """The manifest with the options of evaluations that ``options`` state; unchanged where they state none.

    Raises:
        ProblemsError: options that are invalid, of no evaluation of the run, or that decide what is asked.
    """
    flags = [Flag(flag, option, value) for flag, option, value in options.suite_flags()]
    if not flags and not options.set:
        return manifest
    if manifest.redacted:
        words = "stored with `redact_content`, so no answer is there to be judged otherwise; leave the option out"
        raise ProblemsError([Problem(words, folder.manifest_file)])
    _require_suites(manifest.suites, options.set)
    stored = {task.suite: task.options for task in manifest.tasks}
    stated, _ = stated_options(manifest.suites, stored, options.set, flags)
    problems = [
        problem
        for task in manifest.tasks
        for problem in _asked_otherwise(task, stated[task.suite].own, stated[task.suite].typed, folder)
    ]
    if problems:
        raise ProblemsError(problems)
    tasks = [
        {**raw, "options": dict(stated[task.suite].own)}
        for raw, task in zip(manifest.raw["tasks"], manifest.tasks, strict=True)
    ]
    warnings = list(manifest.warnings)
    for task in manifest.tasks:
        hooks, samples = hooks_of(known_suite(task.suite)), folder.read_samples(task.suite)
        before, after = (
            list(hooks.notes(ready_suite(task.suite, options, samples, folder), samples))
            for options in (task.options, stated[task.suite].own)
        )
        warnings = [*(words for words in warnings if words not in before), *after]
    return manifest.changed(tasks=tasks, warnings=warnings)


def _require_suites(suites: Sequence[str], words: Sequence[str]) -> None:
    strange = [word for word in words if "." in word and word.partition(".")[0] not in suites]
    if strange:
        raise ProblemsError(
            [Problem(f"read {word!r}; the run holds answers of {listed(suites)}", key="--set") for word in strange]
        )


def _asked_otherwise(
    task: StoredTask, own: Mapping[str, Any], typed: frozenset[str], folder: RunFolder
) -> Iterator[Problem]:
    """A problem for each option that was typed and decides what is asked."""
    kind = known_suite(task.suite)
    changed = sorted(name for name in typed if name not in own or own[name] != task.options.get(name))
    yield from (_asks(kind, name) for name in changed if name not in kind.judges_by)
    judging = [name for name in changed if name in kind.judges_by]
    if not _asks_alike(kind, task.options, own, folder):
        # Some words for reading an answer are also words for asking.
        as_stored = {name: _with(own, name, task.options) for name in judging}
        yield from (_asks(kind, name) for name in judging if _asks_alike(kind, task.options, as_stored[name], folder))


def _with(own: Mapping[str, Any], name: str, stored: Mapping[str, Any]) -> dict[str, Any]:
    """The options ``own``, except that one is as it is stored."""
    others = {key: value for key, value in own.items() if key != name}
    return {**others, name: stored[name]} if name in stored else others


def _asks(kind: SuiteKind, option: str) -> Problem:
    words = (
        f"decides what is asked, and a stored run is not asked again; {kind.name} is judged by {listed(kind.judges_by)}"
    )
    if not kind.judges_by:
        words = f"{kind.name} has no option of judging; leave it out"
    return Problem(words, key=f"suites.{kind.name}.{option}")


def _asks_alike(kind: SuiteKind, before: Mapping[str, Any], after: Mapping[str, Any], folder: RunFolder) -> bool:
    """Whether the evaluation puts the first of its questions in the same words with either options."""
    samples = folder.read_samples(kind.name)
    if not len(samples):
        return True
    plays = [build_suite(kind, options).play(samples[0]) for options in (before, after)]
    return next(plays[0], None) == next(plays[1], None)
