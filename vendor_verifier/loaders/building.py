"""The building of questions from chat requests, and of samples with ids from rows of any format."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import (
    Keep,
    LoadedSamples,
    Question,
    Row,
    data_error,
    half_character,
    kind_of,
    shortened,
)
from vendor_verifier.loaders.parameters import parameter_defects
from vendor_verifier.loaders.tools import read_tool
from vendor_verifier.records.request import Turn
from vendor_verifier.records.sample import Digests, Sample, Source, ToolSets, numbered
from vendor_verifier.text import counted
from vendor_verifier.wire.payload import PayloadError, as_dict, parse_json

# Keys that the run sets, whatever the row states.
REPLACED_KEYS = frozenset({"model", "stream", "stream_options"})
# Most rows have no other keys.
_NO_PARAMETERS = REPLACED_KEYS | {"messages", "tools"}
# Keys of the right answer, as the data set states it.
EXPECTED_KEYS = frozenset({"should_call_tool", "official_finish_reason", "scenario_check"})
# Keys about the row, never part of a chat-completions body, as is every key that begins with "expected".
CONTROL_KEYS = EXPECTED_KEYS | {
    "check_type", "tags", "category", "difficulty", "language", "domain", "id", "name", "description", "case_id",
    "comment", "data_index", "hash", "notes", "reference", "source",
}  # fmt: skip


class UnusableRequest(ValueError):
    """The row is not a question; the message says what was read, what was expected and how to mend it."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def read_question(row: Mapping[str, Any]) -> Question:
    """The question a row asks.

    Role ``_input`` becomes ``system``. Parameters that are null are dropped, which is what null means in this
    vocabulary. Tools that are not objects are left out and reported; everything else passes untouched.

    Raises:
        UnusableRequest: no usable ``messages``, or ``tools`` that is no list.
    """
    body = _body(row)
    messages = tuple([_message(position, item) for position, item in enumerate(_messages(body), 1)])
    tools, defects = _tools(body)
    if body is row and _NO_PARAMETERS.issuperset(row):
        return Question(Turn(messages, tools), {}, {}, defects)
    parameters = {
        key: value
        for key, value in body.items()
        if key not in _NO_PARAMETERS and value is not None and not is_control(key)
    }
    tags = control_tags(row if body is row else {**body, **row})
    expected = {key: value for key, value in tags.items() if key in EXPECTED_KEYS or key.startswith("expected")}
    return Question(Turn(messages, tools, parameters), tags, expected, (*defects, *parameter_defects(parameters)))


def is_control(key: str) -> bool:
    """The key describes the row and is never sent."""
    return key in CONTROL_KEYS or key.startswith("expected")


def control_tags(row: Mapping[str, Any]) -> dict[str, Any]:
    """The control keys of a row that say something; a ``tags`` object is spread, the row's own keys win over it."""
    tags = dict(as_dict(row.get("tags")))
    for key, value in row.items():
        if key in _NO_PARAMETERS or value is None or not is_control(key):
            continue
        if key != "tags" or not isinstance(value, dict):
            tags[key] = value
    return tags


def _body(row: Mapping[str, Any]) -> Mapping[str, Any]:
    if "messages" in row:
        return row
    if "request" in row and ("response" in row or "status" in row):
        raise UnusableRequest("this is a row of results, not a request; read result files with `import`", "request")
    request = row.get("request")
    if isinstance(request, dict) and "messages" in request:
        return request
    found = ", ".join(shortened(key, 30) for key in list(row)[:8]) or "an empty object"
    hint = "; a raw `prompt` has to be rewritten as messages" if "prompt" in row else ""
    raise UnusableRequest(f"no `messages`: expected a chat-completions body, read {found}{hint}")


def _messages(body: Mapping[str, Any]) -> list[Any]:
    messages = _array(body, "messages")
    if not isinstance(messages, list):
        raise UnusableRequest(f"expected an array of messages, read {kind_of(messages)}", "messages")
    if not messages:
        raise UnusableRequest("an empty array; expected at least one message", "messages")
    return messages


def _message(position: int, item: object) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        expected = f'expected an object such as {{"role": "user", …}}, read {kind_of(item)}'
        raise UnusableRequest(expected, f"messages[{position}]")
    role = item.get("role")
    if not isinstance(role, str) or not role:
        read = f"{kind_of(role)} as role" if "role" in item else "none"
        raise UnusableRequest(
            f"expected a `role` (system, user, assistant, tool), read {read}", f"messages[{position}]"
        )
    return {**item, "role": "system"} if role == "_input" else item


