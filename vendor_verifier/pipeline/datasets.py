"""The samples of an evaluation: which file they come from and how it is read; which take part is chosen elsewhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vendor_verifier.config.suite_options import TaskOptions
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.loaders.strata import expects_call
from vendor_verifier.pipeline.converting import load_dataset
from vendor_verifier.pipeline.request import RunRequest
from vendor_verifier.sample_files import file_digest
from vendor_verifier.shelf import Shelf
from vendor_verifier.shipped import shipped
from vendor_verifier.suites import SuiteKind
from vendor_verifier.suites.schema import DialectCount
from vendor_verifier.suites.trigger import KeptCheckers
from vendor_verifier.values.sample import Sample


@dataclass(frozen=True, slots=True)
class Dataset:
    """A sample file as read: its name (no path), digest, samples, and what is wrong with it.

    ``classes`` tells whether calls are expected of its samples (:func:`vendor_verifier.loaders.strata.expects_call`).
    ``job`` is what a job file calls itself, ``not_run`` are, by task of it, categories that were asked for and cannot
    run, each with the reason. ``notices`` are those of the ``defects`` that hold of the whole file.
    """

    name: str
    sha256: str
    samples: Sequence[Sample]
    skipped: tuple[str, ...]
    defects: tuple[str, ...]
    not_run: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    classes: frozenset[bool | None] = frozenset()
    job: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def suite_dataset(kind: SuiteKind, options: TaskOptions, request: RunRequest) -> Dataset:
    """The file of the suite's options, else the shipped one."""
    if callable(kind.dataset):
        return _built_in(kind.name, kind.dataset(), options)
    assert kind.dataset is not None
    path = shipped(kind.dataset) if options.test_file_path is None else Path(options.test_file_path)
    shelf, defects, checkers, dialects = Shelf(), list[str](), KeptCheckers(), DialectCount()
    classes: set[bool | None] = set()

    def keep(sample: Sample) -> None:
        shelf.append(sample)
        classes.add(expects_call(sample))
        defects.extend(_defects(sample, checkers))
        dialects.add(checkers(sample))

    loaded = load_dataset(path, format=options.dataset_format, skip_bad=request.skip_bad_samples, keep=keep)
    notices = tuple(dialects.notice())
    return Dataset(
        name=path.name,
        sha256=file_digest(path),
        samples=shelf,
        skipped=tuple(str(replace(problem, file=Path(path.name))) for problem in loaded.skipped),
        defects=(*loaded.defects, *defects, *notices),
        classes=frozenset(classes),
        notices=notices,
    )


def _built_in(suite: str, samples: tuple[Sample, ...], options: TaskOptions) -> Dataset:
    """Samples that no file replaces."""
    if options.test_file_path is not None:
        words = f"read {options.test_file_path!r}; the questions of {suite} are built in and take no file"
        raise ProblemsError([Problem(words, key=f"suites.{suite}.test_file_path")])
    said = [[sample.id, list(sample.turn.messages), dict(sample.turn.parameters)] for sample in samples]
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    return Dataset(f"{suite} (built in)", digest, samples, (), ())


def sample_defects(samples: Iterable[Sample]) -> list[str]:
    """What is wrong with the samples themselves, each with the line it stands on."""
    checkers, dialects, defects = KeptCheckers(), DialectCount(), list[str]()
    for sample in samples:
        defects += _defects(sample, checkers)
        dialects.add(checkers(sample))
    return [*defects, *dialects.notice()]


def _defects(sample: Sample, checkers: KeptCheckers) -> Iterator[str]:
    where = f"line {sample.source.line}" if sample.source else sample.id
    return (f"{where}: {defect}" for defect in checkers(sample).defects)
