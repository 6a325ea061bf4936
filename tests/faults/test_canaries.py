"""No secret in anything that is produced, whatever a vendor does with it and however loudly we speak."""

from __future__ import annotations

import base64
import json
import logging
import re
import shutil
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from fault_server import DONE, FaultServer, Script, Seen, delta, event, head, say, serving, stream, text, whole
from matrix import ROWS
from workbench import Bench

from vendor_verifier.cli.main import run_app

TOKEN = "CANARY-TOKEN-zyxwvutsrqponmlk"
HOOK = "CANARY-HOOK-mnbvcxzlkjhgfdsapoi"


def forms(secret: str) -> set[bytes]:
    """A secret as it may be found: plain, tail, URL-encoded, base64."""
    words = {secret, secret[-8:], urllib.parse.quote(secret), urllib.parse.quote(secret, safe="")}
    cased = (secret, secret.upper(), secret.lower())
    words |= {form for word in words for form in (word.upper(), word.lower())}
    return {word.encode() for word in words} | {base64.b64encode(word.encode()) for word in cased}


def key_of(number: int) -> str:
    """A key for every entry: a refused one must not silence the others."""
    return f"CANARY/KEY+0123456789=abcd{number:04}"


KEY = key_of(0)


def _error(words: str, status: int) -> bytes:
    return whole({"error": {"message": words, "code": words}}, status)


def _base64(words: str) -> str:
    return base64.b64encode(words.encode()).decode()


def _escaped(key: str) -> bytes:
    """As other programs write JSON: slashes escaped, signs as code points; cut, so that nobody can read it as JSON."""
    signs = key.replace("/", "\\u002F").replace("+", "\\u002B").replace("=", "\\u003D")
    return f'{{"a": "{key.replace("/", chr(92) + "/")}", "b": "{signs}"'.encode()


