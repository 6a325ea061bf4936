"""Other options of judging for the evaluations of a stored run: its answers are there, so nothing is asked again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from vendor_verifier.config.problems import listed
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.config.suite_options import build_suite, known_suite, stated_options
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
    flags = list(options.suite_flags())
    if not flags and not options.set:
        return manifest
    if manifest.redacted:
        words = "stored with `redact_content`, so no answer is there to be judged otherwise; leave the option out"
        raise ProblemsError([Problem(words, folder.manifest_file)])
    strange = [word for word in options.set if "." in word and word.partition(".")[0] not in manifest.suites]
    if strange:
        words = f"the run holds answers of {listed(manifest.suites)}"
        raise ProblemsError([Problem(f"read {word!r}; {words}", key="--set") for word in strange])
    stored = {task.suite: task.options for task in manifest.tasks}
    stated, _ = stated_options(manifest.suites, stored, options.set, flags)
    problems = [
        problem
        for task in manifest.tasks
        for problem in _asked_otherwise(task, stated[task.suite].own, stated[task.suite].typed, folder)
    ]
    if problems:
        raise ProblemsError(problems)
    tasks = [structs.replace(task, options=dict(stated[task.suite].own)) for task in manifest.tasks]
    warnings = list(manifest.warnings)
    for task in manifest.tasks:
        hooks, samples = hooks_of(known_suite(task.suite)), folder.read_samples(task.suite)
        before, after = (
            list(hooks.notes(ready_suite(task.suite, options, samples, folder), samples))
            for options in (task.options, stated[task.suite].own)
        )
        warnings = [*(words for words in warnings if words not in before), *after]
    return structs.replace(manifest, tasks=tasks, warnings=warnings)


def _asked_otherwise(
    task: StoredTask, own: Mapping[str, Any], typed: frozenset[str], folder: RunFolder
) -> Iterator[Problem]:
    """A problem for each option that was typed and decides what is asked, as some words for reading an answer do."""
    kind = known_suite(task.suite)
    for name in sorted(typed):
        if name in own and own[name] == task.options.get(name):
            continue
        options = {key: value for key, value in task.options.items() if key != name}
        options |= {name: own[name]} if name in own else {}
        if name in kind.judges_by and _asks_alike(kind, task.options, options, folder):
            continue
        words = f"{kind.name} has no option of judging; leave it out"
        if kind.judges_by:
            judges = listed(kind.judges_by)
            words = f"decides what is asked, and a stored run is not asked again; {kind.name} is judged by {judges}"
        yield Problem(words, key=f"suites.{kind.name}.{name}")


def _asks_alike(kind: SuiteKind, before: Mapping[str, Any], after: Mapping[str, Any], folder: RunFolder) -> bool:
    """Whether the evaluation puts the first of its questions in the same words with either options."""
    samples = folder.read_samples(kind.name)
    if not len(samples):
        return True
    plays = [build_suite(kind, options).play(samples[0]) for options in (before, after)]
    return next(plays[0], None) == next(plays[1], None)
