"""CONTRIBUTING's recipes for a vendor and a wire protocol, done in a copy of the package as they say, work."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from recipes import follow

SAMPLE = {
    "messages": [{"role": "user", "content": "Look up record 1."}],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "look_up",
                "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            },
        }
    ],
}
EVENTS = ({"say": "Looking. "}, {"call": "look_up", "with": '{"id": 1}'}, {"over": "call"})


def write_inputs(folder: Path, *vendor: str) -> None:
    """A configuration of one vendor and a file of one sample."""
    (folder / "samples.jsonl").write_text(json.dumps(SAMPLE) + "\n")
    (folder / "config.yaml").write_text("kimi-k2:\n  vendors:\n    - {" + ", ".join(vendor) + "}\n")


def test_a_vendor_is_one_file(tmp_path: Path) -> None:
    """It is listed with its file and protocol, and a run would ask the address that it declares with its own key."""
    copy = follow("Add a vendor", tmp_path)
    (found,) = (row for row in json.loads(copy.run("vendors", "--json"))["vendors"] if row["name"] == "nebula")
    assert (found["wire"], found["key"]) == ("openai", "nebula")
    assert found["source"].endswith("vendors/nebula.py")
    write_inputs(tmp_path, "name: nebula", "model_id: m", "is_baseline: true")
    told = copy.run("--dry-run", "--test-file-path", "samples.jsonl")
    assert "https://api.nebula.example/v1" in told
    assert "key from nebula" in told


class _Brief(BaseHTTPRequestHandler):
    """Speaks the recipe's protocol, and only that."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert (self.path, body["model"], body["ask"]) == ("/v1/brief", "m", SAMPLE["messages"])
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write("".join(f"data: {json.dumps(event)}\n\n" for event in EVENTS).encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Brief)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_protocol_is_one_folder_and_two_lines(tmp_path: Path, address: str) -> None:
    """`validator:` chooses it, a vendor is asked in it, and its call is read and judged like anybody's."""
    copy = follow("Add a wire protocol", tmp_path)
    write_inputs(
        tmp_path, "name: own", "model_id: m", f"url: '{address}'", "validator: brief_chat", "is_baseline: true"
    )
    copy.run("--test-file-path", "samples.jsonl", "--no-calibration", "--no-history", "-q", "-o", "run")
    figures = json.loads((tmp_path / "run" / "scores.json").read_text())["models"]["kimi-k2"]["vendors"]["own"]
    assert (figures["success_rate"], figures["schema_accuracy"]) == (1.0, 1.0)
    assert figures["decisions"] == {"called": 2}
