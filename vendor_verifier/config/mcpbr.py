"""A configuration of mcpbr in our words: its options under our evaluation, or the message that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from vendor_verifier.config.model_names import MODEL_IDS
from vendor_verifier.suites import SUITES

# What an evaluation takes under the same name.
_OPTIONS = (
    "sample_size", "timeout_seconds", "filter_difficulty", "filter_category", "filter_tags", "agent_prompt",
    "max_iterations",
)  # fmt: skip
_READ = ("benchmark", "mcp_server", "model", "provider", *_OPTIONS)


def is_of_mcpbr(content: Mapping[str, Any]) -> bool:
    """Whether the top level of a file names a benchmark, a server or options of one, where ours names models."""
    keys = ("benchmark", "mcp_server", *_OPTIONS)
    return any(key in content and not _is_model(content[key]) for key in keys)


def suite_of(content: Mapping[str, Any]) -> str:
    """The evaluation that such a file asks for; toolbench where it names none of ours."""
    stated = content.get("benchmark")
    return str(stated) if stated in [kind.name for kind in SUITES] else "toolbench"


def suites_section(content: Mapping[str, Any]) -> str:
    """The options of such a file as our ``suites:`` section; empty where it has none."""
    options = {key: content[key] for key in _OPTIONS if key in content}
    if not options:
        return ""
    return str(yaml.safe_dump({"suites": {suite_of(content): options}}, sort_keys=False, allow_unicode=True))


def known_model(content: Mapping[str, Any]) -> str | None:
    """Our name of the model that such a file asks: ``sonnet``, our own name, or a vendor's id, dated or not."""
    asked = str(content.get("model") or "").casefold()
    found = [
        name
        for name, ids in MODEL_IDS.items()
        if asked and (asked in name.split("-") or asked == name or any(asked.startswith(id_) for id_ in ids.values()))
    ]
    return found[-1] if found else None


def left_out(content: Mapping[str, Any]) -> list[str]:
    """What of such a file has no place in ours, in sentences."""
    stated, words = content.get("benchmark"), []
    if stated is not None and stated != suite_of(content):
        words.append(
            f"its benchmark {str(stated)[:40]!r} is none of ours, which are {', '.join(k.name for k in SUITES)}"
        )
    if "mcp_server" in content:
        words.append("`mcp_server` is left out: calls are scored as they are made; --suite mcp_live uses a real server")
    if rest := [key for key in content if key not in _READ and not _is_model(content[key])]:
        words.append(f"not carried over: {', '.join(rest[:10])}")
    return words


def in_our_words(content: Mapping[str, Any], file: str) -> str:
    """The message for such a file: the command that converts it, and the lines of ours that say the same."""
    lines = []
    if not any(map(_is_model, content.values())):
        model, vendor = known_model(content) or "your-model", content.get("provider") or "your-vendor"
        id_ = MODEL_IDS.get(model, {}).get(str(vendor))
        lines = [f"{model}:", "  vendors:", f"  - name: {vendor}"]
        lines += [f"    model_id: {id_}"] if id_ else ["    # model_id: …   what this vendor calls the model"]
        lines.append("    # url: https://…/v1   unless `agent-vendor-verifier init --list` lists the vendor")
    lines += suites_section(content).splitlines()
    words = [f"this is a configuration of mcpbr; `agent-vendor-verifier init --from {file}` writes one of ours"]
    if lines:
        words.append("Or write:\n\n" + "".join(f"    {line}\n" for line in lines))
    words.append(f"Then: agent-vendor-verifier --config-file-path {file} --suite {suite_of(content)}")
    return "\n".join([*words, *(f"({each})" for each in left_out(content))])


def _is_model(value: object) -> bool:
    return isinstance(value, Mapping) and "vendors" in value
