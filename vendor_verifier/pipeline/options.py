"""The options of a run as they are said, once: the flags of the command line and the settings of ``verify``.

The plan is made from them (:mod:`vendor_verifier.pipeline.plan`), and no other form stands between the two.
"""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.
# The evaluations are imported where they are asked for, so that help is quick.

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.findings.gates import PRESETS
from vendor_verifier.records.manifest import BaselineF1, SchemaPolicy, ScoreRequest, Undecided
from vendor_verifier.records.plan import (
    Arrival,
    ClientName,
    Limits,
    LoadShape,
)
from vendor_verifier.wire.payload import parse_json

WHAT = Group("What to ask whom", sort_key=1)
PACE = Group("Pace and patience", sort_key=2)
MODEL = Group("Model settings (over config and samples)", sort_key=3)
JUDGE = Group("Judgement", sort_key=4)
OUTPUT = Group("Output", sort_key=5)
CHOICE = Group("Choice of samples", sort_key=6)
SUITE = Group("Options of evaluations", sort_key=7)
LOAD = Group("Shape of the load", sort_key=8)
CLIENT = Group("Clients, processes and machines", sort_key=9)
SCORE = Group("Fine print of scores", sort_key=10)
RECORDS = Group("What is kept", sort_key=11)

_AT_LEAST_1 = Number(gte=1)
# An endless wait or amount cannot be written into a manifest; a number far too large says the same.
_AT_LEAST_0 = Number(gte=0, lt=inf)
_POSITIVE = Number(gt=0, lt=inf)
_LIMITS = Limits()
_LOAD = LoadShape()
_SCORE = ScoreRequest()


AnswerFormat = Literal["auto", "native", "text"]
BfclVersion = Literal["v3", "v4"]
# Options of evaluations that several of them may take.
_OF_SEVERAL = ("answer_format", "compare_parameters")


def many(help_text: str, group: Group, *names: str) -> Parameter:
    """A repeatable option."""
    return Parameter(
        name=names or None, group=group, help=help_text, negative=(), consume_multiple=False, show_default=False
    )


def flag(help_text: str, group: Group, *names: str) -> Parameter:
    """A switch without a ``--no-`` twin."""
    return Parameter(name=names or None, group=group, help=help_text, negative=(), show_default=False)


