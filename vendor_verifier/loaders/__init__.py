"""One data-set row format a file → samples; pure. A new format is a module and a line in ``LOADERS``."""

from __future__ import annotations

from vendor_verifier.loaders import (
    chat_requests,
    mcp_toolbench_pp,
    openbmb,
    tool_calls_jsonl,
    toolbench,
    toolbench_conversations,
)
from vendor_verifier.loaders.base import LoadedSamples, Loader
from vendor_verifier.loaders.chat_requests import read_samples
from vendor_verifier.loaders.request_row import read_question

# In the order in which they are tried on a file's first row.
LOADERS: tuple[Loader, ...] = (
    Loader("tool_calls", tool_calls_jsonl.read_row, tool_calls_jsonl.recognises, "messages, expected.calls"),
    Loader("chat", read_question, chat_requests.recognises, "messages"),
    Loader("mcp_toolbench_pp", mcp_toolbench_pp.read_row, mcp_toolbench_pp.recognises, "query, function_call_label"),
    Loader("toolbench", toolbench.read_row, toolbench.recognises, "query, tools, ground_truth"),
    Loader(
        "toolbench_conversations",
        toolbench_conversations.read_row,
        toolbench_conversations.recognises,
        "conversations",
    ),
    Loader("openbmb", openbmb.read_row, openbmb.recognises, "query, api_list, relevant APIs"),
)

__all__ = ["LOADERS", "LoadedSamples", "Loader", "read_samples"]
