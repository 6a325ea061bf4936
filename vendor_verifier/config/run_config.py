"""The settings of a run, each written once: a key of `run:` in config.yaml, a flag of ``run``, an argument of
``verify``, a line of the reference and of the schema for editors."""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

from collections.abc import Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_origin

from cyclopts import Group, Parameter, Token
from cyclopts.validators import Number
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from vendor_verifier.config.problems import misfit
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.findings.gates import PRESETS
from vendor_verifier.records.manifest import BaselineF1, SchemaPolicy, Undecided
from vendor_verifier.records.plan import Arrival, ClientName, Limits
from vendor_verifier.wire.payload import parse_json

AnswerFormat = Literal["auto", "native", "text"]


INPUT = Group("Samples and vendors", sort_key=1)
PACE = Group("Concurrency, retries and timeouts", sort_key=2)
LOAD = Group("Load", sort_key=3)
MODEL = Group("Model settings", sort_key=4)
OUTPUT = Group("Output", sort_key=5)
EVALUATIONS = Group("Evaluations", sort_key=6)


def many(help_text: str, group: Group, *names: str) -> Parameter:
    """A repeatable option."""
    return Parameter(
        name=names or None, group=group, help=help_text, negative=(), consume_multiple=False, show_default=False
    )


def flag(help_text: str, group: Group, *names: str) -> Parameter:
    """A switch without a ``--no-`` twin."""
    return Parameter(name=names or None, group=group, help=help_text, negative=(), show_default=False)


def option(help_text: str, group: Group, *names: str, check: Number | None = None) -> Parameter:
    """An option with a value."""
    return Parameter(name=names or None, group=group, help=help_text, validator=check)


# The help of a setting's flag is the description of its field.
def _option(group: Group, *names: str) -> Parameter:
    return Parameter(name=names or None, group=group)


def _flag(group: Group, *names: str) -> Parameter:
    return Parameter(name=names or None, group=group, negative=(), show_default=False)


def _many(group: Group, *names: str) -> Parameter:
    return Parameter(name=names or None, group=group, negative=(), consume_multiple=False, show_default=False)


# A setting of the file that has no flag.
_IN_FILE = Parameter(parse=False)
_LIMITS = Limits()
# The manifest has these with its entries and tasks; an address may hold a key in its query.
KEPT_ELSEWHERE = frozenset({"extra_body", "test_file_path", "bfcl_data"})
# Options of evaluations that several of them may take.
_OF_SEVERAL = ("answer_format", "compare_parameters")


