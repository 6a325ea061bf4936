"""Tools in their many spellings, questions from chat requests, and samples with ids from rows of any format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import (
    LoadedSamples,
    Question,
    Row,
    UnusableRequest,
    data_error,
    kind_of,
    shortened,
    unpacked,
    usable,
)
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Sample, Source, content_digest, numbered
from vendor_verifier.text import counted
from vendor_verifier.wire.payload import as_dict

Tool = Mapping[str, Any]
_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "arguments")
_SCHEMA_WORDS = frozenset({"properties", "$ref", "$schema", "anyOf", "oneOf", "allOf", "additionalProperties"})


def declared_tools(value: object, key: str = "tools") -> tuple[list[Tool], list[str]]:
    """Tools as chat completions declares them, and what is wrong with them.

    They are an array of what :func:`read_tool` reads, or an object with such arrays under the names of servers.
    """
    value = unpacked(value, key) if value else value
    if isinstance(value, dict):
        value = [tool for server in value.values() for tool in (server if isinstance(server, list) else [server])]
    if not isinstance(value, list):
        raise UnusableRequest(f"expected an array of tools, read {kind_of(value)}", key)
    tools: list[Tool] = []
    defects: list[str] = []
    for position, item in enumerate(value, 1):
        tool, defect = read_tool(item)
        defects += [f"tool {position} {defect}"] if defect else []
        tools += [tool] if tool is not None else []
    defects += _name_defects(tools)
    return tools, defects if tools else [*defects, "no tool is offered"]


def _name_defects(tools: Iterable[object]) -> Iterator[str]:
    names: set[str] = set()
    for position, tool in enumerate(tools, 1):
        if not isinstance(tool, dict):
            continue
        name = as_dict(tool.get("function")).get("name") or tool.get("name")
        if not isinstance(name, str) or not name:
            yield f"tool {position} has no name"
        elif name in names:
            yield f"tool {shortened(name)} is declared twice; the first definition counts"
        else:
            names.add(name)


def read_tool(item: object) -> tuple[Tool | None, str | None]:
    """One tool as chat completions declares it, None if there is none, and what is wrong with it.

    Read are chat-completions tools, objects with ``parameters``, ``input_schema`` or ``inputSchema`` (a schema, or a
    mapping of properties), and bare names.
    """
    if isinstance(item, str) and item:
        return declared(item), None
    if not isinstance(item, dict):
        return None, f"is not an object but {kind_of(item)}; it is left out"
    inner = item.get("function")
    body = inner if isinstance(inner, dict) else item
    name = body.get("name")
    if not isinstance(name, str) or not name:
        return None, "has no name; it is left out"
    about = body.get("description")
    schema: Any = next((body[key] for key in _SCHEMA_KEYS if body.get(key) is not None), {})
    if not isinstance(schema, dict):
        return declared(name, about), f"has {kind_of(schema)} for a schema; it takes anything"
    is_schema = isinstance(schema.get("type"), (str, list)) or _SCHEMA_WORDS & schema.keys()
    if schema and not is_schema and all(isinstance(each, dict) for each in schema.values()):
        schema = {"type": "object", "properties": schema}
    if body is inner and schema is body.get("parameters"):
        return item, None
    return declared(name, about, schema), None


def declared(name: str, description: object = None, schema: Mapping[str, Any] | None = None) -> Tool:
    """The declaration of a function; what is empty is left out."""
    function: dict[str, Any] = {"name": name}
    if isinstance(description, str) and description:
        function["description"] = description
    if schema:
        function["parameters"] = schema
    return {"type": "function", "function": function}


# By name what chat completions can take at all.
_PARAMETERS: Mapping[str, Any] = {
    "temperature": Annotated[float, Meta(ge=0, le=2)],
    "top_p": Annotated[float, Meta(ge=0, le=1)],
    "presence_penalty": Annotated[float, Meta(ge=-2, le=2)],
    "frequency_penalty": Annotated[float, Meta(ge=-2, le=2)],
    "max_tokens": Annotated[int, Meta(ge=1)],
    "max_completion_tokens": Annotated[int, Meta(ge=1)],
    "n": Annotated[int, Meta(ge=1)],
    "top_logprobs": Annotated[int, Meta(ge=0)],
    "parallel_tool_calls": bool,
    "response_format": dict[str, Any],
    "stop": str | list[str],
    "tool_choice": str | dict[str, Any],
}


def parameter_defects(parameters: Mapping[str, Any]) -> list[str]:
    """Messages on parameters with an invalid value; unknown parameters are not checked."""
    found = []
    for name, value in parameters.items():
        try:
            msgspec.convert(value, _PARAMETERS.get(name, Any))
        except msgspec.ValidationError as error:
            read = shortened(json.dumps(value, ensure_ascii=False), 40)
            found.append(f"{name}: read {read}; {str(error)[:1].lower()}{str(error)[1:]}; it is sent so")
    return found


# Keys that the run sets, whatever the row states, and those that are not parameters.
_NO_PARAMETERS = frozenset({"model", "stream", "stream_options", "messages", "tools"})
# Keys of the right answer, as the data set states it.
_EXPECTED_KEYS = frozenset({"should_call_tool", "official_finish_reason", "scenario_check"})
# Keys about the row, never part of a chat-completions body, as is every key that begins with "expected".
_CONTROL_KEYS = _EXPECTED_KEYS | {
    "check_type", "tags", "category", "difficulty", "language", "domain", "id", "name", "description", "case_id",
    "comment", "data_index", "hash", "notes", "reference", "source",
}  # fmt: skip
_MAX_DEFECTS = 50


def read_question(row: Mapping[str, Any]) -> Question:
    """The question a row asks.

    The body is the row itself, its ``request``, or the ``body`` of a batch row, whose ``custom_id`` is the id.
    ``messages`` and ``tools`` may be JSON text, and the role ``_input`` becomes ``system``. Parameters that are null
    are dropped.
    """
    body = _body(row)
    messages = _array(body, "messages")
    if not isinstance(messages, list):
        raise UnusableRequest(f"expected an array of messages, read {kind_of(messages)}", "messages")
    if not messages:
        raise UnusableRequest("an empty array; expected at least one message", "messages")
    tools, defects = _tools(_array(body, "tools"))
    parameters = {
        key: value
        for key, value in body.items()
        if key not in _NO_PARAMETERS and value is not None and not _is_control(key)
    }
    tags = control_tags(row if body is row else {**body, **row})
    turn = Turn(tuple(_message(position, item) for position, item in enumerate(messages, 1)), tuple(tools), parameters)
    return Question(turn, tags, expected_in(tags), (*defects, *parameter_defects(parameters)))


def control_tags(row: Mapping[str, Any]) -> dict[str, Any]:
    """The control keys of a row that say something; a ``tags`` object is spread, the row's own keys win over it."""
    spread = as_dict(row.get("tags"))
    if "custom_id" in row:
        spread = {"id": row["custom_id"], **spread}
    own = {key: value for key, value in row.items() if _is_control(key) and value is not None}
    if isinstance(row.get("tags"), dict):
        del own["tags"]
    return {**spread, **own}


