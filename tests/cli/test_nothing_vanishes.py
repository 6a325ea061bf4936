"""Whatever is typed does something: it changes what is sent, written, printed or the exit code, or it is refused.

The flags are asked of the command line itself, so a new one without a line in the tables (``flag_cases``) fails here.
"""

from __future__ import annotations

import json
import webbrowser
from collections.abc import Iterator
from typing import Any

import pytest
from commands_seen import CONFIG, Bench
from flag_cases import ALONE, CAPACITY, OTHERS, REAL, TOGETHER, Shown
from histories import nights

import vendor_verifier.features.capacity.search as capacity_module
import vendor_verifier.features.simulate.command as simulate_module
import vendor_verifier.pipeline.plan as planning
from vendor_verifier.cli.main import COMMAND_NAMES, build_app
from vendor_verifier.cli.run import run_command
from vendor_verifier.console import main_job
from vendor_verifier.errors import UsageError
from vendor_verifier.features.history.database import add_run

TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
ROWS = [{"messages": [{"role": "user", "content": f"Look up {word}."}], "tools": [TOOL]} for word in ("one", "two")]
CALLS = [{**row, "expected": {"calls": [{"name": "look_up", "parameters": {}}]}} for row in ROWS]
CUSTOM = [{"messages": row["messages"], "tool_calls": [{"name": "look_up", "args": {}}]} for row in ROWS]
ANSWER = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}]}
RESULTS = [
    {"data_index": at, "request": {"model": "m", **row}, "response": ANSWER, "status": "success"}
    for at, row in enumerate(ROWS, 1)
]
SHARED = {*ALONE, *TOGETHER}
# They are the command's own way of speaking, and are looked at where it speaks.
SPOKEN = {"--json", "--verbose", "--quiet", "--history", "--no-history"}


def flags_of(command: str) -> list[str]:
    """Every flag and argument of a command, by the name its help gives."""
    return [argument.name for argument in build_app()[command].assemble_argument_collection() if argument.show]


@pytest.fixture(autouse=True)
def _no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is typed here opens a window."""
    monkeypatch.setattr(webbrowser, "open", lambda _: False)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A folder with all files that the tables name."""
    found = Bench(tmp_path_factory.mktemp("bench"))
    entry = CONFIG.partition("    - ")[2]
    found.write("config.yaml", CONFIG)
    second = entry.replace("label: a", "label: b").replace("      is_baseline: true\n", "")
    found.write("two.yaml", CONFIG + "    - " + second + CONFIG.replace("simulated-model:\n", "other-model:\n"))
    found.write("down.yaml", CONFIG.replace("sim://faithful", "sim://down"))
    found.write("priced.yaml", CONFIG + "      price: {input: 1.0, output: 4.0}\n")
    found.write("http.yaml", CONFIG.replace("sim://faithful", "http://127.0.0.1:9/v1"))
    found.write("rows.jsonl", ROWS)
    found.write("bad.jsonl", json.dumps(ROWS[0]) + "\nno row\n")
    found.write("calls.jsonl", CALLS)
    found.write("bad_calls.jsonl", json.dumps(CALLS[0]) + "\nno row\n")
    found.write("custom.jsonl", CUSTOM)
    # An argument without a type: tools are made of such rows on request alone.
    found.write("open.jsonl", [{**row, "tool_calls": [{"name": "look_up", "args": {"key": None}}]} for row in CUSTOM])
    found.write("tools.json", json.dumps([TOOL]))
    found.write("results.jsonl", RESULTS)
    found.write("bad_results.jsonl", json.dumps(RESULTS[0]) + "\nno row\n")
    found.write("literal.yaml", CONFIG + "      api_key: sk-0123456789abcdef\n")
    (found.folder / "old").mkdir()
    found.write("old/simulated-model_simulated_results.jsonl", RESULTS)
    found.write("times.csv", "at_s\n0\n1\n")
    found.write("job.json", {"type": "bfcl", "tasks": {"t": {"type": "simple"}}})
    data = {"files_url": "custom.jsonl"}
    found.write("custom.json", {"type": "bfcl", "tasks": {"t": {"type": "simple", "dataset": data}}})
    found.write(
        "open.json", {"type": "bfcl", "tasks": {"t": {"type": "simple", "dataset": {"files_url": "open.jsonl"}}}}
    )
    for number in range(2):
        more = ("--config-file-path", "two.yaml") if number else ()
        found.see("-n", "2", "-q", "-o", "begun" if not number else "again", "--history", "h.sqlite", *more)
    found.see("-n", "2", "-q", "--retries", "0", "-o", "failed", "--config-file-path", "down.yaml")
    long = {**ROWS[0], "messages": [{"role": "user", "content": "Look up. " * 5000}]}
    found.see("-q", "-o", "long", "--test-file-path", found.write("long.jsonl", [long]))
    found.see("-n", "2", "-q", "-o", "priced", "--config-file-path", "priced.yaml")
    # Two runs of the same rules of scoring, which no other line here changes.
    for name in ("dawn", "dusk"):
        found.see("-n", "2", "-q", "-o", name)
    found.see("bundle", "begun")
    for run in nights({"a": [100.0] * 12 + [300.0] * 6}):
        assert add_run(found.folder / "worse.sqlite", run) is None
    return found


