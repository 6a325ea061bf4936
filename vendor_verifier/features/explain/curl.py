"""A stored request as a ``curl`` command for a POSIX shell.

The key is a variable. What strangers wrote is only inside a quoted here-document of ASCII JSON, or quoted for a shell.
"""

from __future__ import annotations

import json
import re
import shlex

from vendor_verifier.pipeline.plan import RAW, wire_of
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.plan import SIMULATED, Entry
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.registry import WIRES, find_vendors
from vendor_verifier.reports.escape import plain
from vendor_verifier.run.conversation import with_parameters

# Put where the key belongs when the request is built, and replaced by the variable here.
KEY_PLACE = "KEY-PLACE-OF-THE-VENDOR"
SIMULATOR = "http://127.0.0.1:8600"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST = 2_000


def curl_command(request: HttpRequest, key_name: str | None) -> str:
    """The command, several lines; the key is ``$key_name``, or ``$API_KEY`` where that is no shell variable."""
    variable = key_name if key_name and _VARIABLE.fullmatch(key_name) else "API_KEY"
    lines = [f"curl -sS -N -X {request.method} {_word(request.url, variable)}"]
    lines += [f"-H {_word(f'{name}: {value}', variable)}" for name, value in request.headers.items()]
    lines.append("--data-binary @- <<'JSON'")
    return " \\\n  ".join(lines) + f"\n{_harmless_json(request.body)}\nJSON"


def _word(text: str, variable: str) -> str:
    """One word of a shell; only the key's place is expanded."""
    shown = plain(text, _MOST)
    if KEY_PLACE not in shown:
        return shlex.quote(shown)
    guarded = re.sub(r'([\\"$`])', r"\\\1", shown)
    return '"' + guarded.replace(KEY_PLACE, "${" + variable + "}") + '"'


def _harmless_json(body: bytes) -> str:
    """The same JSON in printable ASCII on one line, without what a CI log takes for a command."""
    text = json.dumps(json.loads(body), ensure_ascii=True, separators=(",", ":")).replace("\x7f", "\\u007f")
    # Both can only be inside strings, where an escape is the same character.
    return text.replace("::", "\\u003a\\u003a").replace("##[", "\\u0023\\u0023[")


def curl_for(
    manifest: Manifest, model: str, label: str, turn: Turn | None, *, redacted: bool
) -> tuple[str | None, str | None]:
    """The command and None, or None and the reason why there is none."""
    stored = next(each for each in manifest.entries if each.key == (model, label))
    url = stored.url or ""
    reasons = {
        "the run stored digests of the texts only": redacted,
        "this conversation cannot be played again without its tools": turn is None,
        "the answers were imported, and their address is not known": not url.startswith(("http", SIMULATED)),
        "raw completions need the chat template of the model": stored.wire == RAW,
        f"this program does not know the protocol {stored.wire!r}": stored.wire not in WIRES,
    }
    reason = next((reason for reason, applies in reasons.items() if applies), None)
    if reason is not None or turn is None:
        return None, reason
    if url.startswith(SIMULATED):
        url = f"{SIMULATOR}/{url.removeprefix(SIMULATED).strip('/')}/v1"
    key = KEY_PLACE if stored.key_name else None
    entry = Entry(
        model=stored.model,
        label=stored.label,
        vendor=stored.vendor,
        endpoint=Endpoint(base_url=url, model_id=stored.model_id, key=key, body=stored.extra_body or {}),
        wire=stored.wire or "",
        account=str(stored.account),
        parameters=stored.parameters,
    )
    wire = wire_of(entry, find_vendors().vendor(entry.vendor), WIRES)
    curl = curl_command(wire.request(with_parameters(turn, entry), entry.endpoint), stored.key_name)
    if stored.extra_headers:
        curl = f"# add these headers of the config: {plain(', '.join(stored.extra_headers))}\n{curl}"
    if url.startswith(SIMULATOR):
        curl = f"# start this first, in another terminal: agent-vendor-verifier simulate\n{curl}"
    return curl, None
