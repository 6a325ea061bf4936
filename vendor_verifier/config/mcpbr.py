"""A configuration of mcpbr in our words. It is answered with the lines of ours to write, and never half understood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from vendor_verifier.suites import SUITES

# What an evaluation takes under the same name.
_OPTIONS = (
    "sample_size", "timeout_seconds", "filter_difficulty", "filter_category", "filter_tags", "agent_prompt",
    "max_iterations",
)  # fmt: skip
_TOLD = ("benchmark", "mcp_server", "model", "provider", *_OPTIONS)


def is_of_mcpbr(content: Mapping[str, Any]) -> bool:
    """Whether the top level of a file names a benchmark, a server or options of one, where ours names models."""
    keys = ("benchmark", "mcp_server", *_OPTIONS)
    return any(key in content and not _is_model(content[key]) for key in keys)


def in_our_words(content: Mapping[str, Any], file: str) -> str:
    """The message for such a file: the lines of ours that say the same, and the command."""
    known = [kind.name for kind in SUITES]
    stated = content.get("benchmark")
    suite = str(stated) if stated in known else "toolbench"
    options = {key: content[key] for key in _OPTIONS if key in content}
    has_models = any(map(_is_model, content.values()))
    model, provider = content.get("model"), content.get("provider")
    lines = []
    if not has_models:
        lines += [
            f"{model if isinstance(model, str) else 'your-model'}:",
            "  vendors:",
            f"  - name: {provider if isinstance(provider, str) else 'your-vendor'}",
        ]
    if options:
        lines += yaml.safe_dump({"suites": {suite: options}}, sort_keys=False, allow_unicode=True).splitlines()
    told = ["this is how mcpbr says it; ours names the vendors of each model, and options under the evaluation."]
    if stated is not None and stated not in known:
        told.append(f"Its benchmark is none of ours, which are {', '.join(known)}.")
    if lines:
        told.append("Write:\n\n" + "".join(f"    {line}\n" for line in lines))
    told.append(f"Then: agent-vendor-verifier --config-file-path {file} --suite {suite}")
    if "mcp_server" in content:
        told.append(
            "(`mcp_server` is left out: calls are judged as they are made; --suite mcp_live asks a real server)"
        )
    rest = [key for key in content if key not in _TOLD and not _is_model(content[key])]
    if rest:
        told.append(f"(not carried over: {', '.join(rest[:10])})")
    return "\n".join(told)


def _is_model(value: object) -> bool:
    return isinstance(value, Mapping) and "vendors" in value
