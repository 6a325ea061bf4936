"""Finds BFCL data on this machine and reads it: the shipped slice, a folder, an installed package. Downloads nothing.

Of the user's ``bfcl_eval`` only the simulated services are ever imported, module by module: its configuration and model
modules, which pull in every vendor's SDK, are not.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from vendor_verifier.errors import BFCL_DATA, BFCL_SIMULATORS, DataError, Problem, UsageError
from vendor_verifier.loaders.base import MAX_ARRAY_BYTES, LoadedSamples
from vendor_verifier.resources import shipped
from vendor_verifier.sample_store import open_lines
from vendor_verifier.suites.bfcl.categories import (
    EXECUTABLE,
    MULTI_TURN,
    RELEVANCE,
    REST,
    SENSITIVITY,
    SINGLE_TURN,
    V4_TO_V3,
    canonical,
    language_of,
    not_run_reason,
)
from vendor_verifier.suites.bfcl.executable import Functions, expected_calls, needed_keys, shape_of
from vendor_verifier.suites.bfcl.multi_turn import Services
from vendor_verifier.suites.bfcl.native_rows import Lines, read_category
from vendor_verifier.suites.bfcl.prompts import PromptTexts
from vendor_verifier.suites.bfcl.source_calls import missing_grammars
from vendor_verifier.suites.bfcl.written_rows import Prompting, as_written, sensitivity_rows
from vendor_verifier.values.sample import Sample
from vendor_verifier.wire.payload import parse_json

_PACKAGES = ("bfcl_eval", "bfcl")
_SERVICES = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
SERVICE_MODULES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
SHIPPED = "shipped slice"
_REST_REPLIES = Path("eval_checker", "executable_eval", "data", "rest-eval-response_v5.jsonl")
_NATIVE = "BFCL_v[34]_*.json*"
_STATELESS = frozenset({"MathAPI"})


class BfclData(msgspec.Struct, frozen=True):
    """A folder in the native layout. ``version`` is the files' (``v3``, ``v4``); ``name`` is kept with every sample."""

    folder: Path
    version: str
    name: str

    def question_file(self, category: str) -> Path | None:
        """The category's file under either version's name, or None."""
        for name in (category, V4_TO_V3.get(category, category)):
            for version in ("v4", "v3"):
                found = as_packed(self.folder / f"BFCL_{version}_{name}.json")
                if found.is_file():
                    return found
        return None


class Loaded(msgspec.Struct, frozen=True):
    """The samples of all categories that can run, and the reasons for the others."""

    samples: LoadedSamples
    not_run: Mapping[str, str]


def find_data(where: str, label: str | None = None) -> BfclData:
    """``shipped``, ``installed`` or a folder: the data, the package with it, or where that is installed.

    ``label`` is what it is called where its folder's name says nothing.

    Raises:
        UsageError: nothing there; the message says what would be.
    """
    if where == "shipped":
        return BfclData(shipped("datasets") / "bfcl", "v3", SHIPPED)
    candidates = list(_installed()) if where == "installed" else list(_within(Path(where)))
    for folder in candidates:
        versions = sorted({path.name[5:7] for path in folder.glob(_NATIVE)})
        if versions:
            return BfclData(folder, versions[-1], f"{label or _label(folder)} {versions[-1]}")
    if where == "installed":
        raise UsageError(f"no installed bfcl_eval with data: {BFCL_DATA}, or give --bfcl-data DIR")
    raise UsageError(f"{where}: no BFCL_v3_*.json or BFCL_v4_*.json; expected those files and possible_answer/")


def custom_files(where: str) -> list[Path]:
    """The files of custom rows at ``where``: that file, or all in a folder that has none in the native layout.

    Raises:
        UsageError: there is nothing at that path.
    """
    if where in ("shipped", "installed"):
        return []
    path = Path(where)
    if not path.exists():
        raise UsageError(f"{where}: there is no such file or folder")
    if path.is_file():
        return [path]
    if any(next(folder.glob(_NATIVE), None) for folder in _within(path)):
        return []
    return sorted(file for file in path.rglob("*.jsonl*") if file.is_file()) or sorted(path.glob("*.json*"))


