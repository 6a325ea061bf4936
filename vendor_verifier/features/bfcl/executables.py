"""Runs the functions of ``exec_*`` rows in a process of their own, and asks the live services of ``rest`` rows.

The package is never imported: it would want every vendor's SDK. Of its one file of functions those are taken that only
calculate; what reads keys, opens connections or files, or evaluates text is left out, and its rows are not run.

Only hosts that a row's document names are asked, one at a time, through the same transport as vendors. What is stored
in ``bfcl/rest.jsonl`` is the shape of each answer: no address, no value, no key.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import msgspec
from msgspec import structs

from vendor_verifier.errors import RunFolderError
from vendor_verifier.features.bfcl.source import package_folders
from vendor_verifier.redaction import Scrubber
from vendor_verifier.store import RunFolder
from vendor_verifier.suites.bfcl.categories import REST
from vendor_verifier.suites.bfcl.executable import (
    Fetched,
    FunctionCall,
    RefusedCall,
    RestRequest,
    Returned,
    call_digest,
    request_of,
    shape_of,
    with_keys,
)
from vendor_verifier.suites.bfcl.replies import read_answer
from vendor_verifier.transport.httpx_client import Transport
from vendor_verifier.transport.policy import ProgressMeter, Sending
from vendor_verifier.values.plan import Limits
from vendor_verifier.values.request import HttpRequest
from vendor_verifier.values.sample import Sample
from vendor_verifier.wire.openai_chat import OpenAIChat
from vendor_verifier.wire.payload import PayloadError, parse_json

TIME_LIMIT_S = 5.0
INSTALLED_AT = Path("eval_checker", "executable_eval", "data", "executable_python_function.py")
_PACKAGE = "bfcl"
_SUITE = "bfcl"
_ALLOWED_MODULES = frozenset({"math"})
_REFUSED = frozenset(
    "requests api_key os sys eval exec compile open input globals locals vars getattr setattr __import__ time "
    "subprocess socket urllib breakpoint".split()
)
_WORKER = """
import json, math, os, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
except (ImportError, OSError, ValueError):
    pass
names = {"math": math}
# A function's printed output is discarded; its result is the whole answer, up to a limit.
answers, sys.stdout = sys.stdout, open(os.devnull, "w")
exec(compile(json.loads(sys.stdin.readline()), "functions", "exec"), names)
for line in sys.stdin:
    name, positional, named = json.loads(line)
    try:
        answer = {"value": names[name](*positional, **named)}
        text = json.dumps(answer, default=repr)
        if len(text) > 1_000_000:
            text = json.dumps({"error": f"{name}: a result of {len(text)} characters"})
    except Exception as error:
        text = json.dumps({"error": f"{name}: {type(error).__name__}: {error}"[:300]})
    print(text, flush=True, file=answers)
"""


@dataclass(frozen=True, slots=True)
class InstalledFunctions:
    """Functions of one source text. ``known`` are those that run here, ``refused`` the others, with the reason.

    Every call has a process of its own, so that none can change or stop another, and of one GiB.
    """

    source: str = field(repr=False)
    known: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict)
    time_limit_s: float = TIME_LIMIT_S

    def missing(self, name: str) -> str | None:
        """The reason that this function cannot be run here, or None when it can."""
        if name in self.known:
            return None
        return f"{name} {self.refused[name]}" if name in self.refused else f"there is no {name}"

    def call(self, call: FunctionCall) -> Returned:
        """Run one call; whatever goes wrong is its error."""
        reason = self.missing(call.name)
        if reason is not None:
            return Returned(error=reason)
        arguments = json.dumps([call.name, list(call.positional), dict(call.named)])
        return _run(self.source, call.name, arguments, self.time_limit_s)


@lru_cache(maxsize=4096)
def _run(source: str, name: str, arguments: str, time_limit_s: float) -> Returned:
    """One call in a process of its own. The functions only calculate, so what is known need not be run again."""
    try:
        done = subprocess.run(  # noqa: S603 our own interpreter, isolated, without the environment
            [sys.executable, "-I", "-c", _WORKER],
            input=f"{json.dumps(source)}\n{arguments}\n",
            capture_output=True,
            text=True,
            timeout=time_limit_s,
            env={},
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return Returned(error=f"{name}: not done within {time_limit_s:g} s")
    except ValueError:
        return Returned(error=f"{name}: gave no result that can be read")
    return Returned(answer.get("value"), answer.get("error"))


def find_functions(where: str) -> InstalledFunctions | None:
    """The functions of the package at ``where`` (a folder in, at or above it), else of the installed one, else None."""
    files = (folder / INSTALLED_AT for folder in package_folders(_PACKAGE, where))
    file = next((path for path in files if path.is_file()), None)
    if file is None:
        return None
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return None
    return pure_functions(tree)


def pure_functions(tree: ast.Module) -> InstalledFunctions:
    """The functions of a module that only calculate, and those that use one that does not are refused too."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    refused = {name: _reason(node) for name, node in functions.items() if _is_refused(node)}
    while more := {
        name: f"uses {min(used)}"
        for name, node in functions.items()
        if name not in refused and (used := _names(node) & refused.keys())
    }:
        refused |= more
    kept = [node for name, node in functions.items() if name not in refused]
    source = ast.unparse(ast.Module(body=list(kept), type_ignores=[]))
    return InstalledFunctions(source, frozenset(node.name for node in kept), refused)


