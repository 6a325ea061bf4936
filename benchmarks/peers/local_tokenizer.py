"""A tokenizer of twenty words on disk, for peers that insist on one; it reaches for no hub and counts nothing well."""

from __future__ import annotations

import json
from pathlib import Path

_WORDS = "[UNK] the weather in San Francisco is mild . I will call a tool now please What on day ?".split()


def write_tokenizer(folder: Path) -> Path:
    """Write ``tokenizer.json`` and its config; the folder they lie in."""
    home = folder / "tokenizer"
    home.mkdir()
    model = {"type": "WordLevel", "vocab": {word: at for at, word in enumerate(_WORDS)}, "unk_token": "[UNK]"}
    absent = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    whole = {"version": "1.0", **absent, "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    (home / "tokenizer.json").write_text(json.dumps(whole))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]", "eos_token": "[UNK]"}
    (home / "tokenizer_config.json").write_text(json.dumps(config))
    return home


# Whoever still reaches for the outside meets a closed port of this machine.
LOOPBACK_ONLY = {"HTTPS_PROXY": "http://127.0.0.1:9", "HF_HUB_DISABLE_TELEMETRY": "1", "DO_NOT_TRACK": "1"}