def load_categories(
    data: BfclData,
    categories: Iterable[str],
    *,
    services: bool = False,
    functions: Functions | None = None,
    keys: frozenset[str] = frozenset(),
    limit: int | None = None,
    limit_per_category: int | None = None,
    skip_bad: bool = False,
    texts: PromptTexts | None = None,
    sensitivity: PromptTexts | None = None,
) -> Loaded:
    """Read the rows of these categories (v4 names) that can run.

    ``services``: the simulated services are installed. ``functions``: the functions that executable rows call; rows
    whose calls cannot be run here are left out and reported. ``keys``: the names of keys set for rest rows, likewise.
    ``limit``: the first so many rows of all categories together. ``texts``: calls are asked for in words, with these;
    ``sensitivity``: so are those of ``format_sensitivity``, which is left out without them.

    Raises:
        DataError: unusable rows.
    """
    parts: list[LoadedSamples] = []
    not_run: dict[str, str] = {}
    for category in categories:
        file = data.question_file(category)
        reason = not_run_reason(category, simulators=services, functions=functions is not None, keys=bool(keys))
        if category == SENSITIVITY and sensitivity is None:
            reason = "not run: needs calls in words; name it as a category, or give --answer-format text"
        if reason is None and texts is not None and language_of(category) != "python":
            reason = f"not run: needs grammars, for {lacking}" if (lacking := missing_grammars()) else None
        if reason is None and file is None:
            reason = f"not run: needs BFCL_{data.version}_{category}.json, which {data.name} does not have"
        if reason is not None or file is None:
            not_run[category] = reason or "not run"
            continue
        if category == SENSITIVITY and sensitivity is not None:
            parts.append(_sensitivity(data, file, sensitivity, limit_per_category, skip_bad))
            continue
        if category in EXECUTABLE and functions is not None:
            part, left = _runnable(_load(data, category, file, None, skip_bad), functions, limit_per_category)
            not_run |= left
        elif category in REST:
            part, reason = _answerable(_load(data, category, file, None, skip_bad), keys, limit_per_category)
            not_run |= {category: reason} if reason else {}
        else:
            part = _load(data, category, file, limit_per_category, skip_bad)
        parts.append(part if texts is None else _in_words(part, data, texts))
    return Loaded(
        LoadedSamples(
            tuple(sample for part in parts for sample in part.samples)[:limit],
            tuple(problem for part in parts for problem in part.skipped),
            tuple(defect for part in parts for defect in part.defects),
        ),
        not_run,
    )


def _in_words(part: LoadedSamples, data: BfclData, texts: PromptTexts) -> LoadedSamples:
    """The rows put in words."""
    several = any(sample.expected["category"] in MULTI_TURN for sample in part.samples)
    prompting = Prompting(texts, _service_docs(data.folder / "multi_turn_func_doc") if several else None)
    return structs.replace(part, samples=tuple(as_written(sample, prompting) for sample in part.samples))


def _sensitivity(data: BfclData, file: Path, texts: PromptTexts, limit: int | None, skip_bad: bool) -> LoadedSamples:
    """The rows of other categories that ``file`` names, in all formats of a prompt."""
    named = parse_json(b"".join(_lines(file)))
    if not isinstance(named, dict) or not all(isinstance(ids, list) for ids in named.values()):
        raise DataError([Problem("expected an object of categories, each with a list of ids", file)])
    found: list[LoadedSamples] = []
    for name, ids in named.items():
        category, wanted = canonical(name), set(ids)
        held = data.question_file(category)
        if held is None:
            raise DataError([Problem(f"names rows of {name}, which {data.name} does not have", file, key=name)])
        part = _load(data, category, held, None, skip_bad)
        found.append(structs.replace(part, samples=tuple(row for row in part.samples if row.expected["id"] in wanted)))
    rows = sensitivity_rows([sample for part in found for sample in part.samples], texts)
    return LoadedSamples(tuple(islice(rows, limit)), tuple(problem for part in found for problem in part.skipped))


class InstalledServices(msgspec.Struct, frozen=True):
    """The simulated classes of the user's ``bfcl_eval``."""

    classes: Mapping[str, type[Any]]

    def start(
        self, classes: Sequence[str], initial_config: Mapping[str, Any], *, long_context: bool
    ) -> Mapping[str, object]:
        started: dict[str, object] = {}
        for name in classes:
            instance = self.classes[name]()
            if name not in _STATELESS:
                instance._load_scenario(deepcopy(dict(initial_config.get(name, {}))), long_context=long_context)
            started[name] = instance
        return started


def stated_rows(where: str) -> tuple[Sample, ...]:
    """The rows of data found by :func:`find_data` that state the right calls without running anything.

    Raises:
        UsageError: there is no such data.
        DataError: unusable rows.
    """
    return tuple(load_categories(find_data(where), (*SINGLE_TURN, *EXECUTABLE)).samples.samples)


def load_services(where: str) -> Services:
    """The simulated services of the package at ``where`` (``installed`` or a folder), freshly importable.

    Raises:
        UsageError: they are not there or lack what they need; the message has the install line.
    """
    if where != "installed":
        home = next((path for path in _homes(Path(where)) if (path / "bfcl_eval").is_dir()), None)
        if home is not None and str(home) not in sys.path:
            sys.path.append(str(home))
    try:
        modules = {name: importlib.import_module(f"{_SERVICES}.{module}") for name, module in SERVICE_MODULES.items()}
    except ImportError as error:
        raise UsageError(f"multi-turn rows need bfcl_eval's simulated services: {BFCL_SIMULATORS} ({error})") from None
    return InstalledServices({name: getattr(module, name) for name, module in modules.items()})