def assert_shown(bench: Bench, flag: str, case: Shown) -> None:
    """With the flag something else is seen than without it."""
    with_it, without = bench.see(*case.beside, *case.words), bench.see(*case.beside)
    assert case.look(with_it) != case.look(without), f"{flag} vanishes: {' '.join([*case.beside, *case.words])}"


def test_every_flag_of_every_command_has_a_line_in_the_tables() -> None:
    """A new flag is shown to do something, or this fails; the tables name no flag that is gone."""
    known = {command: set(OTHERS.get(command, ())) for command in COMMAND_NAMES}
    for command in ("run", "bfcl", "plan", "check"):
        known[command] |= SHARED
    known["bfcl"].remove("--suite")  # a job says itself which evaluation it is
    known["capacity"] = {*CAPACITY, "--from", "--quiet", "--json"}
    known["simulate"] = {"--port", "--seed", "--speed", "--test-file-path"}
    known["view"] = {"RUNS", "--port", "--print"}  # it serves until it is ended: test_viewing.py
    assert {command: set(flags_of(command)) for command in COMMAND_NAMES} == known
    assert build_app().default_command is run_command


@pytest.mark.slow
@pytest.mark.parametrize("flag", ALONE)
def test_a_flag_of_a_run_shows(bench: Bench, flag: str) -> None:
    """Each in a run or a dry run of its own."""
    assert_shown(bench, flag, ALONE[flag])


@pytest.mark.slow
@pytest.mark.parametrize("flag", TOGETHER)
def test_a_setting_of_a_run_shows_in_its_files(bench: Bench, flag: str) -> None:
    """All in one run, each at its own place in what the run writes and prints."""
    words = [word for name, (values, _) in TOGETHER.items() for word in (name, *values)]
    assert_shown(bench, flag, Shown(tuple(words), REAL, TOGETHER[flag][1]))


@pytest.mark.slow
@pytest.mark.parametrize(("command", "flag"), [(command, flag) for command in OTHERS for flag in OTHERS[command]])
def test_a_flag_of_another_command_shows(bench: Bench, command: str, flag: str) -> None:
    """Each with the command's own files, figures and words."""
    assert_shown(bench, f"{command} {flag}", OTHERS[command][flag])


@pytest.mark.slow
def test_a_plan_takes_every_flag_of_a_run_or_says_that_it_shows_nothing_of_it(bench: Bench) -> None:
    """One may type `plan` before the words of a run: what it does not foretell is named."""
    vanished = []
    for flag, words, beside in _typed():
        with_it, without = bench.see("plan", *beside, *words), bench.see("plan", *beside)
        if with_it.raw == without.raw and with_it.printed == without.printed:
            vanished.append(flag)
    assert not vanished, ", ".join(vanished)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check", "bfcl"])
