"""The command from config file to exit code: on simulated vendors, and on servers that answer what they should not."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from fault_server import DONE, FaultServer, Script, Seen, delta, say, stream, text, whole
from proxy_server import ProxyServer
from shared_vendors import OWN_COMMAND, OWN_START

from vendor_verifier.errors import UsageError
from vendor_verifier.features.doctor.command import doctor_command
from vendor_verifier.pipeline import simulated_vendors
from vendor_verifier.words import Texts

AnyServer = TypeVar("AnyServer", FaultServer, ProxyServer)
KEY = "canary-key-0123456789abcdef"
CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}


def configure(folder: Path, **urls: str) -> Path:
    lines = ["simulated-model:", "  vendors:"]
    for number, (label, url) in enumerate(urls.items()):
        lines += [f"    - name: simulated\n      label: {label}\n      model_id: simulated-model\n      url: {url}"]
        lines += ["      api_key: ${DOCTOR_KEY}"] if url.startswith("http") else []
        lines += ["      is_baseline: true"] if number == 0 else []
    path = folder / "config.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / ".env").write_text(f"DOCTOR_KEY={KEY}\n", encoding="utf-8")
    (folder / ".env").chmod(0o600)
    return path


def serving(answer: Any) -> AbstractContextManager[FaultServer]:
    """A fault server in a thread of its own."""
    return running(FaultServer(answer))


@contextmanager
def running(server: AnyServer) -> Iterator[AnyServer]:
    """``server`` in a thread of its own, because the command has its own event loop."""
    started, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        async with server:
            started.set()
            while not stop.is_set():
                await anyio.sleep(0.01)

    thread = threading.Thread(target=lambda: anyio.run(serve))
    thread.start()
    started.wait(5)
    try:
        yield server
    finally:
        stop.set()
        thread.join(5)


def streaming(seen: Seen, **fields: Any) -> Script:
    """A good vendor: a call when there is a tool, a text that really streams when not."""
    if "tools" in seen.body:
        return say(stream(delta(tool_calls=[CALL], **fields), delta("tool_calls"), DONE))
    pieces = stream(*(text(f"number {number} ", None) for number in range(8)), text("."), DONE)
    size = len(pieces) // 8
    return Script([(0.02, pieces[start : start + size]) for start in range(0, len(pieces), size)], "keep")


def checks_of(told: dict[str, Any], label: str) -> dict[str, str]:
    vendor = next(vendor for vendor in told["vendors"] if vendor["label"] == label)
    return {check["name"]: check["status"] for check in vendor["checks"]}


def test_simulated_vendors_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each persona's defect is found by its own check, and the worst decides the exit code."""
    # Hurried, tokens lie so close together that a busy machine makes one burst of them.
    monkeypatch.setattr(simulated_vendors, "_command", OWN_COMMAND)
    monkeypatch.setattr(simulated_vendors, "_started", OWN_START)
    personas = ("faithful", "slow", "buffering", "substitute", "locked", "down")
    path = configure(tmp_path, **{name: f"sim://{name}" for name in personas})
    assert doctor_command(config_file_path=path, json=True) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["exit_code"] == 3
    verdicts = {vendor["label"]: vendor["verdict"] for vendor in told["vendors"]}
    assert verdicts == {
        "faithful": "usable", "slow": "usable", "buffering": "usable_with_reservations",
        "substitute": "usable_with_reservations", "locked": "not_usable", "down": "not_usable",
    }  # fmt: skip
    assert checks_of(told, "buffering")["streams"] == "failed"
    assert checks_of(told, "substitute")["served model"] == "failed"
    assert checks_of(told, "locked")["key accepted"] == "failed"
    assert checks_of(told, "down")["answers"] == "failed"
    assert all(vendor["spending"]["requests"] <= 3 for vendor in told["vendors"])
    assert all(vendor["spending"]["output_tokens"] < 500 for vendor in told["vendors"])


