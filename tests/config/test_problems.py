"""Every mistake is named with its line, what was read and how to mend it, and all of them at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from vendor_verifier.config.load import load_config
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import ConfigError


def with_entry(line: str) -> str:
    return f"m:\n  vendors:\n    - {{{line}}}\n"


def test_a_missing_config_says_how_to_make_one(tmp_path: Path, registry):
    """Without a file the message names the command that writes one, the example, and the demo that needs none."""
    with pytest.raises(ConfigError, match=r"init --model .*config_example\.yaml.*agent-vendor-verifier demo"):
        load_config(RunOptions(config_file_path=tmp_path / "config.yaml"), {}, registry=registry)


def test_unreadable_files_are_problems(tmp_path: Path, registry):
    """A folder or bytes that are not UTF-8 in the place of the config are reported, not raised through."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(RunOptions(config_file_path=tmp_path), {}, registry=registry)
    (tmp_path / "latin.yaml").write_bytes(b"a: 1\nb: \xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.yaml:2: not UTF-8"):
        load_config(RunOptions(config_file_path=tmp_path / "latin.yaml"), {}, registry=registry)


def test_plain_http_is_for_loopback_or_when_allowed(load):
    """Loopback addresses and an explicit ``allow_http`` may use http; others may not."""
    for host in ("127.0.0.1", "localhost", "[::1]", "127.8.8.8"):
        assert load(with_entry(f'name: a, model_id: m, url: "http://{host}:1/v1/"')).entries[0].endpoint.key is None
    config = with_entry("name: a, model_id: m, url: http://10.0.0.1/v1, allow_http: true")
    assert load(config, "a=some-key\n").entries[0].endpoint.base_url == "http://10.0.0.1/v1"