def _is_refused(node: ast.FunctionDef) -> bool:
    imports = (found for found in ast.walk(node) if isinstance(found, (ast.Import, ast.ImportFrom)))
    foreign = any(
        isinstance(found, ast.ImportFrom) or any(alias.name not in _ALLOWED_MODULES for alias in found.names)
        for found in imports
    )
    hidden = any(isinstance(found, ast.Attribute) and found.attr.startswith("__") for found in ast.walk(node))
    return foreign or hidden or bool(node.decorator_list) or bool(_free_names(node) & _REFUSED)


def _reason(node: ast.FunctionDef) -> str:
    """The end of a sentence that begins with the function's name."""
    names = _free_names(node)
    if "requests" in names:
        return "needs a network and a key" if "api_key" in names else "needs a network"
    return (
        "evaluates text that the vendor writes" if names & {"eval", "exec", "compile"} else "does more than calculate"
    )


def _names(node: ast.AST) -> set[str]:
    return {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}


def _free_names(node: ast.FunctionDef) -> set[str]:
    """The names that are used and are no parameters; a parameter may well be called ``time``."""
    arguments = node.args
    own = {item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    return _names(node) - own


REST_FILE = "bfcl/rest.jsonl"
_LIMITS = Limits(total_s=20.0, connect_s=10.0, first_token_s=20.0, idle_s=20.0)
# Free tiers allow about one request a second.
PAUSE_S = 1.0


class _Stored(msgspec.Struct):
    call: str
    status: int | None
    shape: Any
    error: str | None


def read_rest_answers(folder: RunFolder) -> dict[str, Fetched]:
    """The stored answers of REST services, by the digest of their call.

    Raises:
        RunFolderError: the file is damaged.
    """
    try:
        lines = (folder.path / REST_FILE).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise RunFolderError(f"{folder.path / REST_FILE} cannot be read: {error}") from None
    found: dict[str, Fetched] = {}
    for number, line in enumerate(lines, 1):
        try:
            row = msgspec.convert(parse_json(line), _Stored)
        except (PayloadError, msgspec.ValidationError) as error:
            raise RunFolderError(f"{folder.path / REST_FILE}:{number}: no answer of a service: {error}") from None
        found[row.call] = Fetched(row.status, row.shape, row.error)
    return found


def fetch_rest_answers(
    folder: RunFolder,
    samples: Sequence[Sample],
    keys: Mapping[str, str],
    scrubber: Scrubber,
    *,
    pause_s: float = PAUSE_S,
) -> None:
    """Ask the services for every call of the run's records without a stored answer, and store the answers.

    Raises:
        StorageError: the disk refused.
    """
    rest = {sample.id: sample for sample in samples if sample.expected.get("category") in REST}
    if not rest:
        return
    known = read_rest_answers(folder)
    due = {digest: request for digest, request in _requests(folder, rest, keys) if digest not in known}
    if due:
        found = anyio.run(_fetched, due, scrubber, pause_s)
        _store(folder, {**known, **found})


def _requests(
    folder: RunFolder, samples: Mapping[str, Sample], keys: Mapping[str, str]
) -> Iterator[tuple[str, RestRequest]]:
    for record in folder.read_records(lambda _line, _reason: None):
        sample, final = samples.get(record.sample), record.final
        if record.suite != _SUITE or sample is None or final is None:
            continue
        calls = read_answer(sample.expected, final).calls
        for arguments in calls[0].values() if len(calls) == 1 else ():
            try:
                request = request_of(sample.expected, arguments)
            except RefusedCall:
                continue
            filled = with_keys(request, sample.expected, list(sample.turn.messages), keys)
            yield call_digest(sample.id, arguments), filled


async def _fetched(due: Mapping[str, RestRequest], scrubber: Scrubber, pause_s: float) -> dict[str, Fetched]:
    found: dict[str, Fetched] = {}
    asked: set[str | None] = set()
    async with Transport(_LIMITS) as transport:
        for digest, request in due.items():
            host = urlsplit(request.url).hostname
            if host in asked:
                await anyio.sleep(pause_s)
            asked.add(host)
            found[digest] = await _fetch(transport, request, scrubber)
    return found


async def _fetch(transport: Transport, request: RestRequest, scrubber: Scrubber) -> Fetched:
    sent = HttpRequest(request.url, request.headers, b"", method="GET")
    meter = ProgressMeter(OpenAIChat().reader())
    sending = Sending(sent, meter, time.perf_counter_ns())
    exchange = await transport.exchange(sending)
    if exchange.lost:
        # A kept connection ended under it.
        exchange = await transport.exchange(structs.replace(sending, fresh=True))
    if exchange.failure is not None:
        return Fetched(exchange.status, error=scrubber.text(f"{exchange.failure.kind}: {exchange.failure.message}"))
    try:
        return Fetched(exchange.status, shape_of(parse_json(exchange.body)))
    except ValueError:
        # An answer that is no JSON has no shape; its status is compared instead.
        return Fetched(exchange.status)


def _store(folder: RunFolder, answers: Mapping[str, Fetched]) -> None:
    folder.create_inside(REST_FILE.rpartition("/")[0])
    lines = (json.dumps({"call": digest, **asdict(answer)}) + "\n" for digest, answer in answers.items())
    folder.write(REST_FILE, "".join(lines))