def test_exit_codes_follow_the_worst_vendor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 all fine, 1 something departs; filters choose who is asked."""
    path = configure(tmp_path, good="sim://faithful", held="sim://buffering")
    assert doctor_command(config_file_path=path, vendor=("good",)) == 0
    assert "1 usable, 0 usable with reservations, 0 NOT USABLE" in capsys.readouterr().out
    assert doctor_command(config_file_path=path, vendor=("held",)) == 1


def test_the_key_goes_to_the_vendor_and_nowhere_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A vendor that echoes the key in a hostile body: it is shown scrubbed, escaped and capped, in both outputs."""
    body = {"error": {"message": f"bad key {KEY}\x1b[31m ::error:: " + "x" * 5000}}
    for as_json in (False, True):
        with serving(lambda _seen: say(whole(body, 401))) as server:
            origin = f"http://127.0.0.1:{server.port}"
            path = configure(tmp_path, echo=server.url())
            assert doctor_command(config_file_path=path, json=as_json, verbose=True) == 3
        told = capsys.readouterr()
        assert [seen.key for seen in server.seen] == [KEY]
        assert KEY not in told.out + told.err
        assert "[secret]" in told.out
        assert "\x1b" not in told.out
        assert origin in told.out
        assert len(told.out) < 8000
        if not as_json:
            assert "body of the refusal" in told.out
            assert "::error" not in told.out


def test_a_key_in_an_answer_is_in_no_excerpt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Excerpts are cut out of scrubbed text, so that no cut leaves half a key: timeline, SDK findings, evidence."""
    leak = text(f"{'x' * 25} {KEY} and more")
    with serving(lambda _seen: say(stream(leak.replace(b'"delta"', b'"message"'), DONE))) as server:
        doctor_command(config_file_path=configure(tmp_path, echo=server.url()), verbose=True)
    out = capsys.readouterr().out
    assert "[secret]" in out
    assert KEY[:10] not in out


def test_a_proxy_stands_with_an_unusual_refusal_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A 400 that means a wrong key is shown by its body, because its code says nothing."""
    with serving(lambda _seen: say(whole({"error": {"message": "No connected db."}}, 400))) as server:
        assert doctor_command(config_file_path=configure(tmp_path, litellm=server.url()), verbose=True) == 3
    out = capsys.readouterr().out
    assert "No connected db." in out
    assert "proxy: none" in out
    assert len(server.seen) == 2


def test_a_good_server_is_usable_and_its_timeline_is_decoded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Real sockets: streaming is seen as streaming; what is not reported is a reservation."""
    with serving(streaming) as server:
        path = configure(tmp_path, good=server.url())
        assert doctor_command(config_file_path=path, json=True) == 1
    told = json.loads(capsys.readouterr().out)
    found = checks_of(told, "good")
    assert found["streams"] == found["tools accepted"] == found["key accepted"] == "ok"
    assert found["usage reported"] == "warning"
    whats = [moment["what"] for moment in told["vendors"][0]["timeline"]]
    assert whats[0] == "request sent"
    assert {"first token", "last token", "finish", "end marker"} <= set(whats)


def test_a_server_that_closes_its_connections_is_judged_like_one_that_keeps_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Closing after an answer, or as the next request comes in, is nobody's fault: every check comes out the same."""
    seen_on: dict[int, int] = {}

    def losing(seen: Seen) -> Script:
        seen_on[seen.connection] = seen_on.get(seen.connection, 0) + 1
        return streaming(seen) if seen_on[seen.connection] == 1 else Script((), "close")

    def closing(seen: Seen) -> Script:
        return Script(streaming(seen).steps, "close")

    found = []
    for answer in (streaming, closing, losing):
        with serving(answer) as server:
            doctor_command(config_file_path=configure(tmp_path, good=server.url()), json=True)
        found.append(checks_of(json.loads(capsys.readouterr().out), "good"))
    assert found[0]["tools accepted"] == found[0]["key accepted"] == "ok"
    assert found[1] == found[2] == found[0]
    assert max(seen_on.values()) == 2


