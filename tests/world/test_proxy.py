"""A forward proxy that lets nobody through is named, and no vendor is charged."""

from __future__ import annotations

import pytest
from world_runs import Place
from world_servers import tinyproxy

pytestmark = pytest.mark.world

WRONG = "wr0ng-passw0rd-0123456789"


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY"])
def test_wrong_password(place: Place, variable: str) -> None:
    """The failure is the proxy's, few requests are sent, and the variable is named without the password."""
    place.samples(100)
    place.configure({"vendor": "https://vendor.invalid/v1"}, {"api_key_env": "WORLD_KEY"})
    with tinyproxy(place.folder, "user", "right-password") as server:
        address = server.address.replace("http://", f"http://user:{WRONG}@")
        _, printed = place.run("--request-concurrency", "5", WORLD_KEY="key-0123456789", **{variable: address})
    assert set(place.failures()) == {"proxy"}
    # Those that were in flight when the first refusal came; the others fail before they are sent.
    asked = sum(attempt["failure"]["phase"] != "plan" for attempt in place.attempts())
    assert 1 <= asked <= 10
    assert variable in printed
    assert place.vendors()["vendor"]["success_rate"] is None
    assert WRONG not in printed
    files = [path for path in (place.folder / "run").rglob("*") if path.is_file()]
    assert [path.name for path in files if WRONG.encode() in path.read_bytes()] == []
