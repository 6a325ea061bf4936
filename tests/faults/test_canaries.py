"""No secret in anything that is produced, whatever a vendor does with it and however loudly we speak."""

from __future__ import annotations

import asyncio
import base64
import logging
import shutil
import subprocess
import sys
import tarfile
import threading
import urllib.parse
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fault_server import DONE, FaultServer, Script, Seen, event, head, say, stream, text, whole
from matrix import ROWS

from vendor_verifier.cli.main import run_app

TOKEN = "CANARY-TOKEN-zyxwvutsrqponmlk"
ROOT = Path(__file__).parents[2]


def _forms(secret: str) -> set[bytes]:
    """A secret as it may be found: plain, tail, URL-encoded, base64."""
    words = {secret, secret[-8:], urllib.parse.quote(secret), urllib.parse.quote(secret, safe="")}
    return {word.encode() for word in words} | {base64.b64encode(secret.encode())}


def _key(number: int) -> str:
    """A key for every entry: a refused one must not silence the others."""
    return f"CANARY/KEY+0123456789=abcd{number:04}"


KEY = _key(0)


def _error(words: str, status: int) -> bytes:
    return whole({"error": {"message": words, "code": words}}, status)


# Everything a vendor may do with a key that it was given.
ECHOES: dict[str, Callable[[str], Script]] = {
    "refuses with it": lambda key: say(_error(f"Incorrect API key provided: Bearer {key}", 400)),
    "refuses with its tail": lambda key: say(_error(f"bad key sk-…{key[-8:]}", 400)),
    "stops with it": lambda key: say(_error(f"no such key {key}", 401)),
    "is overloaded with it": lambda key: say(_error(key, 500)),
    "answers with it": lambda key: say(stream(text(f"you are {key}"), DONE)),
    "answers in pieces": lambda key: say(stream(*(text(letter, None) for letter in key), text("."), DONE)),
    "calls a tool with it": lambda key: say(
        stream(
            event(
                {
                    "choices": [
                        {
                            "delta": {
                                "tool_calls": [{"index": 0, "id": key, "function": {"name": key, "arguments": key}}]
                            }
                        }
                    ]
                }
            ),
            text("", "tool_calls"),
            DONE,
        )
    ),
    "is served by it": lambda key: say(
        stream(event({"model": key, "id": key, "choices": [], "provider": key}), text("x"), DONE)
    ),
    "finishes with it": lambda key: say(stream(text("x", key), DONE)),
    "breaks with it": lambda key: say(stream(event({"error": {"message": key, "code": key}}), DONE)),
    "redirects to it": lambda key: say(whole({}, 307, location=f"https://e.example/?key={urllib.parse.quote(key)}")),
    "sends headers of it": lambda key: say(whole(b"<html>" + key.encode(), 200, "text/html", x_request_id=key)),
    "is a cookie of it": lambda key: Script([(0, head(500, set_cookie=f"k={key}") + base64.b64encode(key.encode()))]),
    "is no HTTP but it": lambda key: say(f"HTTP/1.1 {key}\r\n\r\n".encode(), end="close"),
}
PLUGIN = """
from vendor_verifier.vendor import OpenAICompatible


class Leaky(OpenAICompatible):
    name = "leaky"

    def classify(self, status, headers, body):
        raise RuntimeError(f"cannot read {body!r}")
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """All rows of the matrix and all echoes behind one address, in a thread of their own."""
    started, ended = threading.Event(), threading.Event()
    found: list[str] = []

    def answer(seen: Seen) -> Script:
        kind, number = seen.vendor.split("-")
        key = seen.headers["authorization"].removeprefix("Bearer ") if number != "0" else seen.headers["x-token"]
        return ROWS[int(number)].script() if kind == "row" else list(ECHOES.values())[int(number)](key)

    async def serve() -> None:
        async with FaultServer(answer) as server:
            found.append(f"http://127.0.0.1:{server.port}")
            started.set()
            while not ended.is_set():
                await asyncio.sleep(0.05)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    started.wait(10)
    yield found[0]
    ended.set()
    thread.join()


def _configure(folder: Path, address: str) -> None:
    """An entry for each row and each echo, all with the same key, and a secret header besides."""
    entries = [f"row-{number}" for number in range(len(ROWS))] + [f"echo-{number}" for number in range(len(ECHOES))]
    lines = ["defaults: {validator: openai, extra_headers: {x-token: '${TOKEN}'}}", "kimi-k2:", "  vendors:"]
    lines += [
        f"    - {{name: {'leaky' if label == 'echo-3' else 'canary'}, label: {label}, model_id: m, "
        f"url: '{address}/{label}', api_key_env: canary{number}}}"
        for number, label in enumerate(entries)
    ]
    (folder / "config.yaml").write_text("\n".join(lines) + "\n")
    (folder / "samples.jsonl").write_text('{"messages": [{"role": "user", "content": "hi"}], "tools": []}\n')
    secrets = folder / "secrets"
    secrets.mkdir()
    keys = "".join(f"canary{n}='{_key(n)}'\n" for n in range(len(entries)))
    (secrets / ".env").write_text(f"{keys}TOKEN='{TOKEN}'\n")
    (secrets / ".env").chmod(0o600)
    (folder / "plugins").mkdir()
    (folder / "plugins" / "leaky.py").write_text(PLUGIN)


def test_no_secret_in_anything_a_run_produces(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """All scenarios with canary keys, every log at its loudest: screens, logs, records, manifest and all reports are
    searched byte by byte, in every disguise; the masks prove that the secrets were really there."""
    _configure(tmp_path, address)
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpx2")
    run_app([
        "--config-file-path", "config.yaml", "--env-file", "secrets/.env", "--test-file-path", "samples.jsonl",
        "--vendor-path", "plugins", "--verbose", "--retries", "0", "--first-token-timeout", "0.4",
        "--idle-timeout", "0.4", "-o", "run", "--history", "history.sqlite",
    ])  # fmt: skip
    run_app(["score", "run"])
    run_app(["report", "run"])
    shutil.rmtree(tmp_path / "secrets")
    out, err = capfd.readouterr()
    produced = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    produced |= {"stdout": out.encode(), "stderr": err.encode(), "logs": caplog.text.encode()}
    forms = frozenset().union(_forms(TOKEN), *(_forms(_key(n)) for n in range(len(ROWS) + len(ECHOES))))
    found = {(name, form) for name, content in produced.items() for form in forms if form in content}
    assert found == set()
    assert produced["run/records.jsonl"].count(b"\n") == len(ROWS) + len(ECHOES)
    assert produced["run/records.jsonl"].count(b"[secret]") >= len(ECHOES)
    assert b"[secret]" in produced["stderr"]
    assert any(name.endswith(".html") for name in produced)


def test_no_secret_in_what_is_published(tmp_path: Path) -> None:
    """A checkout full of keys, configs and runs builds a wheel and an sdist that hold none of them."""
    checkout = tmp_path / "checkout"
    ignored = shutil.ignore_patterns(".*", "__pycache__", "benchmarks", "tests", "runs", "dist", "build")
    shutil.copytree(ROOT, checkout, ignore=ignored)
    shutil.copy(ROOT / ".gitignore", checkout)
    shutil.copy(ROOT / ".env.example", checkout)
    for name in (".env", "config.yaml", "runs/r/records.jsonl", "vendors/.env", "datasets/.env", "history.sqlite"):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(f"together={KEY}\n")
    target = tmp_path / "dist"
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(checkout)],
        check=True, capture_output=True,
    )  # fmt: skip
    contents: dict[str, bytes] = {}
    with zipfile.ZipFile(next(target.glob("*.whl"))) as wheel:
        contents |= {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(next(target.glob("*.tar.gz"))) as source:
        members = [member for member in source.getmembers() if member.isfile()]
        contents |= {member.name: file.read() for member in members if (file := source.extractfile(member))}
    assert len(contents) > 200
    assert [name for name, content in contents.items() if KEY.encode() in content] == []
