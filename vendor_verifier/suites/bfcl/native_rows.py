"""A BFCL category in its native layout → samples: question lines and answer lines in; it opens no file.

Questions and answers are joined by id, never by position. A sample's identity is a digest of its category and its row
without id, so base and long-context rows that ask the same words stay apart, whatever else is loaded beside them.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import LoadedSamples, Row, data_error, kind_of, read_rows
from vendor_verifier.loaders.building import UnusableRequest
from vendor_verifier.suites.bfcl.categories import EXECUTABLE, MULTI_TURN, REST, is_relevance, language_of
from vendor_verifier.suites.bfcl.function_docs import tools_of
from vendor_verifier.suites.bfcl.multi_turn import row_problem, unreachable
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample, Source, numbered

ServiceDocs = Mapping[str, Sequence[Mapping[str, Any]]]
"""Simulated class → its function documents (``multi_turn_func_doc/``)."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The physical lines of a file and what messages call it."""

    lines: Iterable[bytes]
    file: Path


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row that was read: a ``digest`` of its content, and the reason that its own answers fail it, if they do."""

    digest: str
    turn: Turn
    expected: dict[str, Any]
    tags: Mapping[str, Any]
    defect: str | None = None


def samples_of(
    rows: Iterable[Row | Problem],
    read: Callable[[Row, int], ReadRow],
    *,
    dataset: str,
    file: Path,
    limit: int | None,
    skip_bad: bool,
    holds: str,
    problems: Sequence[Problem] = (),
    defects: Sequence[str] = (),
) -> LoadedSamples:
    """The samples of the rows, equal ones told apart by number. ``read`` is given a row and how many there were.

    Raises:
        DataError: unusable rows (all of them), or no row at all.
    """
    samples: list[Sample] = []
    wrong, peculiar = list(problems), list(defects)
    seen: Counter[str] = Counter()
    for row in rows:
        if limit is not None and len(samples) >= limit:
            break
        if isinstance(row, Problem):
            wrong.append(row)
            continue
        try:
            found = read(row, len(samples))
        except UnusableRequest as reason:
            wrong.append(Problem(str(reason), file, row.line, reason.key))
            continue
        seen[found.digest] += 1
        name, source = numbered(found.digest, seen[found.digest]), Source(dataset, row.line)
        samples.append(Sample(name, found.turn, found.expected, found.tags, source))
        if found.defect:
            peculiar.append(f"{found.expected['id']}: its own answers fail it ({found.defect})")
    if wrong and not skip_bad:
        raise data_error(wrong)
    if not samples:
        raise data_error([Problem(f"no {holds} row", file), *wrong])
    return LoadedSamples(tuple(samples), tuple(wrong), tuple(peculiar))


def read_category(
    questions: Lines,
    answers: Lines | None,
    *,
    category: str,
    dataset: str,
    version: str | None = None,
    service_docs: ServiceDocs | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
) -> LoadedSamples:
    """Read one category (v4 name).

    Args:
        answers: the ``possible_answer`` file; None for relevance and irrelevance, and rows with answers of their own.
        dataset: the name samples carry as their source.
        version: of the data (``v3``, ``v4``, ``shipped`` …), kept with every sample.
        service_docs: needed for multi-turn rows.
        limit: at most this many rows, the first in the file.
        skip_bad: leave unusable rows out and list them, instead of refusing the file.

    Raises:
        DataError: unusable lines or rows (all of them), or no row at all.
    """
    problems: list[Problem] = []
    rows = list(read_rows(questions.lines, questions.file))
    keyed = {} if answers is None else dict(_answers(answers, problems))
    defects = _adopt_orphan(rows, keyed)
    docs = _Services(service_docs or {})

    def read(row: Row, _number: int) -> ReadRow:
        return _read(row, category, keyed, docs, version)

    return samples_of(
        rows,
        read,
        dataset=dataset,
        file=questions.file,
        limit=limit,
        skip_bad=skip_bad,
        holds=category,
        problems=problems,
        defects=defects,
    )


def _answers(answers: Lines, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    for row in read_rows(answers.lines, answers.file):
        if isinstance(row, Problem):
            problems.append(row)
        elif isinstance(row.fields.get("id"), str) and isinstance(row.fields.get("ground_truth"), list):
            yield row.fields["id"], row.fields["ground_truth"]
        else:
            problems.append(Problem("expected an id and a list ground_truth", answers.file, row.line))


def _adopt_orphan(rows: Sequence[Row | Problem], answers: dict[str, Any]) -> list[str]:
    """Pair the one question without an answer with the one answer without a question: an id misspelled upstream.

    Changes ``answers``; gives what to report. With more of either, nothing is guessed.
    """
    asked = {row.fields["id"] for row in rows if isinstance(row, Row) and isinstance(row.fields.get("id"), str)}
    lonely, spare = asked - answers.keys(), answers.keys() - asked
    if len(lonely) != 1 or len(spare) != 1:
        return []
    question, answer = lonely.pop(), spare.pop()
    answers[question] = answers[answer]
    return [f"{question}: its answer is filed under {answer}"]


def _read(row: Row, category: str, answers: Mapping[str, Any], docs: _Services, version: str | None) -> ReadRow:
    name = row.fields.get("id")
    if not isinstance(name, str):
        raise UnusableRequest(f"expected a text, read {kind_of(name)}", "id")
    executable = category in EXECUTABLE
    answer = _own_answer(row.fields) if executable and name not in answers else answers.get(name)
    if answer is None and not is_relevance(category):
        raise UnusableRequest(f"{name!r} has no possible answer", "id")
    turns = _question(row.fields.get("question"))
    several = category in MULTI_TURN
    turn, more = _several_turns(row.fields, turns, docs) if several else _one_turn(row.fields, turns, category)
    expected = {"id": name, "category": category, **more, "answer": answer}
    if executable:
        expected["match_types"] = _match_types(row.fields.get("execution_result_type"), answer)
    defect = None
    if not several and not executable and category not in REST:
        problem = row_problem(expected)
        if problem:
            raise UnusableRequest(problem, "function")
        defect = unreachable(expected)
    tags = {"category": category, "bfcl_id": name, **({"bfcl_data": version} if version else {})}
    services = [docs.digest(name) for name in row.fields.get("involved_classes") or ()]
    content = {key: value for key, value in row.fields.items() if key != "id"}
    return ReadRow(digest_of([category, content, services]), turn, expected, tags, defect)


def _own_answer(fields: Mapping[str, Any]) -> list[str] | None:
    """The expected calls that rows of executable categories carry themselves."""
    calls = fields.get("ground_truth")
    return calls if isinstance(calls, list) and all(isinstance(call, str) for call in calls) and calls else None


def _match_types(value: object, answer: object) -> list[str]:
    """The comparison of each expected call's result; equality where the row states none."""
    calls = len(answer) if isinstance(answer, list) else 0
    given = [str(word) for word in value] if isinstance(value, list) else []
    return (given or ["exact_match"] * calls) if len(given) in (0, calls) else [given[0]] * calls


