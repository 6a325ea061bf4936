"""Reads and selects the samples of an evaluation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from vendor_verifier.config.document import listed, nearest
from vendor_verifier.config.run_config import RunOptions, one_or_many
from vendor_verifier.config.suite_options import SuiteOptions, TaskOptions
from vendor_verifier.errors import DataError, Problem, ProblemsError
from vendor_verifier.loaders import read_dataset_file
from vendor_verifier.loaders.base import MAX_ARRAY_BYTES, LoadedSamples
from vendor_verifier.loaders.selection import classes_of, select, unmatched
from vendor_verifier.pipeline.places import place_of
from vendor_verifier.records.sample import Sample
from vendor_verifier.resources import shipped
from vendor_verifier.sample_store import file_digest, open_lines
from vendor_verifier.suites import SuiteKind
from vendor_verifier.suites.schema import checker_of


def load_dataset(path: Path, *, format: str | None = None, skip_bad: bool = False) -> LoadedSamples:
    """Read a data set, plain or packed, JSON lines or one JSON array.

    Raises:
        UsageError: there is no such format.
        DataError: missing, unreadable, or not usable as a data set.
    """
    # An array may be a single line; the reader of JSON lines has its own, smaller limit.
    lines = open_lines(path, max_line=MAX_ARRAY_BYTES)
    return read_dataset_file(lines, dataset=path.name, file=path, format=format, skip_bad=skip_bad)


class Dataset(msgspec.Struct, frozen=True):
    """A sample file as read: its name (no path), digest, samples, and defects.

    ``source`` is the address that it was downloaded from, with its commit or digest; None for a file of this disk.
    ``job`` is the name in a job file; ``not_run`` are, by its tasks, requested categories that cannot run, each with
    the reason, which ``warnings`` repeat.
    """

    name: str
    sha256: str
    samples: Sequence[Sample]
    skipped: tuple[str, ...] = ()
    defects: tuple[str, ...] = ()
    not_run: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    job: Mapping[str, Any] = msgspec.field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    source: str | None = None


# What MCPToolBench++'s page calls easy and hard, whatever a row of it says.
_DIFFICULTIES = {"single": "easy", "multi": "hard"}


def suite_dataset(own: SuiteOptions, *, skip_bad: bool) -> Dataset:
    """The file of the suite's options, else the shipped one."""
    kind, options = own.kind, own.chosen
    if callable(kind.dataset):
        return built_in_dataset(own, kind.dataset())
    assert kind.dataset is not None
    place = place_of(shipped(kind.dataset) if options.test_file_path is None else options.test_file_path)
    path = place.path
    if options.test_file_path is not None and not path.exists():
        raise DataError(
            [Problem("there is no such file; leave --test-file-path out to take the shipped samples", path)]
        )
    loaded = load_dataset(path, format=options.dataset_format, skip_bad=skip_bad)
    samples = loaded.samples
    if kind.by_call_type:
        samples = tuple(map(_with_difficulty, samples))
    # Of the shipped files it is tested that they have no defects.
    defects = [] if options.test_file_path is None else sample_defects(samples)
    return Dataset(
        name=path.name,
        sha256=file_digest(path),
        samples=samples,
        skipped=tuple(str(replace(problem, file=Path(path.name))) for problem in loaded.skipped),
        defects=(*loaded.defects, *defects),
        warnings=place.notices,
        source=place.address,
    )


def _with_difficulty(sample: Sample) -> Sample:
    difficulty = _DIFFICULTIES.get(str(sample.tags.get("call_type")))
    if difficulty is None or "difficulty" not in sample.tags:
        return sample
    return structs.replace(sample, tags={**sample.tags, "difficulty": difficulty})


def built_in_dataset(own: SuiteOptions, samples: tuple[Sample, ...]) -> Dataset:
    """The data set of samples that are built in and have no file."""
    contents = [[sample.id, list(sample.turn.messages), dict(sample.turn.parameters)] for sample in samples]
    digest = hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()
    return Dataset(f"{own.kind.name} (built in)", digest, samples)