def test_a_command_around_a_run_hands_every_flag_on(
    bench: Bench, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked of the run differs with each flag, or it is refused."""
    asked: list[Any] = []

    def prepare(request: Any, *_: Any, **more: Any) -> Any:
        asked.append((_fields(request), more))
        raise UsageError("that is all")

    monkeypatch.setattr(planning, "prepare", prepare)
    monkeypatch.setattr(main_job, "prepare", prepare)
    own = ("--job", "job.json") if command == "bfcl" else ()
    known: dict[tuple[str, ...], Any] = {}

    def outcome(*words: str) -> Any:
        if words not in known:
            asked.clear()
            known[words] = (bench.see(command, *own, *words).printed, list(asked))
        return known[words]

    found = []
    for flag, words, beside in _typed():
        if command == "bfcl" and "--suite" in beside:
            at = beside.index("--suite")
            beside = (*beside[:at], *beside[at + 2 :])
        found.append((flag, outcome(*beside, *words) == outcome(*beside)))
    assert [flag for flag, same in found if same and flag not in SPOKEN] == []


@pytest.mark.slow
def test_a_check_speaks_as_it_is_told(bench: Bench) -> None:
    """JSON, more words, and which history: what a check itself does beside the run."""
    plain = bench.see("check", *REAL, "--no-history")
    told = bench.see("check", *REAL, "--json", "--verbose", "--history", "OUT/h.sqlite")
    assert (plain.out, told.out[:1]) == ("", "{")
    assert "h.sqlite" in told.files
    assert "h.sqlite" not in plain.files
    assert bench.see("check", *REAL, "--quiet").code == 2


@pytest.mark.slow
def test_a_search_for_capacity_hands_every_flag_on(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked of the search, or what is printed, differs with each flag."""
    asked: list[Any] = []

    def measure(request: Any, prepared: Any, **_: Any) -> Any:
        asked.append((_fields(request), prepared.plan.entries, prepared.plan.warnings))
        raise UsageError("that is all")

    monkeypatch.setattr(capacity_module, "measure_capacity", measure)
    plain, vanished = bench.see("capacity").printed, []
    (usual,) = asked
    for flag, words in CAPACITY.items():
        asked.clear()
        if bench.see("capacity", flag, *words).printed == plain and asked == [usual]:
            vanished.append(flag)
    assert vanished == []


@pytest.mark.parametrize("flag", [*CAPACITY, "--quiet"])
def test_judging_a_stored_search_again_refuses_every_flag_of_sending(flag: str, bench: Bench) -> None:
    """`--from` sends nothing, so a flag about sending would do nothing; the others are its own."""
    if flag in ("--slo", "--at-least"):
        return
    seen = bench.see("capacity", "--from", "begun", flag, *CAPACITY.get(flag, ()))
    assert seen.code == 2
    assert f"{flag}: --from judges a stored search again and sends nothing" in seen.err


def test_simulate_serves_as_it_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Port, seed, speed and the answers of a file reach the server."""
    served: list[dict[str, Any]] = []

    async def serve(**settings: Any) -> None:
        served.append({name: settings[name] for name in ("port", "seed", "speed")} | {"known": len(settings["known"])})

    monkeypatch.setattr(simulate_module, "serve", serve)
    assert bench.see("simulate", "--port", "0", "--seed", "3", "--speed", "2").code == 0
    assert bench.see("simulate", "--port", "0", "--test-file-path", "calls.jsonl").code == 0
    # A row's question is known natively and as text.
    assert served == [
        {"port": 0, "seed": 3, "speed": 2.0, "known": 0},
        {"port": 0, "seed": 0, "speed": 1.0, "known": 2 * len(CALLS)},
    ]


def _typed() -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Each flag of a run, the words with it, and those beside it."""
    for flag, (values, _) in TOGETHER.items():
        yield flag, (flag, *values), ()
    for flag, case in ALONE.items():
        gone = {*REAL, "--dry-run"} if case.beside[: len(REAL)] == REAL else {"--dry-run"}
        yield flag, case.words, tuple(word for word in case.beside if word not in gone)


def _fields(request: Any) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.__dataclass_fields__}