def _question(question: object) -> list[list[dict[str, Any]]]:
    turns = question if isinstance(question, list) else []
    if not turns or not all(
        isinstance(turn, list) and all(isinstance(message, dict) for message in turn) for turn in turns
    ):
        raise UnusableRequest("expected a list of turns, each a list of messages", "question")
    return turns


def _one_turn(
    fields: Mapping[str, Any], turns: list[list[dict[str, Any]]], category: str
) -> tuple[Turn, dict[str, Any]]:
    functions = fields.get("function")
    if isinstance(functions, dict):
        functions = [functions]
    if not isinstance(functions, list) or not all(isinstance(function, dict) for function in functions):
        raise UnusableRequest(f"expected a list of function documents, read {kind_of(functions)}", "function")
    if len(turns) != 1 or not turns[0]:
        raise UnusableRequest(f"expected one turn with messages, read {len(turns)} turns", "question")
    return Turn(tuple(turns[0]), tools_of(functions, language_of(category))), {"functions": functions}


def _several_turns(
    fields: Mapping[str, Any], turns: list[list[dict[str, Any]]], docs: _Services
) -> tuple[Turn, dict[str, Any]]:
    """The first turn with the tools it has; later turns, and tools that come with one of them, wait in ``expected``."""
    classes = fields.get("involved_classes")
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise UnusableRequest("expected a list of names", "involved_classes")
    tools = docs.tools(classes)
    missed = fields.get("missed_function") or {}
    withheld = {turn: [tools[name] for name in names if name in tools] for turn, names in missed.items()}
    hidden = {name for names in missed.values() for name in names}
    expected = {
        "turns": turns,
        "withheld": withheld,
        "initial_config": fields.get("initial_config") or {},
        "involved_classes": classes,
    }
    return Turn(tuple(turns[0]), tuple(tool for name, tool in tools.items() if name not in hidden)), expected


class _Services:
    """The tools of simulated classes, translated once each."""

    def __init__(self, docs: ServiceDocs) -> None:
        self._docs = docs
        self._tools: dict[str, dict[str, dict[str, Any]]] = {}
        self._digests: dict[str, str] = {}

    def tools(self, classes: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Function name → tool, of all these classes, in their order."""
        return {name: tool for service in classes for name, tool in self._of(service).items()}

    def digest(self, service: str) -> str:
        if service not in self._digests:
            self._digests[service] = digest_of(list(self._docs.get(service, ())))
        return self._digests[service]

    def _of(self, service: str) -> dict[str, dict[str, Any]]:
        if service not in self._docs:
            raise UnusableRequest(f"no function documents for {service!r} (multi_turn_func_doc/)", "involved_classes")
        if service not in self._tools:
            tools = tools_of(self._docs[service], "python")
            self._tools[service] = {str(tool["function"]["name"]): tool for tool in tools}
        return self._tools[service]


def digest_of(content: object) -> str:
    """The digest of a row's content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]
