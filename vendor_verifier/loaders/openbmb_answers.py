"""Answer trees of OpenBMB's ToolBench (``G1_answer`` …): a search by a model, of which the found path is the answer.

One file is one tree, pretty-printed. The expected calls are those of the path that the search ended with, with what the
tools answered; ``Finish`` is no tool. A tree whose search gave up (``win`` false) holds no right answer and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.loaders.base import Loader, Question, UnusableRequest, kind_of
from vendor_verifier.loaders.tool_rows import FINISH, normal_calls, question_of, read_query, row_tags, tool_output
from vendor_verifier.loaders.tools import declared_tools
from vendor_verifier.wire.payload import as_dict, as_list

_KEY = "answer_generation"
_PATHS = f"{_KEY}.train_messages"


def read_row(row: Mapping[str, Any]) -> Question:
    """The question of a tree.

    Raises:
        UnusableRequest: no question, no functions, or no path that ends in an answer.
    """
    answer = as_dict(row.get(_KEY))
    if not row.get("win", True):
        raise UnusableRequest("the search gave up, so no calls are known to be right; leave the tree out", "win")
    paths = as_list(answer.get("train_messages"))
    if not paths:
        raise UnusableRequest("no path was found, so no calls are known to be right; leave the tree out", _KEY)
    query = read_query(answer)
    tools, defects = declared_tools(answer.get("function"), f"{_KEY}.function")
    offered = [tool for tool in tools if tool["function"]["name"] != FINISH]
    if not isinstance(paths[-1], list):
        raise UnusableRequest(f"expected an array of messages, read {kind_of(paths[-1])}", _PATHS)
    path = [as_dict(message) for message in paths[-1]]
    made: list[Any] = []
    for message, following in zip(path, [*path[1:], {}], strict=True):
        call = as_dict(message.get("function_call"))
        if message.get("role") == "assistant" and call and call.get("name") != FINISH:
            is_answered = following.get("role") == "function"
            output = {"output": tool_output(following.get("content"))} if is_answered else {}
            made.append({"name": call.get("name"), "arguments": call.get("arguments"), **output})
    return question_of(query, offered, normal_calls(made, _PATHS), row_tags(row), defects=defects)


def _recognises(row: Mapping[str, Any]) -> bool:
    return "train_messages" in as_dict(row.get(_KEY))


FORMATS = (Loader("openbmb_answers", read_row, _recognises, "answer_generation with train_messages"),)
