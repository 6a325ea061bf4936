"""Write the rows of the tool evaluations from the hand-written material in evaluation_catalogue/; it contacts nothing.

    python scripts/make_evaluations.py            write the files and print what they hold
    python scripts/make_evaluations.py --check    exit 1 if a file on disk is not what would be written

The output depends on the catalogue alone. ``evaluation_catalogue/<evaluation>/<category>.yaml`` has the keys

``tools``
    What every row of the category offers: ``name``, ``about`` (its description), ``takes`` (parameter → schema, or a
    type, ``type: description``, or a list of the words allowed; a name that begins with ``~`` is optional).
``server``
    The MCP server that has the tools, where the evaluation knows servers.
``rows``
    ``user``, ``calls`` (``[tool, parameters, output]``; the output is what a later call needs), ``difficulty``,
    ``language`` (en by default), ``similar`` (per call, tools that would do as well), ``marks`` (``similar``: the row
    offers a tool that is easily confused with the right one).

Everything else about a row (number of calls, no-argument, repeated, nested, null, dependent) is found out here.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

DATASETS = Path(__file__).resolve().parent.parent / "datasets"
CATALOGUE = Path(__file__).resolve().parent / "evaluation_catalogue"
EVALUATIONS = ("toolbench", "mcp_toolbench", "tool_correctness")
FILE_KEYS = frozenset({"server", "tools", "rows"})
TOOL_KEYS = frozenset({"name", "about", "takes"})
ROW_KEYS = frozenset({"user", "calls", "difficulty", "language", "similar", "marks"})
# In the order in which they are written.
FEATURES = ("multi_step", "dependent", "no_argument", "repeated", "nested", "null", "similar", "no_call")

Entry = dict[str, Any]
Row = dict[str, Any]


def compact(value: Any) -> str:
    """JSON in one line, without spaces, with every script readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def refuse_unknown(entry: Mapping[str, Any], known: frozenset[str], where: str) -> None:
    """Raise ValueError for a key that would otherwise be a typing error without consequence."""
    if not entry.keys() <= known:
        raise ValueError(f"{where}: unknown keys {sorted(entry.keys() - known)}")


def schema_of(spelled: Any) -> Entry:
    """The schema of one parameter, from its short form."""
    if isinstance(spelled, list):
        return {"type": "string", "enum": spelled}
    if isinstance(spelled, str):
        kind, _, words = spelled.partition(": ")
        return {"type": kind, "description": words} if words else {"type": kind}
    return dict(spelled)


def build_tool(entry: Entry, where: str) -> Entry:
    """One tool as a request declares it."""
    refuse_unknown(entry, TOOL_KEYS, where)
    takes = entry.get("takes", {})
    parameters: Entry = {
        "type": "object",
        "properties": {name.removeprefix("~"): schema_of(spelled) for name, spelled in takes.items()},
    }
    if required := [name for name in takes if not name.startswith("~")]:
        parameters["required"] = required
    function = {"name": entry["name"], "description": entry["about"], "parameters": parameters}
    return {"type": "function", "function": function}


def build_call(spelled: Sequence[Any]) -> Entry:
    """``[tool, parameters, output]``, the last two optional."""
    call = {"name": spelled[0], "parameters": spelled[1] if len(spelled) > 1 else {}}
    return {**call, "output": spelled[2]} if len(spelled) > 2 else call


def leaves(value: Any) -> Iterator[Any]:
    """Everything inside a JSON value that holds nothing itself."""
    if isinstance(value, (dict, list)):
        for member in value.values() if isinstance(value, dict) else value:
            yield from leaves(member)
    else:
        yield value


def features_of(calls: Sequence[Entry], tools: Sequence[Entry], marks: Sequence[str]) -> list[str]:
    """What is particular about a row, in the order of ``FEATURES``."""
    bare = {tool["function"]["name"] for tool in tools if not tool["function"]["parameters"]["properties"]}
    values = [value for call in calls for value in call["parameters"].values()]
    found = {
        "multi_step": len(calls) > 1,
        "dependent": any("output" in call for call in calls),
        "no_argument": any(call["name"] in bare for call in calls),
        "repeated": len({call["name"] for call in calls}) < len(calls),
        "nested": any(
            isinstance(value, dict)
            or (isinstance(value, list) and any(isinstance(member, (dict, list)) for member in value))
            for value in values
        ),
        "null": None in [leaf for value in values for leaf in leaves(value)],
        "similar": "similar" in marks,
        "no_call": not calls,
    }
    return [name for name in FEATURES if found[name]]


def build_row(evaluation: str, category: str, number: int, entry: Entry, source: Entry, tools: list[Entry]) -> Row:
    """One line of a file, its keys in the order in which they are written."""
    calls = [build_call(spelled) for spelled in entry["calls"]]
    expected: Entry = {"calls": calls}
    if "similar" in entry:
        expected["similar"] = entry["similar"]
    marks = [*entry.get("marks", ()), *(["similar"] if "similar" in entry else [])]
    tags: Entry = {"id": f"{evaluation}-{category}-{number}", "category": category, "difficulty": entry["difficulty"]}
    if "server" in source:
        tags |= {"call_type": "multi" if len(calls) > 1 else "single", "mcp_servers": [source["server"]]}
    tags |= {"language": entry.get("language", "en"), "features": features_of(calls, tools, marks)}
    return {
        "messages": [{"role": "user", "content": entry["user"]}],
        "tools": tools,
        "expected": expected,
        "tags": tags,
    }


def build_rows(evaluation: str) -> Iterator[Row]:
    """Every row of an evaluation, category by category."""
    for path in sorted((CATALOGUE / evaluation).glob("*.yaml")):
        where = f"{evaluation}/{path.name}"
        source = yaml.safe_load(path.read_text(encoding="utf-8"))
        refuse_unknown(source, FILE_KEYS, where)
        tools = [build_tool(entry, where) for entry in source["tools"]]
        for number, entry in enumerate(source["rows"], 1):
            refuse_unknown(entry, ROW_KEYS, f"{where}, row {number}")
            yield build_row(evaluation, path.stem, number, entry, source, tools)


def summary(evaluation: str, rows: Sequence[Row]) -> str:
    """How many rows there are of each kind."""
    lines = [f"{evaluation}.jsonl: {len(rows)} rows"]
    for tag in ("category", "difficulty", "language"):
        counts = Counter(row["tags"][tag] for row in rows)
        lines.append(f"  {tag}: " + ", ".join(f"{value} {count}" for value, count in counts.items()))
    features = Counter(feature for row in rows for feature in row["tags"]["features"])
    lines.append("  features: " + ", ".join(f"{name} {features[name]}" for name in FEATURES))
    return "\n".join(lines)


def main() -> int:
    """Write the files, or compare them with --check; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write the rows of the tool evaluations from the catalogue.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    check = parser.parse_args().check
    differs = False
    for evaluation in EVALUATIONS:
        rows = list(build_rows(evaluation))
        content = "".join(compact(row) + "\n" for row in rows).encode()
        path = DATASETS / f"{evaluation}.jsonl"
        if not check:
            path.write_bytes(content)
            print(summary(evaluation, rows))
        elif not path.is_file() or path.read_bytes() != content:
            differs = True
            print(f"{path.name} differs: run python scripts/make_evaluations.py")
    return 1 if differs else 0


if __name__ == "__main__":
    raise SystemExit(main())