def _number_of_processes(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _as_text(value: Any) -> Any:
    return fspath(value) if isinstance(value, PathLike) else value


def _json_object(value: Any) -> Any:
    """What a text holds; on the command line an object is written as JSON."""
    if not isinstance(value, str):
        return value
    try:
        found = parse_json(value)
    except ValueError as error:
        raise ValueError(f"not JSON ({error}); write an object in quotes") from None
    if not isinstance(found, dict):
        raise ValueError(f"read {value[:40]!r}; expected a JSON object")
    return found


def _text(_kind: Any, tokens: Sequence[Token]) -> str:
    return tokens[0].value


# Not read by cyclopts, which would take its keys for options.
_BODY = Parameter(group=MODEL, converter=_text, accepts_keys=False, n_tokens=1)


class RunConfig(BaseModel):
    """The settings of a run. A flag goes before `run:` in the file, which goes before the default."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=False)

    test_file_path: Annotated[str | None, BeforeValidator(_as_text), _option(INPUT)] = Field(
        default=None, description="Sample file, hf://… or URL. [default: shipped]"
    )
    model: Annotated[tuple[str, ...], _many(INPUT)] = Field(
        default=(), description="Test this model only (repeatable)."
    )
    vendor: Annotated[tuple[str, ...], _many(INPUT)] = Field(
        default=(), description="Test this vendor or label only (repeatable)."
    )
    baseline: Annotated[str | None, _option(INPUT)] = Field(
        default=None, description="Vendor or label to compare the others with. [default: as configured]"
    )
    suite: Annotated[tuple[str, ...], _many(INPUT, "--suite", "--benchmark")] = Field(
        default=(), description="Evaluation to run (repeatable). [default: trigger]"
    )
    set: Annotated[tuple[str, ...], _many(INPUT)] = Field(
        default=(),
        description="Option of an evaluation, suite.key=value, or of the run, run.key=value (repeatable).",
    )
    job: Annotated[str | None, _option(INPUT)] = Field(default=None, description="BFCL job file (JSON) to run.")
    limit: Annotated[int | None, _option(INPUT, "--limit", "-n", "--sample-size", "--sample")] = Field(
        default=None, ge=1, description="Use only N samples, drawn evenly from all categories."
    )
    head: Annotated[bool, _IN_FILE] = Field(default=False, description="With `limit`: take the first N.")
    repeat: Annotated[int, _option(INPUT)] = Field(default=1, ge=1, description="Ask every sample N times.")
    baseline_repeats: Annotated[int, _option(INPUT)] = Field(
        default=2, ge=1, description="Ask the baseline every sample at least N times."
    )
    seed: Annotated[int | None, _option(INPUT)] = Field(
        default=None, description="Random seed for sample order and generated questions."
    )
    dataset_format: Annotated[str | None, _IN_FILE] = Field(
        default=None, description="Format of the rows. [default: by the first row]"
    )
    skip_bad_samples: Annotated[bool, _IN_FILE] = Field(
        default=False, description="Leave out unreadable lines, with a warning."
    )
    vendor_path: Annotated[tuple[Path, ...], _IN_FILE] = Field(default=(), description="Folders with vendor plugins.")

    vendor_concurrency: Annotated[int | None, _option(PACE)] = Field(
        default=None, ge=1, description="Test at most N vendors in parallel. [default: all]"
    )
    request_concurrency: Annotated[int | None, _option(PACE)] = Field(
        default=None,
        ge=1,
        description="Maximum concurrent requests per vendor account. [default: 5; with a rate no limit]",
    )
    retries: Annotated[int, _option(PACE)] = Field(default=3, ge=0, description="Retries after a failure.")
    timeout: Annotated[float | None, _option(PACE)] = Field(
        default=None, gt=0, description="Timeout per attempt, in seconds. [default: 600]"
    )
    connect_timeout: Annotated[float, _IN_FILE] = Field(
        default=_LIMITS.connect_s, gt=0, description="Timeout for a connection, in seconds."
    )
    first_token_timeout: Annotated[float, _IN_FILE] = Field(
        default=_LIMITS.first_token_s, gt=0, description="Timeout for the first token, in seconds."
    )
    idle_timeout: Annotated[float, _IN_FILE] = Field(
        default=_LIMITS.idle_s, gt=0, description="Timeout between two pieces of an answer, in seconds."
    )
    max_requests: Annotated[int | None, _option(PACE)] = Field(
        default=None, ge=1, description="Stop after N requests; --incremental resumes."
    )
    max_cost: Annotated[float | None, _option(PACE)] = Field(
        default=None, gt=0, description="Stop when estimated spend reaches this many US dollars."
    )
    workers: Annotated[int | str, BeforeValidator(_number_of_processes), _option(PACE)] = Field(
        default=1, description="Send from N processes, or by the Dask scheduler at this address."
    )
    client: Annotated[ClientName, _IN_FILE] = Field(
        default="direct", description="`direct` for our own HTTP client, `sdk` for the official SDKs."
    )

    request_rate: Annotated[float | None, _option(LOAD)] = Field(
        default=None, gt=0, description="Requests per second sent to each vendor (open loop)."
    )
    duration: Annotated[float | None, _option(LOAD)] = Field(
        default=None, gt=0, description="Keep sending for N seconds, cycling through the samples."
    )
    warmup: Annotated[int, _option(LOAD)] = Field(
        default=0, ge=0, description="Do not count the first N requests of each vendor."
    )
    slo: Annotated[tuple[str, ...], _many(LOAD)] = Field(
        default=(), description='Target for each request, e.g. "tps >= 30" (repeatable).'
    )
    arrival: Annotated[Arrival | None, _IN_FILE] = Field(
        default=None, description="With `request_rate`: `constant` distances, or `poisson`. [default: constant]"
    )
    ramp_up: Annotated[float, _IN_FILE] = Field(default=0, ge=0, description="Ramp up over N seconds.")
    replay_schedule: Annotated[Path | None, _IN_FILE] = Field(
        default=None, description="File with the seconds at which requests are sent."
    )

    temperature: Annotated[float | None, _option(MODEL)] = Field(
        default=None, ge=0, le=2, description="Sampling temperature, 0 to 2."
    )
    max_tokens: Annotated[int | None, _option(MODEL)] = Field(
        default=None, ge=1, description="Maximum output tokens per answer."
    )
    extra_body: Annotated[dict[str, Any] | None, BeforeValidator(_json_object), _BODY] = Field(
        default=None, description="JSON object to merge into every request body."
    )
    use_raw_completions: Annotated[bool, _flag(MODEL, "--use-raw-completions", "--use_raw_completions")] = Field(
        default=False, description="Use /completions instead of /chat/completions."
    )
    tokenizer_model: Annotated[str | None, _option(MODEL)] = Field(
        default=None, description="Folder or Hugging Face name of the chat template for raw completions."
    )

    gate: Annotated[tuple[str, ...], _many(OUTPUT)] = Field(
        default=(),
        description=f'Exit 1 unless this holds, e.g. "f1 >= 0.9", or a preset: {", ".join(PRESETS)} (repeatable).',
    )
    history: Annotated[Path | None, _option(OUTPUT)] = Field(
        default=None, description="History file, or none. [default: in the user's data folder]"
    )
    redact_content: Annotated[bool, _IN_FILE] = Field(
        default=False, description="Store digests instead of prompts and answers."
    )
    compress: Annotated[bool, _IN_FILE] = Field(
        default=False, description="Compress the records at the end of the run (records.jsonl.zst)."
    )
    undecided: Annotated[Undecided, _IN_FILE] = Field(
        default="missed",
        description="Failed requests in F1: `missed` counts them as misses, `exclude` leaves them out.",
    )
    schema_policy: Annotated[SchemaPolicy, _IN_FILE] = Field(
        default="lenient", description='`""` as arguments: `lenient` reads it as `{}`, `strict` as invalid.'
    )
    rank_metric: Annotated[tuple[str, ...], _IN_FILE] = Field(
        default=(), description="Evaluations whose score joins the IRF ranking."
    )
    baseline_f1: Annotated[BaselineF1, _IN_FILE] = Field(
        default="fixed", description="The baseline's F1 in the ranking: `fixed` at 1.0, or measured against its `self`."
    )
    monthly_requests: Annotated[int | None, _IN_FILE] = Field(
        default=None, ge=1, description="Estimate the monthly cost at N requests."
    )
    monthly_tokens: Annotated[int | None, _IN_FILE] = Field(
        default=None, ge=1, description="Estimate the monthly cost at N tokens."
    )

    filter_difficulty: Annotated[tuple[str, ...], _many(EVALUATIONS)] = Field(
        default=(), description="Use only samples of this difficulty (repeatable)."
    )
    filter_category: Annotated[tuple[str, ...], _many(EVALUATIONS)] = Field(
        default=(), description="Use only categories that contain this text (repeatable)."
    )
    filter_tags: Annotated[tuple[str, ...], _many(EVALUATIONS)] = Field(
        default=(), description="Use only samples that have all of these tags (repeatable)."
    )
    sample_ids: Annotated[str | None, _option(EVALUATIONS)] = Field(
        default=None, description="Use only these sample ids, separated by commas."
    )
    answer_format: Annotated[AnswerFormat | None, _option(EVALUATIONS)] = Field(
        default=None, description="Ask for native tool calls or for JSON text."
    )
    compare_parameters: Annotated[bool, _flag(EVALUATIONS)] = Field(
        default=False, description="tool_correctness: compare the arguments, too."
    )
    bfcl_data: Annotated[str | None, _option(EVALUATIONS)] = Field(
        default=None, description="bfcl: folder of the rows, 'installed' or hf://… [default: shipped]"
    )
    bfcl_category: Annotated[tuple[str, ...], _many(EVALUATIONS)] = Field(
        default=(), description="bfcl: category or group to run (repeatable). [default: ast]"
    )

    def over(self, file: "RunConfig") -> Self:
        """These settings, with those of the ``file`` where none was given."""
        given = {name: getattr(file, name) for name in file.model_fields_set - self.model_fields_set}
        return self.model_copy(update=given)

    def with_set(self) -> Self:
        """These settings with those of ``--set run.key=value``, by which a key without a flag is given to one run.

        Raises:
            ProblemsError: unknown keys, or values out of range.
        """
        words = [word for word in self.set if word.startswith("run.")]
        if not words:
            return self
        given: dict[str, Any] = {}
        for word in words:
            name, _, value = word.removeprefix("run.").partition("=")
            field = RunConfig.model_fields.get(name)
            is_many = field is not None and get_origin(field.annotation) is tuple
            given[name] = value.split(",") if is_many else value
        try:
            stated = RunConfig(**given)
        except ValidationError as error:
            raise ProblemsError(problems_in(error, "--set run.")) from None
        rest = tuple(word for word in self.set if word not in words)
        return self.model_copy(update={**{name: getattr(stated, name) for name in given}, "set": rest})

    def stated(self) -> dict[str, Any]:
        """The settings that were given, for the manifest."""
        given = self.model_fields_set & RunConfig.model_fields.keys() - KEPT_ELSEWHERE
        return self.model_dump(mode="json", include=given)

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
        for option_name, flag_name in [*several, *own]:
            value = getattr(self, _field(flag_name))
            if value not in (None, False, ()):
                yield flag_name, option_name, ",".join(value) if isinstance(value, tuple) else value

    def overrides(self) -> dict[str, Any]:
        """The model's settings that go before those of the entries and the samples."""
        stated = {name: getattr(self, name) for name in ("temperature", "max_tokens", "extra_body")}
        return {name: value for name, value in stated.items() if value is not None}


class RunOptions(RunConfig):
    """The settings of one run, with those that only a command or a program can give."""

    config_file_path: Annotated[Path, _option(INPUT, "--config-file-path", "-c")] = Field(
        default=Path("config.yaml"), description="Configuration file with models and vendors."
    )
    url: Annotated[tuple[str, ...], _many(INPUT)] = Field(
        default=(), description="NAME=URL of a vendor, in place of a configuration file (repeatable); needs --model."
    )
    env_file: Annotated[Path | None, _option(INPUT)] = Field(
        default=None, description="File with API keys. [default: .env next to the config]"
    )
    incremental: Annotated[bool, _flag(INPUT)] = Field(
        default=False, description="Resume the run in -o, or the latest: only what is missing or failed."
    )
    output_dir: Annotated[Path | None, _option(OUTPUT, "--output-dir", "-o")] = Field(
        default=None, description="Output folder. [default: runs/<time>]"
    )


def run_options(**settings: Any) -> RunOptions:
    """The options with those settings that are given: None and an empty tuple leave it to the file and the default.

    Raises:
        ProblemsError: all that are unknown or out of range, each with its flag.
    """
    try:
        return RunOptions(**{name: value for name, value in settings.items() if value not in (None, ())})
    except ValidationError as error:
        raise ProblemsError(problems_in(error)) from None


def problems_in(error: ValidationError, prefix: str = "--") -> list[Problem]:
    """What pydantic refused, by flag or other place."""
    found = error.errors(include_url=False)
    return [
        Problem(
            # On a command line everything is text.
            misfit(each, RunOptions).replace("read the text ", "read ", 1),
            key=prefix + (str(each["loc"][0]).replace("_", "-") if prefix == "--" else str(each["loc"][0])),
        )
        for each in found
    ]


def _field(flag_name: str) -> str:
    return flag_name.removeprefix("--").replace("-", "_")
