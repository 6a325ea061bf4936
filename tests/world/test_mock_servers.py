"""Mock servers that people test clients with: read without a failure, and never found to differ from themselves."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from world_runs import Place
from world_servers import Server, aimock, llmock, mockllm

pytestmark = pytest.mark.world

SERVERS: dict[str, Callable[[Path], AbstractContextManager[Server]]] = {
    "llmock": llmock,
    "mockllm": mockllm,
    "aimock": aimock,
}


@pytest.mark.parametrize("name", SERVERS)
def test_same_server_twice(place: Place, name: str) -> None:
    """Under two labels, one of them the baseline."""
    place.samples(40)
    with SERVERS[name](place.folder) as server:
        place.configure({"one": f"{server.address}/v1", "two": f"{server.address}/v1"})
        code, printed = place.run("--request-concurrency", "4")
    assert (place.failures(), len(place.records()), code) == ({}, 80, 0), printed
    assert all(attempt["response"]["text"] or attempt["response"]["tool_calls"] for attempt in place.attempts())
    assert place.vendors()["two"]["verdict"]["status"] in ("matches", "not_tested")