def has_services(where: str) -> bool:
    """Whether :func:`load_services` finds them, at ``where`` or installed."""
    return find_services(where) is not None


def find_services(where: str) -> Services | None:
    """The simulated services at ``where``, else the installed ones, else None."""
    places = [where] if where not in ("shipped", "installed") and Path(where).exists() else []
    for place in [*places, "installed"]:
        try:
            return load_services(place)
        except UsageError:
            continue
    return None


def _runnable(loaded: LoadedSamples, functions: Functions, limit: int | None) -> tuple[LoadedSamples, dict[str, str]]:
    """The rows whose right calls can be run here, and for the others the reason by row and by category."""
    kept: list[Sample] = []
    left: dict[str, str] = {}
    for sample in loaded.samples:
        names = dict.fromkeys(call.name for call in expected_calls(sample.expected["answer"]))
        missing = [reason for name in names if (reason := functions.missing(name))]
        if missing:
            left[sample.expected["id"]] = f"not run: {'; '.join(missing)}"
        else:
            kept.append(sample)
    found = structs.replace(loaded, samples=tuple(kept[:limit]))
    if not left:
        return found, {}
    words = (
        f"not run: {len(left)} of {len(loaded.samples)} rows call functions that need a network, keys or evaluated text"
    )
    return found, {str(loaded.samples[0].expected["category"]): f"{words}; the pages name each", **left}


def _answerable(loaded: LoadedSamples, keys: frozenset[str], limit: int | None) -> tuple[LoadedSamples, str | None]:
    """The rows whose keys are set, and a notice about the others."""
    wanted = {sample.id: needed_keys(sample.expected, list(sample.turn.messages)) for sample in loaded.samples}
    kept = [sample for sample in loaded.samples if wanted[sample.id] <= keys]
    missing = sorted(frozenset().union(*wanted.values()) - keys)
    left = len(loaded.samples) - len(kept)
    words = f"not run: {left} of {len(loaded.samples)} rows need {', '.join(missing)}"
    return structs.replace(loaded, samples=tuple(kept[:limit])), words if left else None


def _recorded_replies(folder: Path) -> Iterator[bytes]:
    """The shapes of the replies that rest rows are compared with, as answer lines; upstream pairs them by position."""
    for number, line in enumerate(_lines(folder.parent / _REST_REPLIES)):
        yield json.dumps({"id": f"rest_{number}", "ground_truth": [shape_of(parse_json(line))]}).encode()


def _load(data: BfclData, category: str, file: Path, limit: int | None, skip_bad: bool) -> LoadedSamples:
    answers = None
    plain = file.name.removesuffix(".gz").removesuffix(".zst")
    path = as_packed(data.folder / "possible_answer" / plain)
    if category in REST:
        answers = Lines(list(_recorded_replies(data.folder)), data.folder.parent / _REST_REPLIES)
    elif category not in RELEVANCE and (category not in EXECUTABLE or path.is_file()):
        answers = Lines(_lines(path), path)
    return read_category(
        Lines(_lines(file), file),
        answers,
        category=category,
        dataset=plain.removesuffix(".json"),
        version=data.name,
        service_docs=_service_docs(data.folder / "multi_turn_func_doc") if category in MULTI_TURN else None,
        limit=limit,
        skip_bad=skip_bad,
    )


def _service_docs(folder: Path) -> dict[str, list[dict[str, Any]]]:
    docs: dict[str, list[dict[str, Any]]] = {}
    for name, module in SERVICE_MODULES.items():
        file = as_packed(folder / f"{module}.json")
        docs[name] = [parse_json(line) for line in _lines(file) if line.strip()]
    return docs


def as_packed(file: Path) -> Path:
    """The file, or the packed one that lies in its place (``.gz``, ``.zst``)."""
    packed = (file.with_name(file.name + ending) for ending in (".gz", ".zst"))
    return file if file.is_file() else next((path for path in packed if path.is_file()), file)


def _lines(file: Path) -> list[bytes]:
    return list(open_lines(file, max_line=MAX_ARRAY_BYTES))


def package_folders(package: str, where: str) -> Iterator[Path]:
    """The folders that may be this package: in, at or above ``where``, then where it is installed."""
    if where not in ("shipped", "installed"):
        for folder in _homes(Path(where)):
            yield folder
            yield folder / package
    spec = importlib.util.find_spec(package)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(place)


def _installed() -> Iterable[Path]:
    for package in _PACKAGES:
        for folder in package_folders(package, "installed"):
            yield folder / "data"


def _within(folder: Path) -> Iterable[Path]:
    yield folder
    yield folder / "data"
    for package in _PACKAGES:
        yield folder / package / "data"


def _homes(folder: Path) -> Iterable[Path]:
    """The folders where the package may be installed, given a folder in, at or above it."""
    yield folder
    yield from folder.resolve().parents


def _label(folder: Path) -> str:
    return folder.parent.name if folder.name == "data" else folder.name
