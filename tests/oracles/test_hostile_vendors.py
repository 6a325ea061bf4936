"""Hostile text of a vendor is harmless in every report, and no secret is in anything that a run leaves."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import unicodedata
import urllib.parse
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from adapters import RUN, command
from loopback import answered, prepare, serving, streamed

TEXTS = (
    '=HYPERLINK("http://evil.example";"x")',
    "[link=https://evil.example]click[/link] [red]",
    "\x1b]8;;http://evil.example\x07hi\x1b[2J",
    "\u202egnp.exe\u200b|</td></script><script>alert(1)</script><img src=http://evil.example onerror=alert(1)>",
    "::error::owned\n::set-output name=x::y",
    "| `a` | ![x](https://www.evil.example/x.png)",
)
FILES = ("json", "csv", "md", "html", "junit", "openmetrics")


def evil(text: str, path: str) -> bytes:
    """The text at every place of an answer, or as an error; ``path`` says which."""
    if "/error/" in path:
        return answered(
            json.dumps({"error": {"message": text, "code": text, "type": text}}).encode(), "400 Bad Request"
        )
    call = {
        "index": 0,
        "id": text,
        "type": "function",
        "function": {"name": text, "arguments": json.dumps({text: text})},
    }
    first = {"index": 0, "delta": {"content": text, "reasoning_content": text, "tool_calls": [call]}}
    last = {"index": 0, "delta": {}, "finish_reason": text}
    named = {"id": text, "model": text, "provider": text, "system_fingerprint": text}
    return streamed({**named, "choices": [first]}, {**named, "choices": [last]})


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Format → what it prints of a run of vendors that put hostile texts everywhere."""
    folder = tmp_path_factory.mktemp("hostile")
    kinds = [f"{kind}/{number}" for kind in ("answer", "error") for number in range(len(TEXTS))]
    with serving(lambda path, *_: evil(TEXTS[int(path.split("/")[2])], path)) as address:
        entries = [f'name: v{number}, model_id: m, url: "{address}/{kind}/v1"' for number, kind in enumerate(kinds)]
        keys = {f"v{number}": f"sk-evil-{number}" for number in range(len(kinds))}
        prepare(folder, entries, keys)
        code, out, err = command([*RUN, "--retries", "0", "-o", "run"], folder)
    assert code in (0, 3), err
    found = {"run": out + err}
    code, found["terminal"], err = command(["report", "run", "--format", "terminal"], folder)
    assert code in (0, 3), err
    code, _, err = command(["report", "run", "--format", ",".join(FILES), "-o", "reports"], folder)
    assert code in (0, 3), err
    return found | {path.suffix[1:]: path.read_text(encoding="utf-8") for path in (folder / "reports").iterdir()}


def test_terminal_and_markdown_show_nothing_hidden(reports: dict[str, str]) -> None:
    """No control or format character, no command for a CI log, no live markup."""
    for name in ("run", "terminal", "md"):
        text = reports[name]
        hidden = {unicodedata.category(sign) for sign in text if sign not in "\n\t"} & {"Cc", "Cf", "Cs"}
        assert hidden == set(), name
        assert not re.search(r"^\s*::", text, re.MULTILINE), name
    assert "<script" not in reports["md"]
    assert not re.search(r"(?<!\\)\]\(", reports["md"])


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name.startswith("on") or ("evil.example" in (value or "") and name in ("src", "href", "action")):
                self.wrong.append(f"<{tag} {name}={value}>")
        if tag in ("img", "iframe", "object"):
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        if self.cdata_elem and "alert(1)" in data and "<" in data:
            self.wrong.append(data[:80])


def test_html_runs_and_loads_nothing(reports: dict[str, str]) -> None:
    """No element, handler or address of the vendor's."""
    tags = _Tags()
    tags.feed(reports["html"])
    assert tags.wrong == []
    assert "<script>alert" not in reports["html"]
    assert "Content-Security-Policy" in reports["html"]


def test_formats_for_machines_stay_readable(reports: dict[str, str]) -> None:
    """CSV without formulas, JSON, XML and metrics that their readers take."""
    for row in csv.reader(io.StringIO(reports["csv"])):
        assert not [cell for cell in row if re.match(r"\s*[=+@]|\s*-(?![\d.])", cell)]
    json.loads(reports["json"])
    ElementTree.fromstring(reports["xml"])
    assert reports["prom"].endswith("# EOF\n")
    pattern = r'# .*|[a-z_]+(\{([a-z_]+="([^"\\\n]|\\.)*",?)*\})? \S+'
    assert not [line for line in reports["prom"].splitlines() if not re.fullmatch(pattern, line)]


KEY, TOKEN = "CANARY/KEY+0123456789=abcdwxyz", "CANARY-TOKEN-zyxwvutsrqponmlk"


def forms(secret: str) -> set[str]:
    """A secret plain, without its beginning, URL-encoded and in base64, in any case."""
    words = {secret, secret[-8:], urllib.parse.quote(secret), urllib.parse.quote(secret, safe="")}
    coded = {base64.b64encode(word.encode()).decode() for word in (secret, secret.upper(), secret.lower())}
    return {form for word in words for form in (word, word.upper(), word.lower())} | coded


def echo(path: str, headers: Mapping[str, str], _: bytes) -> bytes:
    """The key and the token of a request, in the text, the calls, the names, an error or the headers."""
    said = f"{headers['authorization']} {headers['x-token']}"
    coded = base64.b64encode(KEY.encode()).decode()
    if "/text/" in path:
        return evil(said, path)
    if "/pieces/" in path:
        return streamed(*({"choices": [{"index": 0, "delta": {"content": sign}}]} for sign in said))
    if "/refusal/" in path:
        return answered(
            f'{{"error": {{"message": "bad key {said} …{KEY[-8:]} {coded}"}}}}'.encode(), "401 Unauthorized"
        )
    return answered(
        b"<html>" + said.upper().encode(), "500 Oops", "text/html", **{"X-Request-Id": KEY, "Set-Cookie": TOKEN}
    )


def test_no_secret_in_anything_a_run_leaves(tmp_path: Path) -> None:
    """Screens, records, manifest, reports and explanations hold a mask, and the key in no form."""
    kinds = ("text", "pieces", "refusal", "headers")
    with serving(echo) as address:
        entries = [
            f'name: canary, label: {kind}, model_id: m, url: "{address}/{kind}/v1", api_key_env: key{number}, '
            "extra_headers: {x-token: '${TOKEN}'}"
            for number, kind in enumerate(kinds)
        ]
        keys = {f"key{number}": f"'{KEY}'" for number in range(len(kinds))}
        prepare(tmp_path, entries, {**keys, "TOKEN": TOKEN})
        said = [*command([*RUN[:-1], "--verbose", "--retries", "0", "-o", "run"], tmp_path)[1:]]
    (tmp_path / ".env").unlink()
    commands = [["score", "run"], ["report", "run"], ["report", "run", "--format", ",".join(FILES), "-o", "reports"]]
    commands += [["explain", "run", "--vendor", kind] for kind in kinds]
    for words in commands:
        said += command(words, tmp_path)[1:]
    files = [path.read_bytes().decode(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
    sought = re.compile("|".join(map(re.escape, forms(KEY) | forms(TOKEN))))
    assert [found[0] for text in (*said, *files) if (found := sought.search(text))] == []
    assert sum(text.count("[secret]") for text in files) >= len(kinds)
