"""A forward proxy that lets nobody through: it is named, and no vendor is charged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from world_runs import Place
from world_servers import tinyproxy

pytestmark = pytest.mark.world

WRONG = "wr0ng-passw0rd-0123456789"


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY"])
def test_wrong_password(place: Place, record_property: Callable[[str, object], None], variable: str) -> None:
    """CONNECT with a wrong password: the failure is the proxy's, few are sent, and the variable is named."""
    place.samples(100)
    place.configure({"vendor": "https://vendor.invalid/v1"}, {"api_key_env": "WORLD_KEY"})
    with tinyproxy(place.folder, "user", "right-password") as server:
        record_property("server", server.name)
        address = server.address.replace("http://", f"http://user:{WRONG}@")
        _, told = place.run("--request-concurrency", "5", WORLD_KEY="key-0123456789", **{variable: address})
    records = place.records()
    asked = sum(was_sent(record) for record in records)
    record_property("found", f"{dict(place.failures())}, {asked} of {len(records)} asked of the proxy")
    assert set(place.failures()) == {"proxy"}
    # Those that were in flight when the first refusal came.
    assert 1 <= asked <= 10
    assert variable in told
    assert place.vendors()["vendor"]["success_rate"] is None
    assert WRONG not in told
    files = [path for path in (place.folder / "run").rglob("*") if path.is_file()]
    assert not [path.name for path in files if WRONG.encode() in path.read_bytes()]


def was_sent(record: dict[str, Any]) -> bool:
    """Whether the proxy was asked for the record; the others know of its refusal from before."""
    last = record["turns"][-1]["attempts"][-1]
    return bool(last["failure"]["phase"] != "plan")
