"""Tool-call and thinking markup that a host's parser let through into the text: the strongest sign of a broken host."""

from __future__ import annotations

import re

_LEAKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("kimi", re.compile(r"<\|tool_calls?_(?:section_)?(?:begin|end)\|>|<\|tool_call_argument_begin\|>")),
    ("hermes", re.compile(r"</?tool_call>")),
    ("deepseek", re.compile(r"<[|｜]tool[▁_]calls?[▁_](?:begin|end)[|｜]>|<[|｜]DSML[|｜]")),
    ("glm", re.compile(r"</?arg_(?:key|value)>")),
    ("minimax", re.compile(r"</?minimax:tool_call>|<invoke name=")),
    ("llama", re.compile(r"<\|python_tag\|>|<function=[\w.-]+>")),
    ("mistral", re.compile(r"\[TOOL_CALLS\]")),
    ("harmony", re.compile(r"<\|(?:channel|message|call|constrain)\|>")),
    ("seed", re.compile(r"</?seed:tool_call>")),
    ("thinking", re.compile(r"</?think>")),
)


def leaked_markup(text: str) -> tuple[str, ...]:
    """Families of markup found in ``text``, in a fixed order."""
    if "<" not in text and "[" not in text:
        return ()
    return tuple(family for family, pattern in _LEAKS if pattern.search(text))