def test_sdk_findings_make_a_reservation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A stream that only our reader can read is told with what an application would miss; nothing is sent for it."""

    def answer(seen: Seen) -> Script:
        if "tools" in seen.body:
            usage = {"prompt_tokens": 1, "completion_tokens": 1}
            call = {name: value for name, value in CALL.items() if name != "index"}
            second = {**call, "id": "d"}
            return say(stream(delta(tool_calls=[call]), delta(tool_calls=[second]), delta("stop"), _usage(usage), DONE))
        return streaming(seen)

    with serving(answer) as server:
        assert doctor_command(config_file_path=configure(tmp_path, odd=server.url()), json=True) == 1
    found = json.loads(capsys.readouterr().out)["vendors"][0]
    assert len(found["sdk"]) == 4
    assert "1 tool call instead of 2" in str(found["sdk"])
    assert ["calls"] in [each["lost"] for each in found["sdk"]]
    assert len(server.seen) == found["spending"]["requests"] == found["asked"] == 2


def _usage(usage: dict[str, int]) -> bytes:
    return b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"


def test_nobody_there_is_not_usable_and_costs_one_try(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A refused connection: one attempt, every check told, no traceback."""
    with serving(streaming) as server:
        url = server.url()
    assert doctor_command(config_file_path=configure(tmp_path, gone=url), verbose=True) == 3
    out = capsys.readouterr().out
    assert "connect_refused" in out
    assert f"{url}/chat/completions" in out
    assert "1 request," in out


def test_a_plugin_that_raises_leaves_the_other_vendors_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its own line says what it raised; the rest is examined as ever."""
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "odd.py").write_text(
        "from dataclasses import dataclass\n"
        "from vendor_verifier.vendor import OpenAICompatible\n"
        "from vendor_verifier.wire.openai_chat import OpenAIChat\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class _Wire(OpenAIChat):\n"
        "    def request(self, turn, endpoint):\n"
        "        raise KeyError('oops')\n"
        "class Odd(OpenAICompatible):\n"
        "    name = 'odd'\n"
        "    wire = _Wire()\n"
    )
    path = configure(tmp_path, good="sim://faithful", bad="sim://slow")
    path.write_text(path.read_text().replace("name: simulated\n      label: bad", "name: odd\n      label: bad"))
    assert doctor_command(config_file_path=path, vendor_path=(plugins,), verbose=True) == 3
    out = capsys.readouterr().out
    assert "simulated-model / good: usable" in out
    assert "harness: KeyError: 'oops' (odd.py:7)" in out
    assert "0 requests" in out


def test_one_table_with_a_line_a_vendor_and_what_its_counts_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address that was asked, tokens in, the SDK's reading; a padded prompt is a hint in words, and no verdict."""
    monkeypatch.setattr(simulated_vendors, "_command", OWN_COMMAND)
    monkeypatch.setattr(simulated_vendors, "_started", OWN_START)
    path = configure(tmp_path, official="sim://faithful", padded="sim://padded")
    assert doctor_command(config_file_path=path) == 0
    head, official, padded, _, *rest = capsys.readouterr().out.splitlines()
    assert head.split("  ")[0] == "vendor"
    assert re.fullmatch(
        r"official +usable +2/2 +\d+ ms +ok +ok +50 / 17 +same +http://127\.0\.0\.1:\d+/faithful/v1/chat/completions",
        official,
    )
    assert "188 / 143" in padded
    assert [line for line in rest if "hint" in line] == [rest[0]]
    assert rest[0].startswith("padded: hint: the question “text” is 143 prompt tokens here and 17 at official")
    assert rest[-2:] == ["2 usable, 0 usable with reservations, 0 NOT USABLE", Texts()("doctor_see_more")]


def test_a_proxy_that_refuses_is_named_with_its_variable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The doctor asks through the proxy of the environment, as a run does, and says who did not let it through."""
    for name in ("https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with running(ProxyServer(refusal=403)) as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url.replace("http://", "http://user:canary@"))
        assert doctor_command(config_file_path=configure(tmp_path, v="https://vendor.invalid/v1"), verbose=True) != 0
    out = capsys.readouterr().out
    assert f"proxy: {proxy.url} (from ALL_PROXY)" in out
    assert "does not let us through: 403" in out
    assert len(proxy.asked) <= 2
    assert "canary" not in out


def test_a_proxy_of_an_unknown_kind_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable is named, and what is expected."""
    monkeypatch.setenv("all_proxy", "gopher://proxy.test:70")
    with pytest.raises(UsageError, match=r"all_proxy .*gopher.*expected"):
        doctor_command(config_file_path=configure(tmp_path, v="https://vendor.invalid/v1"))
