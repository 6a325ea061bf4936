"""The options of a run as they are said, once: the flags of the command line and the settings of ``verify``.

The plan is made from them (:mod:`vendor_verifier.pipeline.plan`), and no other form stands between the two.
"""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.
# The evaluations are imported where they are asked for, so that help is quick.

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.gates.thresholds import PRESETS
from vendor_verifier.values.manifest import BaselineF1, SchemaPolicy, ScoreRequest, Undecided
from vendor_verifier.values.plan import (
    Arrival,
    ClientName,
    ExecutorChoice,
    ExecutorName,
    Limits,
    LoadShape,
    TransportName,
    WorkersWish,
)
from vendor_verifier.wire.payload import parse_json
from vendor_verifier.words import Language

WHAT = Group("What to ask whom", sort_key=1)
PACE = Group("Pace and patience", sort_key=2)
MODEL = Group("Model settings (over config and samples)", sort_key=3)
JUDGE = Group("Judgement", sort_key=4)
OUTPUT = Group("Output", sort_key=5)

_AT_LEAST_1 = Number(gte=1)
_AT_LEAST_2 = Number(gte=2)
_AT_LEAST_0 = Number(gte=0)
_POSITIVE = Number(gt=0)
_LIMITS = Limits()
_EXECUTOR = ExecutorChoice()
_LOAD = LoadShape()
_SCORE = ScoreRequest()


