"""Write datasets/samples.jsonl from the hand-written material in sample_catalogue.py; it contacts nothing.

    python scripts/make_samples.py            write the file and print how many rows each category and language has
    python scripts/make_samples.py --check    exit 1 if the file on disk is not what would be written

The output depends on the catalogue alone: no randomness, no clock, no environment. Rows written one by one come first
within a category, rows from templates after them, in the order of the catalogue.
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

from sample_catalogue import PROMPTS, TEMPLATES, TOOLS, Got, Prompt, Say, Use

SAMPLES = Path(__file__).resolve().parent.parent / "datasets" / "samples.jsonl"

Row = dict[str, Any]
Message = dict[str, Any]


def compact(value: Any) -> str:
    """JSON in one line, without spaces, with every script readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def call_id(opening: str, number: int) -> str:
    """The id of a conversation's n-th call: the same in every build, different in every conversation."""
    return "call_" + hashlib.sha256(f"{opening}\n{number}".encode()).hexdigest()[:16]


def call_message(uses: list[Use], ids: list[str]) -> Message:
    """One assistant turn with its tool calls."""
    calls = [
        {"id": id_, "type": "function", "function": {"name": use.name, "arguments": compact(use.arguments)}}
        for use, id_ in zip(uses, ids, strict=True)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result_message(result: Got, id_: str) -> Message:
    """The result of one call; text stays text, anything else becomes JSON."""
    content = result.value if isinstance(result.value, str) else compact(result.value)
    return {"role": "tool", "tool_call_id": id_, "content": content}


def turn_messages(turns: Sequence[str | Say | Use | Got]) -> Iterator[Message]:
    """The messages of a conversation, with ids that tie every result to its call."""
    opening, made, waiting = str(turns[0]), 0, list[str]()
    for kind, members in groupby(turns, key=type):
        group: list[Any] = list(members)
        if kind is Use:
            waiting = [call_id(opening, made + index) for index in range(len(group))]
            made += len(group)
            yield call_message(group, waiting)
        elif kind is Got:
            for result, id_ in zip(group, waiting, strict=True):
                yield result_message(result, id_)
        else:
            for turn in group:
                yield {"role": "assistant", "content": turn.text} if kind is Say else {"role": "user", "content": turn}


def build_row(category: str, prompt: Prompt) -> Row:
    """One line of the file, its keys in the order in which they are written."""
    system = [] if prompt.system is None else [{"role": prompt.system_role, "content": prompt.system}]
    row: Row = {"messages": [*system, *turn_messages(prompt.turns)]}
    row["tools"] = [TOOLS[name] for name in prompt.tools.split()]
    if prompt.tool_choice is not None:
        row["tool_choice"] = prompt.tool_choice
    if prompt.parallel is not None:
        row["parallel_tool_calls"] = prompt.parallel
    row["expected_tool_call"] = prompt.expected
    row["tags"] = {
        "category": category,
        "domain": prompt.domain,
        "language": prompt.language,
        "difficulty": prompt.difficulty,
    }
    return row


def templated_prompts(category: str) -> Iterator[Prompt]:
    """The prompts of a category that come from templates."""
    for template in TEMPLATES.get(category, ()):
        for fill in template.fills:
            yield template.prompt._replace(turns=tuple(str(turn).format(*fill) for turn in template.prompt.turns))


def build_rows() -> Iterator[Row]:
    """Every row, in the order of the file."""
    for category, prompts in PROMPTS.items():
        for prompt in (*prompts, *templated_prompts(category)):
            yield build_row(category, prompt)


def summary(rows: Sequence[Row]) -> str:
    """How many rows each category and each language has, and how many come from templates."""
    templated = sum(len(template.fills) for templates in TEMPLATES.values() for template in templates)
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
