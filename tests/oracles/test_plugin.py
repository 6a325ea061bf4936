"""A vendor plugin of nine lines is found in a folder, and its name is enough in config.yaml."""

from __future__ import annotations

import json
from pathlib import Path

from adapters import RUN, answers, command
from loopback import prepare, serving, streamed

PLUGIN = '''\
"""Nebula, a made-up vendor."""

from vendor_verifier.vendor import OpenAICompatible


class Nebula(OpenAICompatible):
    name = "nebula"
    base_url = "{address}/v1"
'''


def test_a_plugin_of_nine_lines(tmp_path: Path) -> None:
    """Its address and the key of its name are used."""
    seen = []

    def answer(path: str, headers: object, body: bytes) -> bytes:
        seen.append((path, headers["authorization"], json.loads(body)["model"]))  # type: ignore[index]
        return streamed({"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]})

    with serving(answer) as address:
        prepare(tmp_path, ["name: nebula, model_id: n-1"], {"nebula": "sk-nebula"})
        (tmp_path / "plugins").mkdir()
        (tmp_path / "plugins" / "nebula.py").write_text(PLUGIN.format(address=address), encoding="utf-8")
        code, _, err = command([*RUN, "--set", "run.vendor_path=plugins", "-o", "run"], tmp_path)
    assert code == 0, err
    assert seen == [("/v1/chat/completions", "Bearer sk-nebula", "n-1")]
    assert answers(tmp_path / "run")["nebula"]["text"] == "hi"
