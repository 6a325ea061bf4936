"""Tool-call and thinking markup that a host's parser let through into the text: the strongest sign of a broken host."""

from __future__ import annotations

import re
from collections.abc import Iterator

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


def markup_sought(text: str) -> Iterator[str | None]:
    """Look for one family of markup in ``text`` after the other: the family where it is found, else None."""
    if "<" in text or "[" in text:
        for family, pattern in _LEAKS:
            yield family if pattern.search(text) else None
