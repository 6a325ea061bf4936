"""Vendors that make everything of the keys they are given, for tests that look for keys where none may be."""

from __future__ import annotations

import base64
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fault_server import DONE, FaultServer, Script, Seen, delta, event, head, say, serving, stream, text, whole
from matrix import ROWS
from workbench import Bench

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


@contextmanager
def canary_server() -> Iterator[tuple[str, FaultServer]]:
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
