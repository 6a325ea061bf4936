"""Answer trees of OpenBMB's ToolBench (``G1_answer`` …): a search by a model, of which the found path is the answer.

One file is one tree, pretty-printed. The expected calls are those of the path that the search ended with, with what the
tools answered; ``Finish`` is no tool. A tree whose search gave up (``win`` false) holds no right answer and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vendor_verifier.loaders.base import Loader, Question, UnusableRequest, kind_of
from vendor_verifier.loaders.tool_rows import (
    NormalCall,
    normal_calls,
    question_of,
    read_query,
    row_tags,
    tool_output,
)
from vendor_verifier.loaders.tools import declared_tools
from vendor_verifier.wire.payload import as_dict, as_list

KEY = "answer_generation"
_FINISH = "Finish"


def recognises(row: Mapping[str, Any]) -> bool:
    """A tree with its answer."""
    return isinstance(row.get(KEY), dict) and "train_messages" in row[KEY]


def read_row(row: Mapping[str, Any]) -> Question:
    """The question of a tree.

    Raises:
        UnusableRequest: no question, no functions, or no path that ends in an answer.
    """
    answer = as_dict(row.get(KEY))
    if not row.get("win", True):
        raise UnusableRequest("the search gave up, so no calls are known to be right; leave the tree out", "win")
    paths = as_list(answer.get("train_messages"))
    if not paths:
        raise UnusableRequest("no path was found, so no calls are known to be right; leave the tree out", KEY)
    query = read_query(answer)
    tools, defects = declared_tools(answer.get("function"), f"{KEY}.function")
    offered = [tool for tool in tools if tool["function"]["name"] != _FINISH]
    return question_of(query, offered, _calls(paths[-1]), row_tags(row), defects=defects)


def _calls(path: object) -> list[NormalCall]:
    """The calls of a path in order, each with the answer of its tool."""
    key = f"{KEY}.train_messages"
    if not isinstance(path, list):
        raise UnusableRequest(f"expected an array of messages, read {kind_of(path)}", key)
    messages: Sequence[Mapping[str, Any]] = [as_dict(message) for message in path]
    made: list[Any] = []
    for at, message in enumerate(messages):
        call = as_dict(message.get("function_call"))
        if message.get("role") != "assistant" or not call or call.get("name") == _FINISH:
            continue
        following = messages[at + 1] if at + 1 < len(messages) else {}
        output = {"output": tool_output(following.get("content"))} if following.get("role") == "function" else {}
        made.append({"name": call.get("name"), "arguments": call.get("arguments"), **output})
    return normal_calls(made, key)


FORMATS = (Loader("openbmb_answers", read_row, recognises, "answer_generation with train_messages"),)
