"""Words of a file in messages: the names of its keys, and what a misspelt one may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from vendor_verifier.config.env_file import shown


def key_text(path: tuple[str | int, ...]) -> str:
    """A path as a message names it: ``minimax-m2.5.vendors[0].url``; a key of the file that looks secret is cut."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f"{'.' if text else ''}{shown(step).strip('`')}"
    return text


# What other tools call our keys.
_OTHER_WORDS = {
    "base_url": "url", "api_base": "url", "endpoint": "url", "model": "model_id", "key": "api_key",
    "headers": "extra_headers",
}  # fmt: skip


def nearest(word: str, known: Iterable[str]) -> str:
    """`` (did you mean `x`?)`` for the nearest known word, else the empty text."""
    names = list(known)
    if _OTHER_WORDS.get(word) in names:
        return f" (did you mean {shown(_OTHER_WORDS[word])}?)"
    folded = {name.casefold(): name for name in names}
    close = difflib.get_close_matches(word[:100].casefold(), folded, n=1, cutoff=0.6)
    return f" (did you mean {shown(folded[close[0]])}?)" if close else ""


def listed(names: Iterable[str]) -> str:
    """Names as a message lists them."""
    return ", ".join(shown(name) for name in names)
