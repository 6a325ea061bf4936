"""The settings of a run, each written once: a key of `run:` in config.yaml, a flag of ``run``, an argument of
``verify``, a line of the reference and of the schema for editors."""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from cyclopts import Group, Parameter
from cyclopts.validators import Number
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from vendor_verifier.config.document import misfit
from vendor_verifier.config.secret_text import has_known_form
from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.findings.gates import PRESETS
from vendor_verifier.records.manifest import BaselineF1, SchemaPolicy, Undecided
from vendor_verifier.records.plan import Arrival, ClientName, Limits
from vendor_verifier.suites import TRIGGER
from vendor_verifier.wire.payload import parse_json

AnswerFormat = Literal["auto", "native", "text"]

INPUT = Group("Samples and vendors", sort_key=1)
PACE = Group("Concurrency, retries and timeouts", sort_key=2)
LOAD = Group("Load", sort_key=3)
MODEL = Group("Model settings", sort_key=4)
OUTPUT = Group("Output", sort_key=5)
EVALUATIONS = Group("Evaluations", sort_key=6)


def option(
    help_text: str, group: Group, *aliases: str, name: str | None = None, check: Number | None = None
) -> Parameter:
    """An option of a command, named like its parameter. No switch has a ``--no-`` twin, and a repeatable option takes
    one value at a time."""
    return Parameter(name=name, alias=aliases, group=group, help=help_text, validator=check)


def in_file(help_text: str) -> Parameter:
    """A setting of the file that has no flag."""
    return Parameter(parse=False, help=help_text)


def help_of(field: FieldInfo) -> str:
    """What a setting is, for editors and the reference."""
    return next(each.help or "" for each in field.metadata if isinstance(each, Parameter))


def one_or_many(value: Any) -> Any:
    """The words of a text with commas between, as the command line gives several; anything else as it is."""
    return tuple(word.strip() for word in value.split(",") if word.strip()) if isinstance(value, str) else value


_OneOrMany = BeforeValidator(one_or_many, json_schema_input_type=str | tuple[str, ...])
Words = Annotated[tuple[str, ...], _OneOrMany]
ConfigFile = Annotated[Path, option("Configuration file with models and vendors.", INPUT, "-c")]
CONFIG = Path("config.yaml")
Urls = Annotated[Words, option("NAME=URL of a vendor, in place of that file (repeatable); needs --model.", INPUT)]
OutputDir = Annotated[Path | None, option("Output folder. [default: runs/<time>]", OUTPUT, "-o")]
EnvFile = Annotated[Path | None, option("File with API keys. [default: .env next to the config]", INPUT)]
History = Annotated[Path | None, option("History file, or none. [default: in the user's data folder]", OUTPUT)]
GIVEN_TWICE = "is given twice; keep one, with commas between several values"
Count = Annotated[int, Field(ge=1)]
Amount = Annotated[float, Field(gt=0)]
_LIMITS = Limits()
OWN_BODY_KEYS = ("model", "messages", "tools", "stream")
# The manifest has these with its entries and tasks; an address may hold a key in its query.
KEPT_ELSEWHERE = frozenset({"extra_body", "test_file_path", "bfcl_data"})
# By setting, the option of evaluations that it states.
_SUITE_FLAGS = {
    "answer_format": "answer_format", "compare_parameters": "compare_parameters", "bfcl_data": "data",
    "bfcl_category": "category", "job": "job", "test_file_path": "test_file_path", "dataset_format": "dataset_format",
    "timeout": "timeout_seconds", "limit": "sample_size",
}  # fmt: skip
# The run reads these itself; what the file states for one evaluation only gives way to them.
_OF_THE_RUN = ("timeout", "limit")


def _body_object(value: Any) -> Any:
    """The settings of a request's body; on the command line an object is written as JSON."""
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError as error:
            raise ValueError(f"not JSON ({error}); write an object in quotes") from None
    if set(OWN_BODY_KEYS) & set(value if isinstance(value, dict) else ()):
        raise ValueError(f"{', '.join(OWN_BODY_KEYS)} are set by the run and cannot be replaced")
    if has_known_form(str(value)):
        raise ValueError("holds what looks like a key; keys belong in .env")
    return value


