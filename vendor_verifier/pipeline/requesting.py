"""Rebuilds the request of a stored run as a ``curl`` command: from the manifest, without any key. It sends nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.pipeline.simulation import SCHEME
from vendor_verifier.pipeline.wires import RAW, wire_of
from vendor_verifier.registry import WIRES, find_vendors
from vendor_verifier.reports.curl import KEY_PLACE, curl_command
from vendor_verifier.reports.escape import plain
from vendor_verifier.run.drive import with_parameters
from vendor_verifier.values.plan import Entry
from vendor_verifier.values.request import Endpoint, Turn

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
