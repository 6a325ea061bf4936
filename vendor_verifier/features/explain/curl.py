"""The request of a stored run as a ``curl`` command for a POSIX shell; the key is a variable, and nothing is sent.

What strangers wrote (a prompt, a tool's name) stands only in a quoted here-document of ASCII JSON.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from vendor_verifier.pipeline.plan import RAW, wire_of
from vendor_verifier.pipeline.simulated_vendors import SCHEME
from vendor_verifier.registry import WIRES, find_vendors
from vendor_verifier.reports.escape import plain
from vendor_verifier.run.conversation import with_parameters
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.request import Endpoint, HttpRequest, Turn

# Put where the key belongs when the request is built, and replaced by the variable here.
KEY_PLACE = "KEY-PLACE-OF-THE-VENDOR"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST = 2_000


def curl_command(request: HttpRequest, key_name: str | None) -> str:
    """The command, several lines; the key is ``$key_name``, or ``$API_KEY`` where that is no shell variable."""
    variable = key_name if key_name and _VARIABLE.fullmatch(key_name) else "API_KEY"
    lines = [f"curl -sS -N -X {request.method} {_shell(request.url, variable)}"]
    lines += [f"-H {_shell(f'{name}: {value}', variable)}" for name, value in request.headers.items()]
    lines.append("--data-binary @- <<'JSON'")
    return " \\\n  ".join(lines) + f"\n{_harmless_json(request.body)}\nJSON"


def _shell(text: str, variable: str) -> str:
    """One word of a shell; only the key's place is expanded."""
    shown = plain(text, _MOST)
    if KEY_PLACE not in shown:
        return shlex.quote(shown)
    guarded = re.sub(r'([\\"$`])', r"\\\1", shown)
    return '"' + guarded.replace(KEY_PLACE, "${" + variable + "}") + '"'


def _harmless_json(body: bytes) -> str:
    """The same JSON in printable ASCII on one line, without what a CI log takes for a command."""
    text = json.dumps(json.loads(body), ensure_ascii=True, separators=(",", ":")).replace("\x7f", "\\u007f")
    # Both can only stand inside strings, where an escape is the same character.
    return text.replace("::", "\\u003a\\u003a").replace("##[", "\\u0023\\u0023[")


_SIMULATED = "http://127.0.0.1:8600"


def curl_for(
    manifest: Mapping[str, Any], model: str, label: str, turn: Turn | None, *, redacted: bool
) -> tuple[str | None, str | None]:
    """(command, None), or (None, why there is none)."""
    if redacted:
        return None, "the run stored digests, not what was asked"
    if turn is None:
        return None, "what was asked cannot be played again here"
    stored = next(each for each in manifest["entries"] if (each["model"], each["label"]) == (model, label))
    url = str(stored.get("url") or "")
    if not url.startswith(("http://", "https://", SCHEME)):
        return None, "the run was imported and names no address"
    if stored.get("wire") == RAW:
        return None, "raw completions render their prompt with a chat template, which is not stored"
    if stored.get("wire") not in WIRES:
        return None, f"the protocol {stored.get('wire')!r} is not known here"
    entry = _entry(stored, url)
    wire = wire_of(entry, find_vendors().vendor(entry.vendor), WIRES)
    request = wire.request(with_parameters(turn, entry), entry.endpoint)
    return _remarks(stored, url) + curl_command(request, entry.key_name), None


def _entry(stored: Mapping[str, Any], url: str) -> Entry:
    key_name = stored.get("key_name")
    if url.startswith(SCHEME):
        url = f"{_SIMULATED}/{url.removeprefix(SCHEME).strip('/')}/v1"
    return Entry(
        model=stored["model"],
        label=stored["label"],
        vendor=stored["vendor"],
        endpoint=Endpoint(
            base_url=url,
            model_id=stored["model_id"],
            key=KEY_PLACE if key_name else None,
            body=stored.get("extra_body") or {},
        ),
        wire=stored["wire"],
        account=str(stored.get("account")),
        key_name=key_name,
        parameters=stored.get("parameters") or {},
    )


def _remarks(stored: Mapping[str, Any], url: str) -> str:
    lines = []
    if url.startswith(SCHEME):
        lines.append("# first, elsewhere: agent-vendor-verifier simulate")
    if stored.get("extra_headers"):
        names = ", ".join(map(str, stored["extra_headers"]))
        lines.append(plain(f"# headers of the configuration to add: {names}"))
    return "".join(line + "\n" for line in lines)
