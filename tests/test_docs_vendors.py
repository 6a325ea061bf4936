"""The code of docs/vendors.md is run: the plugins load, the recorded answer is read, a live one is measured."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest

from vendor_verifier.cli.main import run_app
from vendor_verifier.records.record import Failure
from vendor_verifier.records.request import Endpoint, Turn
from vendor_verifier.registry import find_vendors

PAGE = (Path(__file__).parents[1] / "docs" / "vendors.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n# (file|run): (.*?)\n(.*?)```", PAGE, re.DOTALL)
STREAM = (
    'event: message-start\ndata: {"type":"message-start","id":"c1"}\n\n'
    'event: content-delta\ndata: {"type":"content-delta","delta":{"message":{"content":{"text":"I look."}}}}\n\n'
    'event: tool-call-start\ndata: {"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":'
    '{"id":"t1","function":{"name":"look_up","arguments":"{\\"id\\""}}}}}\n\n'
    'event: tool-call-delta\ndata: {"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":'
    '{"function":{"arguments":": 1}"}}}}}\n\n'
    'event: message-end\ndata: {"type":"message-end","delta":{"finish_reason":"TOOL_CALL","usage":'
    '{"tokens":{"input_tokens":9,"output_tokens":4}}}}\n\n'
)


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """The page's plugin files in a folder."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    for kind, name, code in BLOCKS:
        if kind == "file":
            (folder / name).write_text(code, encoding="utf-8")
    return folder


def test_the_pages_plugins_load_and_are_as_long_as_promised(plugins: Path) -> None:
    """Nine lines make a compatible vendor, about a hundred a protocol of its own; quirks are declarations."""
    registry = find_vendors([plugins])
    assert registry.broken == ()
    assert {"nebula", "comet", "cohere"} <= set(registry.vendors)
    lengths = {path.name: len(path.read_text().splitlines()) for path in plugins.glob("*.py")}
    assert lengths["nebula.py"] == 8
    assert 90 <= lengths["cohere.py"] <= 140
    comet = registry.vendor("comet")
    assert comet.classify(400, {}, b"you are out of credit") == Failure(
        "no_credit", "headers", "the account is out of credit", 400
    )
    request = comet.wire.request(
        Turn(({"role": "user"},), (), {"max_tokens": 5}), Endpoint("https://c.example/v1", "m")
    )
    assert json.loads(request.body)["max_completion_tokens"] == 5


def test_the_pages_recorded_answer_is_read(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last example runs as it stands, after the protocol it reads."""
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, "example", module)
    scope = vars(module)
    exec(compile((plugins / "cohere.py").read_text(), "cohere.py", "exec"), scope)
    for kind, name, code in BLOCKS:
        if kind == "run":
            exec(compile(code, name, "exec"), scope)
            break
    else:
        pytest.fail("the page has no example to run")


class _Cohere(BaseHTTPRequestHandler):
    """Answers every request with the recorded call."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert body["stream"] is True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(STREAM.encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Cohere)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v2"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_plugin_with_its_own_protocol_takes_part_in_a_run(
    plugins: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's protocol is chosen by the vendor's name, and its calls are validated like anybody's."""
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(
        f"kimi-k2:\n  vendors:\n    - {{name: cohere, model_id: m, url: '{address}', is_baseline: true}}\n"
    )
    parameters = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    tool = {"type": "function", "function": {"name": "look_up", "parameters": parameters}}
    sample = {"messages": [{"role": "user", "content": "look up 1"}], "tools": [tool]}
    Path("s.jsonl").write_text(json.dumps(sample) + "\n")
    asked = ("--test-file-path", "s.jsonl", "-o", "run", "--quiet")
    assert run_app(["--set", f"run.vendor_path={plugins!s}", *asked]) == 0
    figures = json.loads(Path("run/scores.json").read_text())["models"]["kimi-k2"]["vendors"]["cohere"]
    assert (figures["schema_accuracy"], figures["avg_tokens"]) == (1.0, 13.0)
