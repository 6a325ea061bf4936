"""Which samples of a data set take part: filters, limits, and what is said when the choice lacks something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from vendor_verifier.compare.trials import TRIGGER
from vendor_verifier.config.findings import listed, nearest
from vendor_verifier.config.suite_options import TaskOptions
from vendor_verifier.errors import DataError, Problem, ProblemsError
from vendor_verifier.loaders.selection import select, unmatched, words_there_are
from vendor_verifier.loaders.strata import classes_of
from vendor_verifier.pipeline.datasets import Dataset
from vendor_verifier.pipeline.request import Selection
from vendor_verifier.values.plan import Task
from vendor_verifier.values.sample import Sample

# By field of a selection, the flag of the run and the option of a suite that fill it.
_FILTERS = {
    "ids": "sample_ids",
    "difficulty": "filter_difficulty",
    "category": "filter_category",
    "tags": "filter_tags",
}
_MOST_LISTED = 60


def chosen_samples(dataset: Dataset, own: TaskOptions, asked: Selection) -> Sequence[Sample]:
    """The samples that the suite's own options and then the run's let through.

    Raises:
        DataError: none is left.
    """
    samples: Sequence[Sample] = dataset.samples
    for selection in (_own_selection(own, asked), asked):
        samples = select(samples, **asdict(selection))
    if not samples:
        words = f"none of its {len(dataset.samples)} samples passes all the filters together; leave some out"
        raise DataError([Problem(words, Path(dataset.name))])
    return samples


def check_choices(datasets: Mapping[str, Dataset], own: Mapping[str, TaskOptions], asked: Selection) -> None:
    """Refuse what would choose nothing or something else than was meant, and say what there is to choose from.

    Raises:
        ProblemsError: words that fit no sample, a share or a head of no limit.
    """
    every = [dataset.samples for dataset in datasets.values()]
    flags = {name: "--" + option.replace("_", "-") for name, option in _FILTERS.items()}
    problems = [
        *_limitless(asked, asked.limit, "--limit N", "--head", "--stratify-by", own),
        *_misspelt(asked, every, flags),
    ]
    for suite, options in own.items():
        keys = {name: f"suites.{suite}.{option}" for name, option in _FILTERS.items()}
        selection = _own_selection(options, Selection())
        size, head, share = (f"suites.{suite}.{name}" for name in ("sample_size", "head", "stratify_by"))
        problems += _limitless(selection, options.sample_size, size, head, share)
        problems += _misspelt(selection, [datasets[suite].samples], keys)
    if problems:
        raise ProblemsError(problems)


def missing_classes(tasks: Sequence[Task], datasets: Mapping[str, Dataset]) -> Iterator[str]:
    """A warning for each evaluation whose chosen samples all should, or all should not, be answered with a call.

    Of data sets that hold but one class only the evaluation that compares when calls are made is warned of.
    """
    for task in tasks:
        whole = datasets[task.suite]
        chosen = whole.classes if len(task.samples) == len(whole.samples) else classes_of(task.samples)
        if chosen not in ({True}, {False}):
            continue
        (only,) = chosen
        if task.suite == TRIGGER or (not only) in whole.classes:
            mistake = "false" if only else "missed"
            cure = "choose more or others" if (not only) in whole.classes else "the file holds no others"
            yield (
                f"{task.suite}: each of the {len(task.samples)} chosen samples {'should' if only else 'should not'} be "
                f"answered with a tool call, so {mistake} calls cannot show; {cure}"
            )


def _own_selection(options: TaskOptions, asked: Selection) -> Selection:
    """The choice that a suite's own options make; the run's wish for the head holds for its limit, too."""
    return Selection(
        ids=options.sample_ids,
        difficulty=options.filter_difficulty,
        category=options.filter_category,
        tags=options.filter_tags,
        stratify_by=options.stratify_by,
        limit=options.sample_size,
        head=options.head or (asked.head and options.stratify_by is None),
    )


def _limitless(
    selection: Selection,
    limit: int | None,
    limit_key: str,
    head_key: str,
    share_key: str,
    own: Mapping[str, TaskOptions] | None = None,
) -> Iterator[Problem]:
    sizes = [options.sample_size for options in (own or {}).values() if options.sample_size is not None]
    if selection.head and limit is None and not sizes:
        yield Problem(f"says which samples of a limit; add {limit_key}, or leave it out", key=head_key)
    if selection.stratify_by is not None and limit is None:
        yield Problem(f"shares a limit among the values of a tag; add {limit_key}, or leave it out", key=share_key)
    if selection.head and selection.stratify_by is not None:
        yield Problem(f"takes the first samples, {share_key} a share of each value; leave out one", key=head_key)


def _misspelt(selection: Selection, sets: Sequence[Sequence[Sample]], keys: Mapping[str, str]) -> Iterator[Problem]:
    for option, key in keys.items():
        for word in unmatched(chain.from_iterable(sets), option, getattr(selection, option)):
            there = words_there_are(chain.from_iterable(sets), option)
            yield Problem(f"read {word!r}, which fits no sample{nearest(word, there)}; {_there_is(there)}", key=key)


def _there_is(words: Sequence[str]) -> str:
    if not words:
        return "the samples have no such tag"
    more = len(words) - _MOST_LISTED
    return f"there is {listed(words[:_MOST_LISTED])}" + (f" and {more} more" if more > 0 else "")
