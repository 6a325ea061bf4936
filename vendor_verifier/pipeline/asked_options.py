"""What the flags of a run say to its evaluations, laid over what the configuration says; it reads no samples."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from vendor_verifier.config import Configuration
from vendor_verifier.config.problems import listed
from vendor_verifier.config.suite_options import Flag, StatedOptions, known_suite, stated_options
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.pipeline.request import RunRequest
from vendor_verifier.suites import SUITES, compares


def asked_options(request: RunRequest, configuration: Configuration) -> StatedOptions:
    """The options of every evaluation of the run.

    Raises:
        ProblemsError: all that cannot be meant or would be heard by none of them.
    """
    suites = tuple(dict.fromkeys(request.suites))
    for name in suites:
        known_suite(name)
    return stated_options(
        suites,
        configuration.suites,
        request.suite_options,
        _flags(request, suites),
        file=request.config_file,
        lines=configuration.suite_lines,
    )


def _flags(request: RunRequest, suites: Collection[str]) -> Iterator[Flag]:
    for option, value in request.shared_options.items():
        yield Flag(_flag_of(option), option, value)
    if request.test_file is not None:
        reader = _reader(suites, request.suite_options)
        yield Flag("--test-file-path", "test_file_path", str(request.test_file), (reader,))
    if request.dataset_format is not None:
        yield Flag("--dataset-format", "dataset_format", request.dataset_format)
    # These have a use of their own, and replace what the config says to one evaluation.
    if request.states_timeout:
        yield Flag("--timeout", "timeout_seconds", None)
    if request.selection.limit is not None:
        yield Flag("--limit", "sample_size", None, may_idle=True)


def _flag_of(option: str) -> str:
    own = (kind.flags[option] for kind in SUITES if option in kind.flags)
    return next(own, f"--{option.replace('_', '-')}")


def _reader(suites: Collection[str], words: Collection[str]) -> str:
    """The evaluation that a file of samples for the whole run is meant for.

    Raises:
        ProblemsError: none reads one, or nobody can tell which of several.
    """
    named = [name for name in suites if any(word.startswith(f"{name}.test_file_path=") for word in words)]
    able = [name for name in suites if not callable(known_suite(name).dataset)]
    left = [name for name in able if name not in named] or able
    usual = [name for name in left if compares(name)] or left
    if len(usual) == 1:
        return usual[0]
    if not left:
        words_ = f"the questions of {listed(suites)} are built in and take no file; leave it out"
    else:
        ways = " or ".join(f"--suite-option {name}.test_file_path=FILE" for name in left)
        words_ = f"{listed(left)} each read rows of their own; say whose they are with {ways}"
    raise ProblemsError([Problem(words_, key="--test-file-path")])
