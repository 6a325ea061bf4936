"""The command ``capacity``: how much load each vendor bears before success, speed or tool calls give way."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from vendor_verifier.console.options import JUDGE, MODEL, OUTPUT, PACE, WHAT, flag, many, option
from vendor_verifier.console.output import EXIT_INCOMPLETE, EXIT_OK, EXIT_THRESHOLD, SIGNAL_BASE, say
from vendor_verifier.features.capacity.values import LoadKind
from vendor_verifier.reports.words import Language
from vendor_verifier.values.plan import Arrival, TransportName

if TYPE_CHECKING:
    from vendor_verifier.features.capacity.search import CapacityOutcome
    from vendor_verifier.features.capacity.values import CapacityReport, CapacityRequest, Point
    from vendor_verifier.values.plan import Entry

_AT_LEAST_1 = Number(gte=1)
_POSITIVE = Number(gt=0)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CapacityOptions:
    """Everything ``capacity`` takes."""

    test_file_path: Annotated[Path | None, option("Samples, JSONL or .gz. [default: shipped]", WHAT)] = None
    config_file_path: Annotated[Path, option("Models and vendors.", WHAT)] = Path("config.yaml")
    env_file: Annotated[Path | None, option("API keys. [default: .env beside the config]", WHAT)] = None
    model: Annotated[tuple[str, ...], many("Only this model (repeatable).", WHAT)] = ()
    vendor: Annotated[tuple[str, ...], many("Only this vendor or label (repeatable).", WHAT)] = ()
    vendor_path: Annotated[tuple[Path, ...], many("Folder with vendor plugins (repeatable).", WHAT)] = ()
    limit: Annotated[int, option("Only N samples, of all kinds.", WHAT, "--limit", "-n", check=_AT_LEAST_1)] = 50
    head: Annotated[bool, flag("The first --limit samples instead.", WHAT)] = False
    seed: Annotated[int, option("Order of asking, simulated answers.", WHAT)] = 0
    from_folder: Annotated[Path | None, option("Judge a stored search again; send nothing.", WHAT, "--from")] = None
    by: Annotated[LoadKind, option("Requests in flight, or begun per second.", PACE)] = "concurrency"
    arrival: Annotated[Arrival | None, option("Of a rate: evenly, or at random. [default: poisson]", PACE)] = None
    up_to: Annotated[float, option("The highest level tried.", PACE, check=_AT_LEAST_1)] = 64
    step: Annotated[float, option("How near to the edge, 0.1 = 10 %.", PACE, check=Number(gt=0, lte=1))] = 0.1
    max_requests: Annotated[int, option("Requests to each vendor at the most.", PACE, check=_AT_LEAST_1)] = 2000
    max_cost: Annotated[float | None, option("US dollars in all, about.", PACE, check=_POSITIVE)] = None
    max_seconds: Annotated[float, option("Seconds for each vendor.", PACE, check=_POSITIVE)] = 1800
    timeout: Annotated[float, option("Seconds, a whole attempt.", PACE, check=_POSITIVE)] = 600
    first_token_timeout: Annotated[float, option("Seconds to the first token.", PACE, check=_POSITIVE)] = 120
    transport: Annotated[TransportName, option("Whose HTTP.", PACE)] = "fast"
    temperature: Annotated[float | None, option("0 to 2.", MODEL, check=Number(gte=0, lte=2))] = None
    max_tokens: Annotated[int | None, option("Output tokens at the most.", MODEL, check=_AT_LEAST_1)] = None
    slo: Annotated[tuple[str, ...], many('Limit "avg_ttft_ms.p95 <= 2000" (repeatable).', JUDGE)] = ()
    at_least: Annotated[float | None, option("Exit 1 unless all bear this.", JUDGE, check=_POSITIVE)] = None
    output_dir: Annotated[
        Path | None, option("Folder. [default: runs/<timestamp>-capacity]", OUTPUT, "--output-dir", "-o")
    ] = None
    lang: Annotated[Language, option("Language of capacity.html.", OUTPUT)] = "en"
    quiet: Annotated[bool, flag("No progress on stderr.", OUTPUT, "--quiet", "-q")] = False
    json: Annotated[bool, flag("Print capacity.json instead of tables.", OUTPUT)] = False

    def request(self) -> CapacityRequest:
        """The search these flags ask for."""
        from vendor_verifier.features.capacity.values import CapacityRequest
        from vendor_verifier.pipeline.request import RunRequest, Selection
        from vendor_verifier.values.plan import Limits

        stated = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        run = RunRequest(
            config_file=self.config_file_path,
            test_file=self.test_file_path,
            env_file=self.env_file,
            vendor_paths=self.vendor_path,
            models=self.model,
            vendors=self.vendor,
            overrides={name: value for name, value in stated.items() if value is not None},
            limits=Limits(total_s=self.timeout, first_token_s=self.first_token_timeout),
            selection=Selection(limit=self.limit, head=self.head),
            seed=self.seed,
            output_dir=self.output_dir,
            transport=self.transport,
            language=self.lang,
        )
        return CapacityRequest(
            run=run,
            kind=self.by,
            arrival=self.arrival,
            highest=self.up_to,
            step=self.step,
            limits=self.slo,
            max_requests=self.max_requests,
            max_s=self.max_seconds,
            max_cost_usd=self.max_cost,
            at_least=self.at_least,
        )


_NO_OPTIONS = CapacityOptions()


def capacity_command(options: CapacityOptions = _NO_OPTIONS) -> int:
    """Raise the load on one vendor after the other until success, time to first token or tool calls give way.

    The same questions unloaded come first, twice. Limits not given with --slo: success_rate >= 0.99,
    avg_ttft_ms.p95 <= 2000, f1 and schema_accuracy >= ceiling - 0.05 (ceiling: its own unloaded answers).

    Exit codes: 0 found, 1 a vendor misses a limit unloaded or bears less than --at-least, 3 a budget or a vendor
    ended a search before.
    """
    if options.from_folder is not None:
        return _again(options.from_folder, options.slo, options.at_least, options.lang, as_json=options.json)
    outcome = _measured(options.request(), quiet=options.quiet)
    _print(outcome.report, as_json=options.json)
    if not options.quiet:
        say(f"records and report: {outcome.folder.path}/")
    if outcome.signal_number is not None:
        return SIGNAL_BASE + outcome.signal_number
    return _exit_code(outcome.report)


def _measured(request: CapacityRequest, *, quiet: bool) -> CapacityOutcome:
    from vendor_verifier.config import read_environment
    from vendor_verifier.features.capacity.search import measure_capacity
    from vendor_verifier.features.capacity.text import level_line
    from vendor_verifier.features.capacity.words_en import unit
    from vendor_verifier.pipeline.plan import prepare

    def tell(entry: Entry, point: Point) -> None:
        if not quiet:
            say(level_line(entry.label, point, unit(request.kind)))

    return measure_capacity(request, prepare(request.run, read_environment()), on_point=tell)


def _again(folder: Path, slos: Sequence[str], at_least: float | None, lang: Language, *, as_json: bool) -> int:
    """A stored search, judged again; its files are written anew."""
    from vendor_verifier.features.capacity.store import judge_again, write_capacity
    from vendor_verifier.redaction import Scrubber
    from vendor_verifier.store import RunFolder

    stored = RunFolder(folder)
    report = judge_again(stored, slos, at_least)
    write_capacity(stored, report, Scrubber(()), language=lang)
    _print(report, as_json=as_json)
    return _exit_code(report)


def _print(report: CapacityReport, *, as_json: bool) -> None:
    from vendor_verifier.features.capacity import store
    from vendor_verifier.features.capacity.text import capacity_lines

    if as_json:
        sys.stdout.write(store.render(report))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in capacity_lines(report)))


def _exit_code(report: CapacityReport) -> int:
    """3 where a search was ended before it could tell, else 1 where too little is borne."""
    from vendor_verifier.features.capacity.curve import standing
    from vendor_verifier.features.capacity.words_en import verdict
    from vendor_verifier.reports.escape import plain

    found = [(vendor, standing(vendor, report.at_least)) for vendor in report.vendors]
    for vendor, how in found:
        if how != "enough":
            word = "threshold missed" if how == "too_little" else "incomplete"
            say(plain(f"{word}: {vendor.model} / {vendor.label} {verdict(vendor, report.kind)}", 600))
    standings = {how for _, how in found}
    if "unknown" in standings:
        return EXIT_INCOMPLETE
    return EXIT_THRESHOLD if "too_little" in standings else EXIT_OK
