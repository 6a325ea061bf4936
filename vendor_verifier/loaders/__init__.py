"""One data-set row format a file → samples; pure. A new format is a module and a line in ``LOADERS``."""

from __future__ import annotations

from vendor_verifier.loaders import mcp_toolbench, openai_jsonl, toolbench
from vendor_verifier.loaders.base import LoadedSamples, Loader
from vendor_verifier.loaders.building import read_question
from vendor_verifier.loaders.openai_jsonl import read_samples

# In the order in which they are tried on a file's first row.
LOADERS: tuple[Loader, ...] = (
    Loader("tool_calls", openai_jsonl.read_row, openai_jsonl.recognises_tool_calls, "messages, expected.calls"),
    Loader("chat", read_question, openai_jsonl.recognises, "messages"),
    Loader("mcp_toolbench_pp", mcp_toolbench.read_row, mcp_toolbench.recognises, "query, function_call_label"),
    Loader("toolbench", toolbench.read_row, toolbench.recognises, "query, tools, ground_truth"),
    Loader(
        "toolbench_conversations",
        toolbench.read_conversation_row,
        toolbench.recognises_conversations,
        "conversations",
    ),
    Loader("openbmb", toolbench.read_openbmb_row, toolbench.recognises_openbmb, "query, api_list, relevant APIs"),
)

__all__ = ["LOADERS", "LoadedSamples", "Loader", "read_samples"]