def option(help_text: str, group: Group, *names: str, check: Number | None = None) -> Parameter:
    return Parameter(name=names or None, group=group, help=help_text, validator=check)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Everything that can be said of a run, in the words of its flags; None and empty mean not said."""

    test_file_path: Annotated[
        str | None, option("Read samples from this file, hf://… or URL. [default: shipped]", WHAT)
    ] = None
    config_file_path: Annotated[
        Path, option("Read models and vendors from here.", WHAT, "--config-file-path", "-c")
    ] = Path("config.yaml")
    env_file: Annotated[Path | None, option("Read API keys from here. [default: .env beside the config]", WHAT)] = None
    model: Annotated[tuple[str, ...], many("Ask for this model only (repeatable).", WHAT)] = ()
    vendor: Annotated[tuple[str, ...], many("Ask this vendor or label only (repeatable).", WHAT)] = ()
    suite: Annotated[
        tuple[str, ...], many("Run this evaluation (repeatable). [default: trigger]", WHAT, "--suite", "--benchmark")
    ] = ()
    suite_option: Annotated[
        tuple[str, ...], many("Set suite.key=value (repeatable), see docs/evaluations.md.", WHAT)
    ] = ()
    answer_format: Annotated[AnswerFormat | None, option("Ask for native calls or for JSON text.", SUITE)] = None
    compare_parameters: Annotated[bool, flag("tool_correctness: compare arguments, too.", SUITE)] = False
    bfcl_data: Annotated[
        str | None, option("bfcl: read rows from a folder, 'installed' or hf://… [default: shipped]", SUITE)
    ] = None
    bfcl_category: Annotated[
        tuple[str, ...], many("bfcl: ask this category or group (repeatable). [default: ast]", SUITE)
    ] = ()
    bfcl_version: Annotated[
        BfclVersion | None, option("bfcl: reckon Overall Acc as of this version. [default: v3]", SUITE)
    ] = None
    job: Annotated[str | None, option("Run this BFCL job file (JSON).", SUITE)] = None
    dataset_format: Annotated[str | None, option("Read rows in this format. [default: by the first row]", CHOICE)] = (
        None
    )
    limit: Annotated[
        int | None, option("Ask only N samples, of all kinds.", WHAT, "--limit", "-n", "--sample", check=_AT_LEAST_1)
    ] = None
    head: Annotated[bool, flag("With --limit: take the first N.", CHOICE)] = False
    sample_ids: Annotated[str | None, option("Ask only these ids, with commas between.", CHOICE)] = None
    filter_difficulty: Annotated[tuple[str, ...], many("Ask only this difficulty (repeatable).", CHOICE)] = ()
    filter_category: Annotated[tuple[str, ...], many("Ask only categories with this text (repeatable).", CHOICE)] = ()
    filter_tags: Annotated[tuple[str, ...], many("Ask only rows with all of these tags (repeatable).", CHOICE)] = ()
    stratify_by: Annotated[str | None, option("With --limit: keep each category's share.", CHOICE)] = None
    repeat: Annotated[int, option("Ask everything N times.", WHAT, check=_AT_LEAST_1)] = 1
    baseline_repeats: Annotated[
        int,
        option("Ask baselines at least N times.", CHOICE, check=_AT_LEAST_1),
    ] = 2
    seed: Annotated[int | None, option("Order by it; and make new questions of it. [default: 0, random]", CHOICE)] = (
        None
    )
    skip_bad_samples: Annotated[bool, flag("Leave out unreadable lines, and say so.", CHOICE)] = False
    vendor_path: Annotated[tuple[Path, ...], many("Load vendor plugins from this folder (repeatable).", CLIENT)] = ()
    incremental: Annotated[bool, flag("Resume the -o or latest run: only missing or failed.", WHAT)] = False

    vendor_concurrency: Annotated[
        int | None, option("Ask at most N vendors at once. [default: all]", PACE, check=_AT_LEAST_1)
    ] = None
    request_concurrency: Annotated[
        int | None,
        option(
            "Keep at most N requests of an account in flight. [default: 5; at a rate: no cap]", PACE, check=_AT_LEAST_1
        ),
    ] = None
    request_rate: Annotated[
        float | None, option("Send so many requests a second to each vendor.", PACE, check=_POSITIVE)
    ] = None
    arrival: Annotated[Arrival | None, option("Space a rate evenly or at random. [default: constant]", LOAD)] = None
    replay_schedule: Annotated[Path | None, option("Send at the times in this file.", LOAD)] = None
    ramp_up: Annotated[float, option("Let the load grow over so many seconds.", LOAD, check=_AT_LEAST_0)] = (
        _LOAD.ramp_up_s
    )
    warmup: Annotated[int, option("Do not count the first N requests of each vendor.", LOAD, check=_AT_LEAST_0)] = (
        _LOAD.warmup
    )
    duration: Annotated[float | None, option("Ask again and again for so many seconds.", PACE, check=_POSITIVE)] = None
    retries: Annotated[
        int | None, option("Try so often again after a failure. [default: 3]", PACE, check=_AT_LEAST_0)
    ] = None
    timeout: Annotated[
        float | None, option("End an attempt after so many seconds. [default: 600]", PACE, check=_POSITIVE)
    ] = None
    connect_timeout: Annotated[float, option("Wait so many seconds for a connection.", CLIENT, check=_POSITIVE)] = (
        _LIMITS.connect_s
    )
    first_token_timeout: Annotated[
        float, option("Wait so many seconds for the first token.", CLIENT, check=_POSITIVE)
    ] = _LIMITS.first_token_s
    idle_timeout: Annotated[
        float, option("End an answer after so many seconds without data.", CLIENT, check=_POSITIVE)
    ] = _LIMITS.idle_s

    max_requests: Annotated[
        int | None, option("Send no more than N requests, then stop (resumable).", PACE, check=_AT_LEAST_1)
    ] = None
    max_cost: Annotated[
        float | None, option("Stop when about so many US dollars are spent.", PACE, check=_POSITIVE)
    ] = None
    client: Annotated[ClientName, option("Send by our own client or by the official SDKs.", CLIENT)] = "direct"

    workers: Annotated[
        int | str, option("Send from N processes here, or by a Dask scheduler's address or file.", CLIENT)
    ] = 1

    temperature: Annotated[
        float | None, option("Sample at this temperature, 0 to 2.", MODEL, check=Number(gte=0, lte=2))
    ] = None
    max_tokens: Annotated[int | None, option("Allow so many output tokens.", MODEL, check=_AT_LEAST_1)] = None
    extra_body: Annotated[str | None, option("Merge this JSON object into every body.", MODEL)] = None

    use_raw_completions: Annotated[
        bool, flag("Ask raw /completions instead of chat.", MODEL, "--use-raw-completions", "--use_raw_completions")
    ] = False
    tokenizer_model: Annotated[str | None, option("Take the chat template from this folder or hub name.", MODEL)] = None

    undecided: Annotated[Undecided, option("Count a vendor's failure in F1 as a miss, or leave it out.", SCORE)] = (
        _SCORE.undecided
    )
    schema: Annotated[SchemaPolicy, option('Read "" as arguments as {} (lenient) or as invalid (strict).', SCORE)] = (
        _SCORE.schema_policy
    )
    rank_metric: Annotated[tuple[str, ...], many("Let a suite's score join the IRF (repeatable).", SCORE)] = ()

    gate: Annotated[tuple[str, ...], many(f'Fail below: "f1 >= 0.9", or a preset: {", ".join(PRESETS)}.', JUDGE)] = ()
    slo: Annotated[tuple[str, ...], many('Hold each request to an SLO: "tps >= 30" (repeatable).', JUDGE)] = ()
    baseline_f1: Annotated[BaselineF1, option("Rank the baseline's F1 as 1.0, or as measured.", SCORE)] = (
        _SCORE.baseline_f1
    )
    monthly_requests: Annotated[
        int | None, option("Reckon the cost of N requests a month.", SCORE, check=_AT_LEAST_1)
    ] = None
    monthly_tokens: Annotated[int | None, option("Reckon the cost of N tokens a month.", SCORE, check=_AT_LEAST_1)] = (
        None
    )

    output_dir: Annotated[
        Path | None, option("Write the run into this folder. [default: runs/<timestamp>]", OUTPUT, "--output-dir", "-o")
    ] = None
    redact_content: Annotated[bool, flag("Store digests, no prompts and no answers.", RECORDS)] = False
    compress: Annotated[bool, flag("Compress the records at the end of the run (records.jsonl.zst).", RECORDS)] = False

    @property
    def suites(self) -> tuple[str, ...]:
        """The evaluations of the run, each once: those named, else the one that a flag of its own asks for."""
        from vendor_verifier.suites import SUITES, TRIGGER

        meant = (kind.name for kind in SUITES if any(getattr(self, _field(flag)) for flag in kind.flags.values()))
        return tuple(dict.fromkeys(self.suite)) or (next(meant, TRIGGER),)

    def suite_flags(self) -> Iterator[tuple[str, str, Any]]:
        """(flag, option, value) of the given flags that state an option of evaluations."""
        from vendor_verifier.suites import SUITES

        own = [(option, flag) for kind in SUITES for option, flag in kind.flags.items()]
        several = [(name, "--" + name.replace("_", "-")) for name in _OF_SEVERAL]
        for option, flag in [*several, *own]:
            value = getattr(self, _field(flag))
            if value not in (None, False, ()):
                yield flag, option, ",".join(value) if isinstance(value, tuple) else value

    def out_of_range(self) -> Iterator[Problem]:
        """The numbers outside of the range that their flag has, which a program may have set without the flag."""
        for each in fields(self):
            value = getattr(self, each.name)
            for check in get_args(each.type)[1].validator:
                try:
                    check(each.type, value)
                except ValueError as error:
                    yield Problem(f"read {value}; {_in_words(str(error))}", key="--" + each.name.replace("_", "-"))

    def overrides(self) -> dict[str, Any]:
        """The model's settings that go before those of the config and the samples.

        Raises:
            ProblemsError: ``--extra-body`` is not a JSON object.
        """
        body = None if self.extra_body is None else _json_object(self.extra_body)
        said = {"temperature": self.temperature, "max_tokens": self.max_tokens, "extra_body": body}
        return {name: value for name, value in said.items() if value is not None}


def _in_words(complaint: str) -> str:
    """``must be > 0``, from the checker's ``Must be > 0.``"""
    return complaint[:1].lower() + complaint[1:].removesuffix(".")


def check_ranges(options: RunOptions) -> None:
    """Refuse numbers that no run can be made with.

    Raises:
        ProblemsError: all of them at once.
    """
    if problems := list(options.out_of_range()):
        raise ProblemsError(problems)


def _field(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise ProblemsError([Problem(f"not JSON ({error}); write an object in quotes", key="--extra-body")]) from None
    if not isinstance(value, dict):
        raise ProblemsError([Problem(f"read {text[:40]!r}, expected a JSON object", key="--extra-body")])
    return value