_OF_LOAD = ("request_rate", "arrival", "replay_schedule", "ramp_up", "warmup", "cooldown", "duration")
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

    test_file_path: Annotated[Path | None, option("Samples, JSONL or .gz. [default: shipped]", WHAT)] = None
    config_file_path: Annotated[Path, option("Models and vendors.", WHAT)] = Path("config.yaml")
    env_file: Annotated[Path | None, option("API keys. [default: .env beside the config]", WHAT)] = None
    model: Annotated[tuple[str, ...], many("Only this model (repeatable).", WHAT)] = ()
    vendor: Annotated[tuple[str, ...], many("Only this vendor or label (repeatable).", WHAT)] = ()
    suite: Annotated[tuple[str, ...], many("Evaluation (repeatable). [default: trigger]", WHAT)] = ()
    suite_option: Annotated[tuple[str, ...], many("suite.key=value (repeatable); see docs/evaluations.md.", WHAT)] = ()
    answer_format: Annotated[Literal["auto", "native", "text"] | None, option("Native calls or JSON text.", WHAT)] = (
        None
    )
    compare_parameters: Annotated[bool, flag("tool_correctness: arguments count too.", WHAT)] = False
    bfcl_data: Annotated[str | None, option("A folder, 'installed' or hf://… [default: shipped]", WHAT)] = None
    bfcl_category: Annotated[tuple[str, ...], many("Category or group (repeatable). [default: ast]", WHAT)] = ()
    bfcl_version: Annotated[Literal["v3", "v4"] | None, option("Of its Overall Acc. [default: v3]", WHAT)] = None
    dataset_format: Annotated[str | None, option("Row format. [default: by the first row]", WHAT)] = None
    limit: Annotated[int | None, option("Only N samples, of all kinds.", WHAT, "--limit", "-n", check=_AT_LEAST_1)] = (
        None
    )
    head: Annotated[bool, flag("With --limit: the first N.", WHAT)] = False
    limit_per_category: Annotated[int | None, option("bfcl: only N rows of each.", WHAT, check=_AT_LEAST_1)] = None
    identity_probes: Annotated[
        int | None, option("identity: so many questions. [default: 60]", WHAT, check=_AT_LEAST_2)
    ] = None
    identity_samples: Annotated[int | None, option("Each N times. [default: 20]", WHAT, check=_AT_LEAST_2)] = None
    sample_ids: Annotated[str | None, option("Only these ids, with commas.", WHAT)] = None
    filter_difficulty: Annotated[tuple[str, ...], many("Only this difficulty (repeatable).", WHAT)] = ()
    filter_category: Annotated[tuple[str, ...], many("Only categories with this text (repeatable).", WHAT)] = ()
    filter_tags: Annotated[tuple[str, ...], many("Only with all of these tags (repeatable).", WHAT)] = ()
    stratify_by: Annotated[str | None, option("With --limit: keep each category's share.", WHAT)] = None
    repeat: Annotated[int, option("Ask everything N times.", WHAT, check=_AT_LEAST_1)] = 1
    baseline_repeats: Annotated[
        int,
        option("Ask baselines at least N times.", WHAT, check=_AT_LEAST_1),
    ] = 2
    seed: Annotated[int | None, option("Order, identity questions. [default: 0, random]", WHAT)] = None
    skip_bad_samples: Annotated[bool, flag("Leave out unreadable lines, and say so.", WHAT)] = False
    vendor_path: Annotated[tuple[Path, ...], many("Folder with vendor plugins (repeatable).", WHAT)] = ()
    incremental: Annotated[bool, flag("Resume the -o or latest run: only missing or failed.", WHAT)] = False

    vendor_concurrency: Annotated[
        int | None, option("Vendors in flight at once. [default: all]", PACE, check=_AT_LEAST_1)
    ] = None
    request_concurrency: Annotated[
        int | None, option("Requests in flight per account. [default: 5; at a rate: no cap]", PACE, check=_AT_LEAST_1)
    ] = None
    request_rate: Annotated[
        float | None, option("Instead: so many requests a second to each vendor.", PACE, check=_POSITIVE)
    ] = None
    arrival: Annotated[Arrival | None, option("Of a rate: evenly, or at random. [default: constant]", PACE)] = None
    replay_schedule: Annotated[Path | None, option("Instead: at the times in this file.", PACE)] = None
    ramp_up: Annotated[float, option("Seconds over which the load grows.", PACE, check=_AT_LEAST_0)] = _LOAD.ramp_up_s
    warmup: Annotated[int, option("First N requests per vendor, not counted.", PACE, check=_AT_LEAST_0)] = _LOAD.warmup
    cooldown: Annotated[int, option("Up to N more after the last that counts.", PACE, check=_AT_LEAST_0)] = (
        _LOAD.cooldown
    )
    duration: Annotated[float | None, option("Ask again and again for so many seconds.", PACE, check=_POSITIVE)] = None
    retries: Annotated[
        int | None, option("Further attempts after a failure. [default: 3]", PACE, check=_AT_LEAST_0)
    ] = None
    timeout: Annotated[float | None, option("Seconds, a whole attempt. [default: 600]", PACE, check=_POSITIVE)] = None
    connect_timeout: Annotated[float, option("Seconds to connect.", PACE, check=_POSITIVE)] = _LIMITS.connect_s
    first_token_timeout: Annotated[float, option("Seconds to the first token.", PACE, check=_POSITIVE)] = (
        _LIMITS.first_token_s
    )
    idle_timeout: Annotated[float, option("Seconds without data in an answer.", PACE, check=_POSITIVE)] = _LIMITS.idle_s

    max_requests: Annotated[
        int | None, option("Send no more than N requests, then stop (resumable).", PACE, check=_AT_LEAST_1)
    ] = None
    max_cost: Annotated[
        float | None, option("Stop when about so many US dollars are spent.", PACE, check=_POSITIVE)
    ] = None
    client: Annotated[ClientName, option("Our own client, or the official SDKs.", PACE)] = "direct"
    transport: Annotated[TransportName, option("HTTP client to send with.", PACE)] = "fast"
    no_calibration: Annotated[bool, flag("Skip the second that measures our own error.", PACE)] = False

    workers: Annotated[WorkersWish, option("Processes here: N, or auto by load and cores.", PACE)] = _EXECUTOR.workers
    executor: Annotated[ExecutorName, option("Send from here, or over a Dask cluster.", PACE)] = _EXECUTOR.name
    dask_scheduler: Annotated[str | None, option("Dask scheduler, tls://HOST:PORT.", PACE)] = None
    dask_local: Annotated[int | None, option("N Dask worker processes here instead.", PACE, check=_AT_LEAST_1)] = None
    dask_hang_after: Annotated[float, option("Seconds a worker may be silent.", PACE, check=Number(gte=3))] = (
        _EXECUTOR.hang_after_s
    )
    insecure_cluster: Annotated[bool, flag("Allow a cluster without TLS off this machine.", PACE)] = False

    temperature: Annotated[float | None, option("Sampling temperature, 0 to 2.", MODEL, check=Number(gte=0, lte=2))] = (
        None
    )
    max_tokens: Annotated[int | None, option("Output tokens at the most.", MODEL, check=_AT_LEAST_1)] = None
    extra_body: Annotated[str | None, option("JSON object merged into every body.", MODEL)] = None

    use_raw_completions: Annotated[
        bool, flag("Ask raw /completions.", MODEL, "--use-raw-completions", "--use_raw_completions")
    ] = False
    tokenizer_model: Annotated[str | None, option("Folder or hub name of the chat template.", MODEL)] = None

    undecided: Annotated[Undecided, option("A vendor's failure in F1: a miss, or left out.", JUDGE)] = _SCORE.undecided
    schema: Annotated[SchemaPolicy, option('"" as arguments: lenient {}, strict invalid.', JUDGE)] = (
        _SCORE.schema_policy
    )
    rank_metric: Annotated[tuple[str, ...], many("A suite's score joins the IRF (repeatable).", JUDGE)] = ()

    gate: Annotated[tuple[str, ...], many(f'"f1 >= 0.9", or a preset: {", ".join(PRESETS)}.', JUDGE)] = ()
    slo: Annotated[tuple[str, ...], many('SLO of each request: "tps >= 30" (repeatable).', JUDGE)] = ()
    baseline_f1: Annotated[BaselineF1, option("Baseline's F1 in the ranking: 1.0, or measured.", JUDGE)] = (
        _SCORE.baseline_f1
    )
    monthly_requests: Annotated[int | None, option("Cost of N requests a month.", JUDGE, check=_AT_LEAST_1)] = None
    monthly_tokens: Annotated[int | None, option("Or of N tokens a month.", JUDGE, check=_AT_LEAST_1)] = None

    output_dir: Annotated[
        Path | None, option("Run folder. [default: runs/<timestamp>]", OUTPUT, "--output-dir", "-o")
    ] = None
    redact_content: Annotated[bool, flag("Store digests, no prompts and no answers.", OUTPUT)] = False
    lang: Annotated[Language, option("Language of the reports.", OUTPUT)] = "en"

    @property
    def suites(self) -> tuple[str, ...]:
        """The evaluations of the run, each once: those named, else the one that a flag of its own asks for."""
        from vendor_verifier.suites import SUITES, TRIGGER

        meant = (kind.name for kind in SUITES if any(getattr(self, _field(flag)) for flag in kind.flags.values()))
        return tuple(dict.fromkeys(self.suite)) or (next(meant, TRIGGER),)

    @property
    def shapes_load(self) -> bool:
        """Whether any flag of the load's shape is given."""
        return any(getattr(self, name) for name in _OF_LOAD)

    def suite_flags(self) -> Iterator[tuple[str, str, Any]]:
        """(flag, option, value) of the given flags that state an option of evaluations."""
        from vendor_verifier.suites import SUITES

        own = [(option, flag) for kind in SUITES for option, flag in kind.flags.items()]
        several = [(name, "--" + name.replace("_", "-")) for name in _OF_SEVERAL]
        for option, flag in [*several, *own]:
            value = getattr(self, _field(flag))
            if value not in (None, False, ()):
                yield flag, option, ",".join(value) if isinstance(value, tuple) else value

    def overrides(self) -> dict[str, Any]:
        """The model's settings that go before those of the config and the samples.

        Raises:
            ProblemsError: ``--extra-body`` is not a JSON object.
        """
        body = None if self.extra_body is None else _json_object(self.extra_body)
        said = {"temperature": self.temperature, "max_tokens": self.max_tokens, "extra_body": body}
        return {name: value for name, value in said.items() if value is not None}


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
