"""Whatever is written into config.yaml or .env, the answer is a configuration or a ConfigError."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from vendor_verifier.config.load import load_config
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import ConfigError
from vendor_verifier.registry import Registry

WORDS = st.sampled_from(
    ["m", "vendors", "name", "model_id", "url", "api_key", "extra_headers", "extra_body", "price", "defaults", "gates",
     "suites", "provider", "label", "<<", "no", "0123", "1e3", "~", "=", ".inf", "-.inf", "12:30:00", "2024-99-99",
     "0b_", "0x", "https://h", "sim://slow", "${K}", "*a", "&a", "!!python/object:x", "!!binary", "? ", "- ", ": ", "{",
     "}", "[", "]", "\n", "\n  ", "\n    ", ",", "'", '"', "|", ">", "#", "%", "@", "---",
     "...", "1" * 400, "\\u0000", "\u2028"]
)  # fmt: skip
YAML_SOUP = st.lists(WORDS, max_size=40).map("".join)
ENTRY = st.dictionaries(
    st.sampled_from(["name", "model_id", "url", "api_key", "api_key_env", "validator", "provider", "is_baseline",
                     "temperature", "max_tokens", "extra_body", "extra_headers", "concurrency", "label", "price",
                     "allow_http", "zzz"]),
    st.sampled_from(["a", "https://h", "http://localhost:1", "true", "1", "-1", "{a: b}", "[]", "~", '"${K}"', "{K: 1}",
                     '{A: "${K}"}', "'é'", "*x", "&x y", "0777", "openai", "minimax/", "''"]),
)  # fmt: skip
ENTRIES = st.lists(ENTRY, max_size=4).map(
    lambda entries: (
        "m:\n  vendors:\n"
        + "".join("    - {" + ", ".join(f"{key}: {value}" for key, value in entry.items()) + "}\n" for entry in entries)
    )
)


@settings(max_examples=60)
@given(st.one_of(st.text(max_size=200), YAML_SOUP, ENTRIES).map(str.encode), st.binary(max_size=60))
@example(b"? ? ? a", b"")
@example(b"a: !<x", b"a='")
@example(b"\xff\xfea\x00", b"\x00=\x00")
def test_nothing_but_config_errors(config: bytes, env: bytes) -> None:
    """Arbitrary text, YAML fragments, half-right entries and arbitrary .env bytes never raise anything else."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_bytes(config)
        path.with_name(".env").write_bytes(env)
        with contextlib.suppress(ConfigError):
            load_config(RunOptions(config_file_path=path), {"K": "value"}, registry=Registry({}))
