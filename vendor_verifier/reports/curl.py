"""Writes a request as a ``curl`` command for a POSIX shell; the key is a variable in it, and it runs nothing.

What strangers wrote (a prompt, a tool's name) stands only in a quoted here-document of ASCII JSON.
"""

from __future__ import annotations

import json
import re
import shlex

from vendor_verifier.reports.escape import plain
from vendor_verifier.values.request import HttpRequest

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