def sample_defects(samples: Iterable[Sample]) -> list[str]:
    """Defects of the samples themselves, each with its line in the file."""
    defects: list[str] = []
    for sample in samples:
        where = f"line {sample.source.line}" if sample.source else sample.id
        defects += [f"{where}: {defect}" for defect in checker_of(sample.turn.tools).defects]
    return defects


# By filter, the option of a run and of a suite that states it.
_FILTERS = {
    "ids": "sample_ids",
    "difficulty": "filter_difficulty",
    "category": "filter_category",
    "tags": "filter_tags",
}
_MOST_LISTED, _MOST_IDS = 60, 5


def chosen_samples(own: SuiteOptions, dataset: Dataset, options: RunOptions) -> Sequence[Sample]:
    """The samples that match the suite's own options and then the run's, whose limit built-in ones do not take."""
    samples: Sequence[Sample] = dataset.samples
    run_limit = None if own.kind.is_built_in else options.limit
    head = own.chosen.head or options.head
    for stated, limit, is_head in ((own.chosen, own.chosen.sample_size, head), (options, run_limit, options.head)):
        samples = select(samples, **_filters(stated), limit=limit, head=is_head, by_call_type=own.kind.by_call_type)
    if not samples:
        words = f"none of its {len(dataset.samples)} samples passes all filters together; remove some"
        raise DataError([Problem(words, Path(dataset.name))])
    return samples


def check_choices(sets: Sequence[tuple[SuiteOptions, Dataset]], options: RunOptions) -> list[str]:
    """Refuse selections that match no sample, naming the possible choices.

    A value of a filter that fits no sample next to one that fits is a warning; these are returned.
    """
    warnings: list[str] = []
    problems: list[Problem] = []
    selections: list[tuple[RunOptions | TaskOptions, Sequence[tuple[SuiteOptions, Dataset]], SuiteOptions | None]]
    selections = [(options, sets, None)]
    selections += [(own.chosen, [(own, dataset)], own) for own, dataset in sets]
    for stated, meant, of_suite in selections:
        rows = [(dataset.samples, own.kind.by_call_type) for own, dataset in meant]
        for name, words in _filters(stated).items():
            left, there = unmatched(rows, name, words)
            option = _FILTERS[name]
            most = _MOST_IDS if name == "ids" else _MOST_LISTED
            more = f" and {len(there) - most} more" if len(there) > most else ""
            choices = f"known are {listed(there[:most])}{more}" if there else "the samples have no such tag"
            for word in left:
                reason = f"read {word!r}, which matches no sample{nearest(word, there)}; {choices}"
                flag = Problem(reason, key="--" + option.replace("_", "-"))
                problem = of_suite.problem(option, reason) if of_suite else flag
                # Tags must all fit, so one that fits nothing leaves no sample.
                if name == "tags" or len(left) == len(set(words)):
                    problems.append(problem)
                else:
                    warnings.append(str(problem))
    if problems:
        raise ProblemsError(problems)
    return warnings


def missing_class(kind: SuiteKind, samples: Sequence[Sample], whole: Dataset) -> Iterator[str]:
    """A warning where all chosen samples should, or all should not, be answered with a call.

    A data set that has only one class is warned of only in the evaluation that compares triggering.
    """
    chosen = classes_of(samples)
    if chosen not in ({True}, {False}):
        return
    (only,) = chosen
    has_other = (not only) in classes_of(whole.samples)
    if kind.compares or has_other:
        expected, hidden = ("a tool call", "extra") if only else ("no tool call", "missed")
        advice = "Choose more or other samples." if has_other else "The file holds no others."
        yield (
            f"{kind.name}: every one of the {len(samples)} samples expects {expected}, so {hidden} calls cannot be "
            f"seen. {advice}"
        )


def _filters(stated: RunOptions | TaskOptions) -> dict[str, Sequence[str]]:
    """The words of each filter; ids may be one text with commas between."""
    found = {name: getattr(stated, option) or () for name, option in _FILTERS.items()}
    return {name: one_or_many(words) for name, words in found.items()}