def _tools(body: Mapping[str, Any]) -> tuple[tuple[Mapping[str, Any], ...], tuple[str, ...]]:
    """The tools that are objects, and what is wrong with any of them."""
    tools = _array(body, "tools")
    if tools is None or tools == "":
        return (), ()
    if not isinstance(tools, list):
        raise UnusableRequest(f"expected an array of tools, read {kind_of(tools)}; put it in brackets", "tools")
    defects: list[str] = []
    usable: list[Mapping[str, Any]] = []
    names: set[str] = set()
    for position, tool in enumerate(tools, 1):
        if not isinstance(tool, dict):
            defects.append(f"tool {position} is not an object but {kind_of(tool)}; it is left out")
            continue
        if "name" in tool and "function" not in tool and tool.get("type", "function") == "function":
            # Otherwise no vendor offers it, and no call of it is valid.
            tool = read_tool(tool)[0] or tool
            defects.append(f'tool {position} has no {{"type": "function", "function": …}} around it; it is added')
        usable.append(tool)
        name = as_dict(tool.get("function")).get("name") or tool.get("name")
        if not isinstance(name, str) or not name:
            defects.append(f"tool {position} has no name")
        elif name in names:
            defects.append(f"tool {shortened(name)} is declared twice; the first definition counts")
        else:
            names.add(name)
    return tuple(usable), tuple(dict.fromkeys(defects))


def unpacked(value: object, key: str, expected: str = "") -> object:
    """The value, read once more if it is JSON text.

    Raises:
        UnusableRequest: it is text, but no JSON or with half a character.
    """
    if not isinstance(value, str):
        return value
    try:
        found = parse_json(value)
    except PayloadError as error:
        raise UnusableRequest(f"{expected}text that is not JSON: {error}", key) from None
    if half := half_character(found):
        raise UnusableRequest(f"half a character, {half}, which cannot be sent; complete the pair or remove it", key)
    return found


def _array(body: Mapping[str, Any], key: str) -> object:
    """The value of a key, which may be an array as JSON text."""
    value = body.get(key)
    return unpacked(value, key, "expected an array, read ") if isinstance(value, str) and value.strip() else value


_MAX_DEFECTS = 50


def build_samples(
    rows: Iterable[Row | Problem],
    read_row: Callable[[Mapping[str, Any]], Question],
    *,
    dataset: str,
    file: Path,
    skip_bad: bool = False,
    place: str = "line",
    holds: str = "one chat-completions request a line",
    keep: Keep | None = None,
) -> LoadedSamples:
    """Build samples.

    Args:
        rows: rows as read, or the problems they have.
        read_row: what a row asks; raises UnusableRequest.
        dataset: the name samples carry as their source.
        file: what error messages call the file.
        skip_bad: leave unusable rows out and list them in ``skipped``, instead of refusing the file.
        place: what ``Row.line`` counts: ``line``, or ``row`` inside a JSON array.
        holds: what such a file holds, for the message about an empty one.
        keep: takes the samples, instead of the result.

    Raises:
        DataError: unusable rows (all of them, the first in full), or no usable row at all.
    """
    samples: list[Sample] = []
    take = samples.append if keep is None else keep
    problems: list[Problem] = []
    defects: list[str] = []
    seen = _Seen()
    tool_sets = ToolSets()
    for row in rows:
        question = row if isinstance(row, Problem) else _question(row, read_row, file, place)
        if isinstance(question, Problem):
            problems.append(question)
            continue
        assert isinstance(row, Row)
        turn = tool_sets.shared(question.turn)
        source = Source(dataset, row.line)
        take(Sample(seen.named(turn, row.line), turn, question.expected, question.tags, source))
        twice = (f"key {key!r} occurs twice in one object; the last one counts" for key in row.repeated)
        defects.extend(f"{place} {row.line}: {defect}" for defect in (*question.defects, *twice))
    if problems and not skip_bad:
        raise data_error(problems)
    if not seen.occurrences:
        raise data_error([Problem(f"no usable sample: expected {holds}", file), *problems])
    hidden = len(defects) - _MAX_DEFECTS
    if hidden > 0:
        defects[_MAX_DEFECTS:] = [f"and {counted(hidden, 'more defect')} like these"]
    return LoadedSamples(tuple(samples), tuple(problems), (*defects, *seen.notices(place)))


def place_in(file: Path, place: str, number: int, key: str | None, message: str) -> Problem:
    """A problem of a row that stands on a line, or in a row of an array."""
    if place == "line":
        return Problem(message, file, number, key)
    return Problem(message, file, None, f"{place} {number}" + (f", {key}" if key else ""))


def _question(
    row: Row, read_row: Callable[[Mapping[str, Any]], Question], file: Path, place: str
) -> Question | Problem:
    try:
        return read_row(row.fields)
    except UnusableRequest as reason:
        return place_in(file, place, row.line, reason.key, str(reason))


class _Seen:
    """The number of samples with each content, and the lines of those that repeat an earlier one."""

    def __init__(self) -> None:
        self.occurrences: dict[str, int] = {}
        self._digests = Digests()
        self._repeated = array("Q")

    def named(self, turn: Turn, line: int) -> str:
        """The id of the next sample with this content."""
        digest = self._digests.of(turn)
        number = self.occurrences[digest] = self.occurrences.get(digest, 0) + 1
        if number > 1:
            self._repeated.append(line)
        return numbered(digest, number)

    def notices(self, place: str) -> list[str]:
        repeats = sorted(self._repeated)
        if not repeats:
            return []
        shown = ", ".join(map(str, repeats[:20])) + (", …" if len(repeats) > 20 else "")
        count = counted(len(repeats), "sample repeats", "samples repeat")
        return [f"{count} an earlier one word for word; equal ones are told apart by number ({place} {shown})"]
