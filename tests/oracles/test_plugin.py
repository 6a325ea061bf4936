"""A vendor plugin of nine lines is found in a folder, and its name is enough in config.yaml."""

from __future__ import annotations

from adapters import RUN, answers, command
from fault_server import DONE, say, serving, stream, text
from workbench import Bench

PLUGIN = '''\
"""Nebula, a made-up vendor."""

from vendor_verifier.vendor import OpenAICompatible


class Nebula(OpenAICompatible):
    name = "nebula"
    base_url = "{address}/v1"
'''


def test_a_plugin_of_nine_lines(bench: Bench) -> None:
    """Its address and the key of its name are used."""
    with serving(lambda *_: say(stream(text("hi"), DONE))) as server:
        bench.write("config.yaml", "m: {vendors: [{name: nebula, model_id: n-1}]}\n")
        bench.write(".env", "nebula=sk-nebula\n").chmod(0o600)
        bench.samples(1)
        (bench.folder / "plugins").mkdir()
        address = server.url().removesuffix("/v")
        (bench.folder / "plugins" / "nebula.py").write_text(PLUGIN.format(address=address), encoding="utf-8")
        code, _, err = command([*RUN, "--set", "run.vendor_path=plugins", "-o", "run"], bench.folder)
    assert code == 0, err
    (asked,) = server.seen
    assert (asked.path, asked.key, asked.body["model"]) == ("/v1/chat/completions", "sk-nebula", "n-1")
    assert answers(bench.folder / "run")["nebula"]["text"] == "hi"