def expected_in(tags: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a row's tags that state the right answer."""
    return {key: value for key, value in tags.items() if key in _EXPECTED_KEYS or key.startswith("expected")}


def _is_control(key: str) -> bool:
    return key in _CONTROL_KEYS or key.startswith("expected")


def _body(row: Mapping[str, Any]) -> Mapping[str, Any]:
    if "messages" in row:
        return row
    if "request" in row and ("response" in row or "status" in row):
        raise UnusableRequest("this is a row of results, not a request; read result files with `import`", "request")
    for key in ("request", "body"):
        inner = row.get(key)
        if isinstance(inner, dict) and "messages" in inner:
            return inner
    found = ", ".join(shortened(key, 30) for key in list(row)[:8]) or "an empty object"
    hint = "; a raw `prompt` has to be rewritten as messages" if "prompt" in row else ""
    raise UnusableRequest(f"no `messages`: expected a chat-completions body, read {found}{hint}")


def _array(body: Mapping[str, Any], key: str) -> object:
    """The value of a key, which may be an array as JSON text; text without one is not a value."""
    value = body.get(key)
    return unpacked(value, key, "expected an array, read ") if isinstance(value, str) and value.strip() else value


def _message(position: int, item: object) -> Mapping[str, Any]:
    key = f"messages[{position}]"
    if not isinstance(item, dict):
        raise UnusableRequest(f'expected an object such as {{"role": "user", …}}, read {kind_of(item)}', key)
    role = item.get("role")
    if not isinstance(role, str) or not role:
        read = f"{kind_of(role)} as role" if "role" in item else "none"
        raise UnusableRequest(f"expected a `role` (system, user, assistant, tool), read {read}", key)
    return {**item, "role": "system"} if role == "_input" else item


def _tools(tools: object) -> tuple[list[Tool], list[str]]:
    """The tools that are objects, as they are but for a missing ``function``, and what is wrong with any of them."""
    if tools is None or tools == "":
        return [], []
    if not isinstance(tools, list):
        raise UnusableRequest(f"expected an array of tools, read {kind_of(tools)}; put it in brackets", "tools")
    defects: list[str] = []
    usable: list[Tool] = []
    for position, tool in enumerate(tools, 1):
        if not isinstance(tool, dict):
            defects.append(f"tool {position} is not an object but {kind_of(tool)}; it is left out")
            continue
        if "name" in tool and "function" not in tool and tool.get("type", "function") == "function":
            # Otherwise no vendor offers it, and no call of it is valid.
            tool = read_tool(tool)[0] or tool
            defects.append(f'tool {position} has no {{"type": "function", "function": …}} around it; it is added')
        usable.append(tool)
    return usable, list(dict.fromkeys([*defects, *_name_defects(tools)]))


def build_samples(
    rows: Iterable[Row | Problem],
    read_row: Callable[[Mapping[str, Any]], Question],
    *,
    dataset: str,
    file: Path,
    wanted: str,
    skip_bad: bool = False,
    place: str = "line",
) -> LoadedSamples:
    """The samples of rows, equal ones numbered. ``place`` is what ``Row.line`` counts: lines, or rows of an array.

    Raises DataError for unusable rows (all of them, unless ``skip_bad``), or no row at all: ``wanted`` are expected.
    """
    samples: list[Sample] = []
    problems: list[Problem] = []
    defects: list[str] = []
    seen: Counter[str] = Counter()
    repeats: list[int] = []
    for row, question in usable(rows, lambda row: read_row(row.fields), file, problems, place):
        digest = question.digest or content_digest(question.turn)
        seen[digest] += 1
        if seen[digest] > 1:
            repeats.append(row.line)
        source = Source(dataset, row.line)
        samples.append(Sample(numbered(digest, seen[digest]), question.turn, question.expected, question.tags, source))
        defects.extend(f"{place} {row.line}: {defect}" for defect in question.defects)
    if problems and not skip_bad:
        raise data_error(problems)
    if not samples:
        raise data_error([Problem(f"no usable sample: expected rows of {wanted}", file), *problems])
    hidden = len(defects) - _MAX_DEFECTS
    if hidden > 0:
        defects[_MAX_DEFECTS:] = [f"and {counted(hidden, 'more defect')} like these"]
    if repeats:
        shown = ", ".join(map(str, repeats[:20])) + (", …" if len(repeats) > 20 else "")
        count = counted(len(repeats), "sample repeats", "samples repeat")
        defects.append(f"{count} an earlier one word for word; equal ones are numbered ({place} {shown})")
    return LoadedSamples(tuple(samples), tuple(problems), tuple(defects))
