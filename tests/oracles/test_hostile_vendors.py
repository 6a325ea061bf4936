"""Hostile text of a vendor is harmless in every report."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from xml.etree import ElementTree

import pytest
from adapters import RUN, command
from fault_server import DONE, FaultServer, Script, Seen, event, say, serving, stream, whole
from made_results import HOSTILE
from page_reading import read_page
from workbench import Bench

FILES = ("json", "csv", "md", "html", "junit", "openmetrics")


def evil(_: FaultServer, seen: Seen) -> Script:
    """The text that the path names, at every place of an answer or of an error."""
    _, kind, number, *_ = seen.path.split("/")
    text = HOSTILE[int(number)]
    if kind == "error":
        return say(whole({"error": {"message": text, "code": text, "type": text}}, 400))
    function = {"name": text, "arguments": json.dumps({text: text})}
    call = {"index": 0, "id": text, "type": "function", "function": function}
    first = {"index": 0, "delta": {"content": text, "reasoning_content": text, "tool_calls": [call]}}
    last = {"index": 0, "delta": {}, "finish_reason": text}
    named = {"id": text, "model": text, "provider": text, "system_fingerprint": text}
    return say(stream(event({**named, "choices": [first]}), event({**named, "choices": [last]}), DONE))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Format → what it prints of a run of vendors that put hostile texts everywhere."""
    folder = tmp_path_factory.mktemp("hostile")
    kinds = [f"{kind}/{number}" for kind in ("answer", "error") for number in range(len(HOSTILE))]
    with serving(evil) as server:
        Bench(folder).configure(*(f"v{n}: {server.url(kind)}/v1" for n, kind in enumerate(kinds)))
        Bench(folder).samples(1)
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


def test_html_runs_and_loads_nothing(reports: dict[str, str]) -> None:
    """No element, handler or address of the vendor's."""
    page = read_page(reports["html"])
    assert page.faults == []
    assert not {tag for tag, _ in page.elements} & {"img", "iframe", "object"}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    for name in ("src", "href", "action"):
        assert not any("evil.example" in address for address in page.attribute(name))
    assert len(page.texts["script"]) == 1
    assert "Content-Security-Policy" in reports["html"]


def test_formats_for_machines_stay_readable(reports: dict[str, str]) -> None:
    """CSV without formulas, JSON, XML and metrics that their readers take."""
    for row in csv.reader(io.StringIO(reports["csv"])):
        assert not [cell for cell in row if re.match(r"\s*[=+@]|\s*-(?![\d.])", cell)]
    json.loads(reports["json"])
    ElementTree.fromstring(reports["xml"])
    assert reports["prom"].endswith("# EOF\n")
    pattern = r'# .*|[a-z_][a-z0-9_]*(\{([a-z_]+="([^"\\\n]|\\.)*",?)*\})? \S+'
    assert not [line for line in reports["prom"].splitlines() if not re.fullmatch(pattern, line)]
