"""The flags of the main job, in the field's spelling; the pipeline interprets them."""

# No `from __future__ import annotations` here: cyclopts would evaluate the text of all these flags at every start.

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from vendor_verifier.errors import Problem, ProblemsError
from vendor_verifier.manifest import ScoreRequest
from vendor_verifier.pipeline.request import LoadRequest, RunRequest, Selection
from vendor_verifier.values.plan import (
    Arrival,
    ClientName,
    ExecutorChoice,
    ExecutorName,
    Limits,
    RetryRules,
    TransportName,
    WorkersWish,
)
from vendor_verifier.values.score import BaselineF1, SchemaPolicy, Undecided
from vendor_verifier.wire.payload import parse_json
from vendor_verifier.words import Language

WHAT = Group("What to ask whom", sort_key=1)
PACE = Group("Pace and patience", sort_key=2)
MODEL = Group("Model settings (over config and samples)", sort_key=3)
JUDGE = Group("Judgement", sort_key=4)
OUTPUT = Group("Output", sort_key=5)

_AT_LEAST_1 = Number(gte=1)
_AT_LEAST_0 = Number(gte=0)
_POSITIVE = Number(gt=0)


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
    """Everything ``run`` takes."""

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
    seed: Annotated[int, option("Order of asking, simulated answers.", WHAT)] = 0
    skip_bad_samples: Annotated[bool, flag("Leave out unreadable lines, and say so.", WHAT)] = False
    vendor_path: Annotated[tuple[Path, ...], many("Folder with vendor plugins (repeatable).", WHAT)] = ()
    incremental: Annotated[bool, flag("Resume the -o or latest run: only missing or failed.", WHAT)] = False
    dry_run: Annotated[bool, flag("Show what would be sent; send nothing.", WHAT)] = False

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
    ramp_up: Annotated[float, option("Seconds over which the load grows.", PACE, check=_AT_LEAST_0)] = 0
    warmup: Annotated[int, option("First N requests per vendor, not counted.", PACE, check=_AT_LEAST_0)] = 0
    cooldown: Annotated[int, option("Up to N more after the last that counts.", PACE, check=_AT_LEAST_0)] = 0
    duration: Annotated[float | None, option("Ask again and again for so many seconds.", PACE, check=_POSITIVE)] = None
    retries: Annotated[
        int | None, option("Further attempts after a failure. [default: 3]", PACE, check=_AT_LEAST_0)
    ] = None
    timeout: Annotated[float | None, option("Seconds, a whole attempt. [default: 600]", PACE, check=_POSITIVE)] = None
    connect_timeout: Annotated[float, option("Seconds to connect.", PACE, check=_POSITIVE)] = 10
    first_token_timeout: Annotated[float, option("Seconds to the first token.", PACE, check=_POSITIVE)] = 120
    idle_timeout: Annotated[float, option("Seconds without data in an answer.", PACE, check=_POSITIVE)] = 60

    max_requests: Annotated[
        int | None, option("Send no more than N requests, then stop (resumable).", PACE, check=_AT_LEAST_1)
    ] = None
    max_cost: Annotated[
        float | None, option("Stop when about so many US dollars are spent.", PACE, check=_POSITIVE)
    ] = None
    client: Annotated[ClientName, option("Our own client, or the official SDKs.", PACE)] = "direct"
    transport: Annotated[TransportName, option("HTTP client to send with.", PACE)] = "fast"
    no_calibration: Annotated[bool, flag("Skip the second that measures our own error.", PACE)] = False

    workers: Annotated[WorkersWish, option("Processes here: N, or auto by load and cores.", PACE)] = 1
    executor: Annotated[ExecutorName, option("Send from here, or over a Dask cluster.", PACE)] = "local"
    dask_scheduler: Annotated[str | None, option("Dask scheduler, tls://HOST:PORT.", PACE)] = None
    dask_local: Annotated[int | None, option("N Dask worker processes here instead.", PACE, check=_AT_LEAST_1)] = None
    dask_hang_after: Annotated[float, option("Seconds a worker may be silent.", PACE, check=Number(gte=3))] = 30
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

    undecided: Annotated[Undecided, option("A vendor's failure in F1: a miss, or left out.", JUDGE)] = "missed"
    schema: Annotated[SchemaPolicy, option('"" as arguments: lenient {}, strict invalid.', JUDGE)] = "lenient"
    rank_metric: Annotated[tuple[str, ...], many("A suite's score joins the IRF (repeatable).", JUDGE)] = ()

    gate: Annotated[tuple[str, ...], many('Threshold "f1 >= 0.9", or preset (repeatable).', JUDGE)] = ()
    slo: Annotated[tuple[str, ...], many('SLO of each request: "tps >= 30" (repeatable).', JUDGE)] = ()
    baseline_f1: Annotated[BaselineF1, option("Baseline's F1 in the ranking: 1.0, or measured.", JUDGE)] = "fixed"

    output_dir: Annotated[
        Path | None, option("Run folder. [default: runs/<timestamp>]", OUTPUT, "--output-dir", "-o")
    ] = None
    redact_content: Annotated[bool, flag("Store digests, no prompts and no answers.", OUTPUT)] = False
    lang: Annotated[Language, option("Language of the reports.", OUTPUT)] = "en"
    quiet: Annotated[bool, flag("No progress on stderr.", OUTPUT, "--quiet", "-q")] = False
    verbose: Annotated[bool, flag("Every failure on stderr as it happens.", OUTPUT, "--verbose", "-v")] = False
    json: Annotated[bool, flag("Print scores.json instead of tables.", OUTPUT)] = False
    history: Annotated[Path | None, option("History of runs. [default: user data folder]", OUTPUT)] = None
    no_history: Annotated[bool, flag("Leave this run out of the history.", OUTPUT)] = False

    def request(self) -> RunRequest:
        """The same as a request to the pipeline.

        Raises:
            ProblemsError: ``--extra-body`` is not a JSON object.
        """
        return RunRequest(
            **_of_the_same_name(
                RunRequest,
                self,
                executor=ExecutorChoice(
                    self.executor,
                    self.dask_scheduler,
                    self.dask_local,
                    self.insecure_cluster,
                    self.dask_hang_after,
                    self.workers,
                ),
            ),
            config_file=self.config_file_path,
            test_file=self.test_file_path,
            vendor_paths=self.vendor_path,
            models=self.model,
            vendors=self.vendor,
            overrides=self._overrides(),
            load=LoadRequest(**_of_the_same_name(LoadRequest, self, ramp_up_s=self.ramp_up, duration_s=self.duration)),
            retry=RetryRules() if self.retries is None else RetryRules(retries=self.retries),
            limits=Limits(
                Limits().total_s if self.timeout is None else self.timeout,
                self.connect_timeout,
                self.first_token_timeout,
                self.idle_timeout,
            ),
            stated=frozenset(name for name in ("timeout", "retries") if getattr(self, name) is not None),
            suites=self.suite or (("bfcl",) if self._asks_bfcl() else ("trigger",)),
            suite_options=self.suite_option,
            shared_options=self._shared_options(),
            selection=self._selection(),
            max_cost_usd=self.max_cost,
            calibrate=not self.no_calibration,
            language=self.lang,
            score=ScoreRequest(
                self.undecided, self.schema, self.rank_metric, self.gate, self.baseline_f1, slos=self.slo
            ),
        )

    def _asks_bfcl(self) -> bool:
        """Whether a flag was given that only this evaluation understands."""
        return bool(self.bfcl_data or self.bfcl_category or self.bfcl_version or self.limit_per_category)

    def _shared_options(self) -> Mapping[str, Any]:
        stated = {
            "answer_format": self.answer_format,
            "compare_parameters": self.compare_parameters or None,
            "data": self.bfcl_data,
            "category": ",".join(self.bfcl_category) or None,
            "version": self.bfcl_version,
            "limit_per_category": self.limit_per_category,
        }
        return {name: value for name, value in stated.items() if value is not None}

    def _selection(self) -> Selection:
        return Selection(
            ids=tuple(word.strip() for word in (self.sample_ids or "").split(",") if word.strip()),
            difficulty=self.filter_difficulty,
            category=self.filter_category,
            tags=self.filter_tags,
            stratify_by=self.stratify_by,
            limit=self.limit,
            head=self.head,
        )

    def _overrides(self) -> Mapping[str, Any]:
        stated = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "extra_body": _json_object(self.extra_body) if self.extra_body is not None else None,
        }
        return {name: value for name, value in stated.items() if value is not None}


def _of_the_same_name(kind: type[Any], options: RunOptions, **others: Any) -> dict[str, Any]:
    """The arguments of a dataclass: fields named like their flag, and ``others``, whose name or meaning differs."""
    names = [item.name for item in fields(kind) if hasattr(options, item.name)]
    return {name: getattr(options, name) for name in names} | others


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise ProblemsError([Problem(f"not JSON ({error}); write an object in quotes", key="--extra-body")]) from None
    if not isinstance(value, dict):
        raise ProblemsError([Problem(f"read {text[:40]!r}, expected a JSON object", key="--extra-body")])
    return value