class RunConfig(BaseModel):
    """The settings of a run. A flag wins over `run:` in the file, which wins over the default."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=False)

    test_file_path: Annotated[str | None, option("Sample file, hf://… or URL. [default: shipped]", INPUT)] = None
    model: Annotated[Words, option("Test this model only (repeatable).", INPUT)] = ()
    vendor: Annotated[Words, option("Test this vendor or label only (repeatable).", INPUT)] = ()
    baseline: Annotated[
        str | None, option("Vendor or label to compare the others with. [default: as configured]", INPUT)
    ] = None
    suite: Annotated[Words, option("Evaluation to run (repeatable). [default: trigger]", INPUT, "--benchmark")] = ()
    set: Annotated[
        Words, option("Option of an evaluation, suite.key=value, or of the run, run.key=value (repeatable).", INPUT)
    ] = ()
    job: Annotated[str | None, option("BFCL job file (JSON) to run.", INPUT)] = None
    limit: Annotated[
        Count | None,
        option("Use only N samples, drawn evenly from all categories.", INPUT, "-n", "--sample-size", "--sample"),
    ] = None
    head: Annotated[bool, in_file("With `limit`: take the first N.")] = False
    repeat: Annotated[Count, option("Ask every sample N times.", INPUT)] = 1
    baseline_repeats: Annotated[Count, option("trigger: ask the baseline every sample at least N times.", INPUT)] = 2
    seed: Annotated[int | None, option("Random seed for sample order and generated questions.", INPUT)] = None
    dataset_format: Annotated[str | None, in_file("Format of the rows. [default: by the first row]")] = None
    skip_bad_samples: Annotated[bool, in_file("Leave out unreadable lines, with a warning.")] = False
    vendor_path: Annotated[tuple[Path, ...], _OneOrMany, in_file("Folders with vendor plugins.")] = ()

    vendor_concurrency: Annotated[Count | None, option("Maximum vendors in parallel. [default: all]", PACE)] = None
    request_concurrency: Annotated[
        Count | None, option("Maximum concurrent requests per vendor account. [default: 5; with a rate no limit]", PACE)
    ] = None
    retries: Annotated[int, option("Retries after a failure.", PACE), Field(ge=0)] = 3
    timeout: Annotated[Amount | None, option("Timeout per attempt, in seconds. [default: 600]", PACE)] = None
    connect_timeout: Annotated[Amount, in_file("Timeout for a connection, in seconds.")] = _LIMITS.connect_s
    first_token_timeout: Annotated[Amount, in_file("Timeout for the first token, in seconds.")] = _LIMITS.first_token_s
    idle_timeout: Annotated[Amount, in_file("Timeout between two pieces of an answer, in seconds.")] = _LIMITS.idle_s
    max_requests: Annotated[Count | None, option("Stop after N requests; --incremental resumes.", PACE)] = None
    max_cost: Annotated[Amount | None, option("Stop when estimated spend reaches this many US dollars.", PACE)] = None
    workers: Annotated[
        int | str,
        Field(union_mode="left_to_right"),
        option("Send from N processes, or by the Dask scheduler at this address.", PACE),
    ] = 1
    client: Annotated[ClientName, in_file("`direct` for our own HTTP client, `sdk` for the official SDKs.")] = "direct"

    request_rate: Annotated[Amount | None, option("Requests per second sent to each vendor (open loop).", LOAD)] = None
    duration: Annotated[Amount | None, option("Keep sending for N seconds, cycling through the samples.", LOAD)] = None
    warmup: Annotated[
        int, option("Send N extra requests to each vendor first; do not count them.", LOAD), Field(ge=0)
    ] = 0
    slo: Annotated[Words, option('Target for each request, e.g. "tps >= 30" (repeatable).', LOAD)] = ()
    arrival: Annotated[
        Arrival | None, in_file("With `request_rate`: `constant` intervals, or `poisson`. [default: constant]")
    ] = None
    ramp_up: Annotated[float, in_file("Ramp up over N seconds."), Field(ge=0)] = 0

    temperature: Annotated[float | None, option("Sampling temperature, 0 to 2.", MODEL), Field(ge=0, le=2)] = None
    max_tokens: Annotated[Count | None, option("Maximum output tokens per answer.", MODEL)] = None
    extra_body: Annotated[
        dict[str, Any] | None,
        BeforeValidator(_body_object),
        # Not read by cyclopts, which would take its keys for options.
        Parameter(
            group=MODEL,
            help="JSON object to merge into every request body.",
            converter=lambda _, tokens: tokens[0].value,
            accepts_keys=False,
            n_tokens=1,
        ),
    ] = None
    use_raw_completions: Annotated[
        bool, option("Use /completions, not /chat/completions.", MODEL, "--use_raw_completions")
    ] = False
    tokenizer_model: Annotated[
        str | None, option("Folder or Hugging Face name of the chat template for raw completions.", MODEL)
    ] = None

    gate: Annotated[
        Words,
        option(f'Exit 1 unless this holds, e.g. "f1 >= 0.9", or a preset: {", ".join(PRESETS)} (repeatable).', OUTPUT),
    ] = ()
    history: History = None
    redact_content: Annotated[bool, in_file("Store digests instead of prompts and answers.")] = False
    compress: Annotated[bool, in_file("Compress the records at the end of the run (records.jsonl.zst).")] = False
    undecided: Annotated[
        Undecided, in_file("Failed requests in F1: `missed` counts them as misses, `exclude` leaves them out.")
    ] = "missed"
    schema_policy: Annotated[
        SchemaPolicy, in_file('`""` as arguments: `lenient` reads it as `{}`, `strict` as invalid.')
    ] = "lenient"
    rank_metric: Annotated[Words, in_file("Evaluations whose score joins the IRF ranking.")] = ()
    baseline_f1: Annotated[
        BaselineF1, in_file("The baseline's F1 in the ranking: `fixed` at 1.0, or measured against its `self`.")
    ] = "fixed"

    filter_difficulty: Annotated[Words, option("Use only samples of this difficulty (repeatable).", EVALUATIONS)] = ()
    filter_category: Annotated[Words, option("Use only categories with this text (repeatable).", EVALUATIONS)] = ()
    filter_tags: Annotated[Words, option("Use only samples with all of these tags (repeatable).", EVALUATIONS)] = ()
    sample_ids: Annotated[str | None, option("Use only these sample ids, separated by commas.", EVALUATIONS)] = None
    answer_format: Annotated[AnswerFormat | None, option("Ask for native tool calls or JSON text.", EVALUATIONS)] = None
    compare_parameters: Annotated[bool, option("tool_correctness: compare the arguments, too.", EVALUATIONS)] = False
    bfcl_data: Annotated[
        str | None, option("bfcl: folder of the rows, 'installed' or hf://… [default: shipped]", EVALUATIONS)
    ] = None
    bfcl_category: Annotated[
        Words, option("bfcl: category or group to run (repeatable). [default: ast]", EVALUATIONS)
    ] = ()

    def over(self, file: "RunConfig") -> Self:
        """These settings, with those of the ``file`` where none was given."""
        given = {name: getattr(file, name) for name in file.model_fields_set - self.model_fields_set}
        if file.set:
            own = {word.partition("=")[0] for word in self.set}
            given["set"] = (*(word for word in file.set if word.partition("=")[0] not in own), *self.set)
        return self.model_copy(update=given)

    def by_default(self, names: Iterable[str]) -> Self:
        """These settings with the defaults of those ``names`` that were not given, whatever a file says of them."""
        left = {name: RunConfig.model_fields[name].get_default() for name in names if name not in self.model_fields_set}
        return self.model_copy(update=left)

    def with_set(self) -> Self:
        """These settings with those of ``--set run.key=value``, by which a key without a flag is given to one run."""
        words = [word for word in self.set if word.startswith("run.")]
        if not words:
            return self
        given: dict[str, Any] = {}
        for word in words:
            name, _, value = word.removeprefix("run.").partition("=")
            if name in given or name in self.model_fields_set:
                raise ProblemsError([Problem(f"it {GIVEN_TWICE}", key=f"--set run.{name}")])
            given[name] = value
        try:
            stated = RunConfig(**given)
        except ValidationError as error:
            raise ProblemsError(problems_in(error, "--set run.")) from None
        return self.model_copy(update={"set": tuple(word for word in self.set if word not in words)}).over(stated)

    def stated(self) -> dict[str, Any]:
        """The settings that were given, for the manifest."""
        given = self.model_fields_set & RunConfig.model_fields.keys() - KEPT_ELSEWHERE
        return self.model_dump(mode="json", include=given)

    @property
    def suites(self) -> tuple[str, ...]:
        """The evaluations of the run, each once: those named, else the one that a flag of its own asks for."""
        default = "bfcl" if self.bfcl_data or self.bfcl_category or self.job else TRIGGER
        return tuple(dict.fromkeys(self.suite)) or (default,)

    def suite_flags(self) -> Iterator[tuple[str, str, Any]]:
        """(flag, option, value) of the given settings that state an option of all evaluations that take it, in place of
        the file. Without a value the flag only takes away what the file states.
        """
        for name, option_name in _SUITE_FLAGS.items():
            value = getattr(self, name)
            if value not in (None, False, ()):
                words = ",".join(value) if isinstance(value, tuple) else value
                flag = "run.dataset_format" if name == "dataset_format" else "--" + name.replace("_", "-")
                yield flag, option_name, None if name in _OF_THE_RUN else words

    def overrides(self) -> dict[str, Any]:
        """The model settings that override those of the entries and the samples."""
        stated = {name: getattr(self, name) for name in ("temperature", "max_tokens", "extra_body")}
        return {name: value for name, value in stated.items() if value is not None}


class RunOptions(RunConfig):
    """The settings of one run, with those that only a command or a program can give."""

    config_file_path: ConfigFile = CONFIG
    url: Urls = ()
    env_file: EnvFile = None
    incremental: Annotated[
        bool, option("Resume the run in -o, or the latest: only what is missing or failed.", INPUT)
    ] = False
    output_dir: OutputDir = None


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
    problems = []
    for each in error.errors(include_url=False):
        name = str(each["loc"][0])
        # On a command line everything is text.
        words = misfit(each, RunOptions).replace("read the text ", "read ", 1)
        problems.append(Problem(words, key=prefix + (name.replace("_", "-") if prefix == "--" else name)))
    return problems
