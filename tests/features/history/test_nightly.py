"""A webhook gets its message within bounded time over a safe way, and no message shows its address."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import filelock
import httpx2
import pandas as pd
import pytest
from fault_server import say, serving
from made_values import LEAST

from vendor_verifier.cli.main import run_app
from vendor_verifier.errors import UsageError
from vendor_verifier.features.history import check
from vendor_verifier.features.history.check import CheckResult, check_webhook, clear_old_runs, post

SECRET = "T0000-CANARY"
RESULT = CheckResult(status="passed", exit_code=0, headline="check passed <@everyone>")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n", "answered 500"),
        (b"HTTP/1.1 302 Go\r\nlocation: http://127.0.0.1:1/x\r\ncontent-length: 0\r\n\r\n", "answered 302"),
        (b"what is this", "cannot be reached"),
        (b"HTTP/1.1 500 Endless\r\ncontent-length: 1000000000\r\n\r\nxxx", "answered 500"),
    ],
)
def test_whatever_is_answered_is_a_sentence_without_the_address(answer: bytes, words: str) -> None:
    """Errors, redirects (never followed) and nonsense are reported, without the token."""
    with serving(lambda *_: say(answer, end="close")) as server:
        trouble = post(f"{server.url(SECRET)}?token={SECRET}", RESULT)
    assert trouble is not None
    assert words in trouble
    assert SECRET not in trouble


@pytest.mark.parametrize(
    "address",
    [
        f"http://example.com/{SECRET}", f"https://me:{SECRET}@example.com/", f"ftp://{SECRET}", SECRET, "https://",
        f"https://e:x/{SECRET}",
    ],
)  # fmt: skip
def test_unsafe_addresses_are_refused_without_being_repeated(address: str) -> None:
    """Plain http beyond loopback, user names, other schemes and nonsense."""
    with pytest.raises(UsageError) as refused:
        check_webhook(address, "HOOK")
    assert SECRET not in str(refused.value)
    assert "HOOK" in str(refused.value)


def test_slack_gets_text_in_which_a_stranger_mentions_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[bytes] = []

    def send(_method: str, _url: object, *, content: bytes, **_: object) -> Any:
        sent.append(content)
        return nullcontext(httpx2.Response(200))

    monkeypatch.setattr(check.httpx2, "stream", send)
    assert post(f"https://hooks.slack.com/services/{SECRET}", RESULT) is None
    assert json.loads(sent[0]) == {"text": "check passed &lt;@everyone&gt;", "mrkdwn": False}
    assert post("https://hooks.slack.com.evil.example/", RESULT) is None
    assert json.loads(sent[1])["status"] == "passed"


def old_run(runs: Path, name: str, *, days: int, **changes: Any) -> Path:
    folder = runs / name
    folder.mkdir(parents=True)
    began = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    manifest = {**LEAST, "run": name, "tool": {"name": "agent-vendor-verifier"}, "status": "finished"}
    (folder / "manifest.json").write_text(json.dumps({**manifest, "created_at": began, **changes}))
    return folder


def test_old_runs_of_the_history_are_deleted_and_nothing_else(tmp_path: Path) -> None:
    """Young, imported, running, linked, replaced, unknown and current folders stay, and those of another place."""
    runs = tmp_path / "runs"
    gone = old_run(runs, "old", days=91)
    stays = [
        old_run(runs, "young", days=89),
        old_run(runs, "imported", days=400, status="imported"),
        old_run(runs, "running", days=400, status="running"),
        old_run(runs, "replaced", days=400, run="another"),
        old_run(runs, "current", days=400),
        old_run(tmp_path, "linked", days=400),
    ]
    (runs / "linked").symlink_to(tmp_path / "linked")
    unknown = old_run(runs, "unknown", days=400)
    rows = [
        {"run": folder.name, "at": pd.Timestamp(began), "folder": str(folder)}
        for folder in (gone, *stays, runs / "deleted before")
        for began in [datetime.now(UTC) - timedelta(days=89 if folder.name == "young" else 91)]
    ]
    limit = datetime.now(UTC) - timedelta(90)
    assert clear_old_runs(pd.DataFrame(rows), runs, limit, keep=runs / "current") == []
    assert not gone.exists()
    assert [folder for folder in (*stays, unknown) if not folder.exists()] == []
    assert os.path.lexists(runs / "linked")


def test_a_second_check_is_refused_while_one_is_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    with filelock.FileLock(tmp_path / "runs" / ".check.lock"):
        assert run_app(["check"]) == 2
    assert "another check is running" in capsys.readouterr().err