# Everything a vendor may do with a key that it was given.
ECHOES: dict[str, Callable[[str], Script]] = {
    "refuses with it": lambda key: say(_error(f"Incorrect API key provided: Bearer {key}", 400)),
    "stops with it": lambda key: say(_error(f"no such key {key}", 401)),
    "answers with it": lambda key: say(stream(text(f"you are {key}"), DONE)),
    "answers with it sign by sign": lambda key: say(stream(*(text(sign, None) for sign in f"{key}."), DONE)),
    "calls a tool with it": lambda key: say(
        stream(delta("tool_calls", tool_calls=[{"index": 0, "id": key, "function": {"name": key, "arguments": key}}]))
    ),
    "is served by it": lambda key: say(
        stream(event({"model": key, "id": key, "choices": [], "provider": key}), text("x"), DONE)
    ),
    "finishes with it": lambda key: say(stream(text("x", key), DONE)),
    "calls with it cut": lambda key: say(_error("x" * (2_000 - len(key) + 5) + key, 400)),
    "escapes it": lambda key: say(whole(_escaped(key), 400, "text/plain")),
    "encodes it": lambda key: say(_error(f"{urllib.parse.quote(key, safe='')} {_base64('user:' + key)}", 400)),
    "breaks with it": lambda key: say(stream(event({"error": {"message": key, "code": key}}), DONE)),
    "redirects to it": lambda key: say(whole({}, 307, location=f"https://e.example/?key={urllib.parse.quote(key)}")),
    "sends headers of it": lambda key: say(whole(b"<html>" + key.encode(), 200, "text/html", x_request_id=key)),
    "is a cookie of it": lambda key: Script([(0, head(500, set_cookie=f"k={key}") + base64.b64encode(key.encode()))]),
    "refuses with it in upper case": lambda key: say(_error(f"Incorrect API key provided: {key.upper()}", 400)),
    "answers with it in lower case": lambda key: say(stream(text(f"{key.lower()} {_base64(key.upper())}"), DONE)),
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
def vendors() -> Iterator[tuple[str, FaultServer]]:
    """All rows of the matrix, all echoes and a webhook behind one address."""

    def answer(_server: FaultServer, seen: Seen) -> Script:
        if seen.vendor == "hook":
            return say(whole({}))
        kind, number = seen.vendor.split("-")
        key = seen.headers["authorization"].removeprefix("Bearer ") if number != "0" else seen.headers["x-token"]
        return ROWS[int(number)].script() if kind == "row" else list(ECHOES.values())[int(number)](key)

    with serving(answer) as server:
        yield f"http://127.0.0.1:{server.port}", server


def labels(kind: str, count: int) -> list[str]:
    return [f"{kind}-{number}" for number in range(count)]


# Some of the matrix, which is given keys and says nothing of them, and everybody who does.
EVERYBODY = [*labels("row", len(ROWS))[::20], *labels("echo", len(ECHOES))]


def configure(folder: Path, address: str, entries: Sequence[str] = EVERYBODY) -> None:
    """An entry for each of ``entries``, with a key of its own, and a secret header besides; the webhook's address."""
    bench = Bench(folder)
    entries = [
        {"name": "leaky" if label == "echo-1" else "canary", "label": label, "model_id": "m",
         "url": f"{address}/{label}", "api_key_env": f"canary{number}"}
        for number, label in enumerate(entries)
    ]  # fmt: skip
    defaults = {"validator": "openai", "extra_headers": {"x-token": "${TOKEN}"}}
    bench.write("config.yaml", {"defaults": defaults, "kimi-k2": {"vendors": entries}})
    bench.samples(1, tools=False)
    secrets = folder / "secrets"
    secrets.mkdir()
    keys = "".join(f"canary{n}='{key_of(n)}'\n" for n in range(len(entries)))
    (secrets / ".env").write_text(f"{keys}TOKEN='{TOKEN}'\nHOOK='{address}/hook/{HOOK}'\n")
    (secrets / ".env").chmod(0o600)
    (folder / "plugins").mkdir()
    (folder / "plugins" / "leaky.py").write_text(PLUGIN)


@pytest.fixture(autouse=True)
def _loud(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpx2")


def _sought() -> re.Pattern[bytes]:
    """Any secret in any form. Keys differ by their last four digits; in base64, what comes before them is enough."""
    keys = {re.escape(form).replace(b"0000", b"0[0-9]{3}") for form in forms(KEY) if form.endswith(b"0000")}
    keys |= {re.escape(base64.b64encode(each.encode()[:24])) for each in (KEY, KEY.upper(), KEY.lower())}
    return re.compile(b"|".join({*keys, *map(re.escape, forms(TOKEN) | forms(HOOK))}))


def _leaks(produced: Mapping[str, bytes]) -> set[tuple[str, bytes]]:
    """Where any secret is in any form."""
    sought = _sought()
    return {(name, form) for name, content in produced.items() for form in sought.findall(content)}


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.usefixtures("pages")
def test_no_secret_in_anything_a_run_produces(
    vendors: tuple[str, FaultServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """All scenarios with canary keys, every log at its loudest: screens, logs, records, manifest and all reports are
    searched byte by byte, in every disguise; the masks prove that the secrets were really there."""
    configure(tmp_path, vendors[0])
    monkeypatch.chdir(tmp_path)
    run_app([
        "--config-file-path", "config.yaml", "--env-file", "secrets/.env", "--test-file-path", "samples.jsonl",
        "--set", "run.vendor_path=plugins", "--verbose", "--retries", "0", "-o", "run", "--history", "history.sqlite",
    ])  # fmt: skip
    shutil.rmtree(tmp_path / "secrets")
    out, err = capfd.readouterr()
    produced = _files(tmp_path) | {"stdout": out.encode(), "stderr": err.encode(), "logs": caplog.text.encode()}
    assert _leaks(produced) == set()
    assert produced["run/records.jsonl"].count(b"\n") == len(EVERYBODY)
    assert produced["run/records.jsonl"].count(b"[secret]") >= len(ECHOES)
    assert b"[secret]" in produced["stderr"]
    assert any(name.endswith(".html") for name in produced)


@pytest.mark.slow
@pytest.mark.usefixtures("pages")
def test_no_secret_in_what_other_commands_make_of_a_run(
    vendors: tuple[str, FaultServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    """Vendors that echo keys: a check and its webhook, every report, explanations with their curl, history,
    comparisons, dry runs and the doctor, in text and JSON, hold no key; the masks show that there were some."""
    address, server = vendors
    echoes = labels("echo", len(ECHOES))
    configure(tmp_path, address, echoes)
    monkeypatch.chdir(tmp_path)
    asked = ("--config-file-path", "config.yaml", "--env-file", "secrets/.env", "--set", "run.vendor_path=plugins")
    run_app(["check", *asked, "--retries", "0", "--test-file-path", "samples.jsonl", "-o", "run", "--verbose", "--json",
             "--history", "h.sqlite", "--webhook-env", "HOOK", "--notify", "always"])  # fmt: skip
    sample = json.loads((tmp_path / "run" / "samples" / "trigger.jsonl").read_text())["id"]
    for label in echoes[::4]:
        run_app(["explain", "run", "--vendor", label, "--sample", sample, "--full"])
    run_app(["explain", "run", "--vendor", echoes[0]])
    run_app(["explain", "run", "--vendor", echoes[0], "--sample", sample, "--json"])
    run_app(["report", "run", "--format", "json,csv,md,html,junit,openmetrics", "-o", "reports"])
    run_app(["report", "run", "--format", "terminal"])
    for arguments in (
        ["compare", "run", "run"], ["history", "--history", "h.sqlite"],
        ["history", "--history", "h.sqlite", "--metric", "ttft"],
        ["report", "run", "--format", "jsonl", "--table", "all", "-o", "tables"], ["run", *asked, "--dry-run"],
        ["doctor", *asked, "--vendor", echoes[0]], ["doctor", *asked, "--verbose", "--json"],
    ):  # fmt: skip
        run_app(arguments)
    shutil.rmtree(tmp_path / "secrets")
    out, err = capfd.readouterr()
    produced = _files(tmp_path) | {"stdout": out.encode(), "stderr": err.encode(), "logs": caplog.text.encode()}
    told = [seen.body for seen in server.seen if seen.vendor == "hook"]
    produced["webhook"] = json.dumps(told).encode()
    assert _leaks(produced) == set()
    assert len(told) == 1
    assert b"curl" in produced["stdout"]
    assert len([name for name in produced if name.startswith("reports/")]) == 6
    for name in ("stdout", "run/records.jsonl", "reports/report.html"):
        found = next(content for known, content in produced.items() if known.endswith(name))
        assert b"[secret]" in found, name
