"""Write datasets/samples.jsonl from the hand-written material in sample_catalogue/; it contacts nothing.

    python scripts/make_samples.py            write the file and print how many rows each category and language has
    python scripts/make_samples.py --check    exit 1 if the file on disk is not what would be written

The output depends on the catalogue alone: no randomness, no clock, no environment. The catalogue is YAML:

``tools/*.yaml``
    Functions as a request declares them: name, description, parameters. Names are unique over all files.
``systems.yaml``
    System prompts that several rows share, by name.
``rows/<category>.yaml``
    The rows of one category, in the order of the file; templates come last. Keys of a row:

    expected          what a good model should do: true = call a tool, false = answer in words
    domain, language, difficulty    its tags
    tools             names of the tools it offers
    user              the only turn, or
    turns             the conversation: ``user``, ``say`` (assistant's words), ``use`` with ``arguments`` (assistant's
                      call; neighbours belong to one turn), ``got`` (result of the earliest call without one)
    system            name of a shared system prompt; ``system_text`` gives one of its own, ``system_role`` another role
    tool_choice, parallel    sent as ``tool_choice`` and ``parallel_tool_calls``
    fills             makes it a template: one row per list of words for the slots {0}, {1} … of ``user``
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

SAMPLES = Path(__file__).resolve().parent.parent / "datasets" / "samples.jsonl"
CATALOGUE = Path(__file__).resolve().parent / "sample_catalogue"
# In the order of the file.
CATEGORIES = (
    "single_call",
    "choose_tool",
    "parallel_calls",
    "no_call_chitchat",
    "no_call_missing_info",
    "no_call_irrelevant",
    "no_argument_tool",
    "nested_objects",
    "arrays",
    "enums",
    "unions",
    "number_ranges",
    "patterns_formats",
    "closed_objects",
    "defs_ref",
    "const_oneof",
    "multi_turn_call",
    "multi_turn_answer",
    "long_system",
    "dotted_names",
    "input_role",
    "forced_choice",
    "choice_none",
)
ROW_KEYS = frozenset(
    (
        *("expected", "domain", "language", "difficulty", "tools", "user", "turns", "fills"),
        *("system", "system_text", "system_role", "tool_choice", "parallel"),
    )
)

Entry = dict[str, Any]
Row = dict[str, Any]
Message = dict[str, Any]


def compact(value: Any) -> str:
    """JSON in one line, without spaces, with every script readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read(name: str) -> Any:
    """One file of the catalogue."""
    return yaml.safe_load((CATALOGUE / name).read_text(encoding="utf-8"))


def read_tools() -> dict[str, Entry]:
    """All tools by name, as a request declares them.

    Raises:
        ValueError: two tools of one name.
    """
    tools: dict[str, Entry] = {}
    for path in sorted((CATALOGUE / "tools").glob("*.yaml")):
        for function in read(f"tools/{path.name}"):
            if function["name"] in tools:
                raise ValueError(f"{path.name}: there is already a tool named {function['name']}")
            tools[function["name"]] = {"type": "function", "function": function}
    return tools


def read_entries(category: str) -> Iterator[Entry]:
    """The rows of a category before they are built, each template once for every fill.

    Raises:
        ValueError: a key that no row has, which would otherwise be a typing error without consequence.
    """
    for entry in read(f"rows/{category}.yaml"):
        if not entry.keys() <= ROW_KEYS:
            raise ValueError(f"{category}: unknown keys {sorted(entry.keys() - ROW_KEYS)}")
        for fill in entry.get("fills", ()):
            yield {**entry, "user": entry["user"].format(*fill)}
        if "fills" not in entry:
            yield entry


def call_id(opening: str, number: int) -> str:
    """The id of a conversation's n-th call: the same in every build, different in every conversation."""
    return "call_" + hashlib.sha256(f"{opening}\n{number}".encode()).hexdigest()[:16]


def call_message(uses: Sequence[Entry], ids: Sequence[str]) -> Message:
    """One assistant turn with its tool calls."""
    calls = [
        {"id": id_, "type": "function", "function": {"name": use["use"], "arguments": compact(use["arguments"])}}
        for use, id_ in zip(uses, ids, strict=True)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result_message(result: Any, id_: str) -> Message:
    """The result of one call; text stays text, anything else becomes JSON."""
    return {"role": "tool", "tool_call_id": id_, "content": result if isinstance(result, str) else compact(result)}


def turn_messages(turns: Sequence[Entry]) -> Iterator[Message]:
    """The messages of a conversation, with ids that tie every result to its call."""
    opening, made, waiting = str(turns[0]["user"]), 0, list[str]()
    for kind, members in groupby(turns, key=lambda turn: next(iter(turn))):
        group = list(members)
        if kind == "use":
            waiting = [call_id(opening, made + index) for index in range(len(group))]
            made += len(group)
            yield call_message(group, waiting)
        elif kind == "got":
            for turn, id_ in zip(group, waiting, strict=True):
                yield result_message(turn["got"], id_)
        else:
            role = {"user": "user", "say": "assistant"}[kind]
            yield from ({"role": role, "content": turn[kind]} for turn in group)


def build_row(category: str, entry: Entry, tools: Entry, systems: Entry) -> Row:
    """One line of the file, its keys in the order in which they are written."""
    content = systems[entry["system"]] if "system" in entry else entry.get("system_text")
    system = [] if content is None else [{"role": entry.get("system_role", "system"), "content": content}]
    turns = entry["turns"] if "turns" in entry else [{"user": entry["user"]}]
    row: Row = {"messages": [*system, *turn_messages(turns)]}
    row["tools"] = [tools[name] for name in entry["tools"]]
    if "tool_choice" in entry:
        row["tool_choice"] = entry["tool_choice"]
    if "parallel" in entry:
        row["parallel_tool_calls"] = entry["parallel"]
    row["expected_tool_call"] = entry["expected"]
    row["tags"] = {"category": category, **{tag: entry[tag] for tag in ("domain", "language", "difficulty")}}
    return row


def build_rows() -> Iterator[Row]:
    """Every row, in the order of the file."""
    tools, systems = read_tools(), read("systems.yaml")
    for category in CATEGORIES:
        for entry in read_entries(category):
            yield build_row(category, entry, tools, systems)


def summary(rows: Sequence[Row]) -> str:
    """How many rows each category and each language has, and how many come from templates."""
    templated = sum("fills" in entry for category in CATEGORIES for entry in read_entries(category))
    lines = [f"{len(rows)} rows, {templated} of them from templates"]
    for tag in ("category", "language", "domain", "difficulty"):
        counts = Counter(row["tags"][tag] for row in rows)
        lines.append(f"{tag}: " + ", ".join(f"{value} {count}" for value, count in counts.items()))
    expected = sum(row["expected_tool_call"] for row in rows)
    return "\n".join([*lines, f"tool call expected: {expected}, not expected: {len(rows) - expected}"])


def main() -> int:
    """Write the file, or compare it with --check; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write datasets/samples.jsonl from the catalogue.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the file differs")
    check = parser.parse_args().check
    rows = list(build_rows())
    content = "".join(compact(row) + "\n" for row in rows).encode()
    if check:
        same = SAMPLES.is_file() and SAMPLES.read_bytes() == content
        print(
            f"{SAMPLES.name} is up to date" if same else f"{SAMPLES.name} differs: run python scripts/make_samples.py"
        )
        return 0 if same else 1
    SAMPLES.write_bytes(content)
    print(summary(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
