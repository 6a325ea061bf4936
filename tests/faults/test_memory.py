"""Memory stays within concurrency times caps, whatever a vendor sends; measured as the resident size of a process."""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, repeat
from pathlib import Path

import pytest
from fault_server import DONE, Script, chunk, head, say, serving, stream, text

MB = 2**20
# An SDK buffers and copies what it is given: up to our cap of 32 MB, several times.
ALLOWED_MB = {"direct": 50, "sdk": 160}
SUPPORT = Path(__file__).parents[1] / "support"
CLIENT = """
import asyncio, json, resource, sys
sys.path.insert(0, sys.argv[1])
from asking import CLIENTS, ask
from vendor_verifier.records.plan import Limits

def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

async def main():
    base, names, transport = sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]
    found = []
    async with CLIENTS[transport](Limits(total_s=120, first_token_s=60, idle_s=60)) as client:
        for _ in range(3):
            await ask(base + "/good", client)
        for name in names:
            before = peak_mb()
            sent = await ask(f"{base}/{name}", client)
            found.append((sent.kind, round(peak_mb() - before, 1)))
    print(json.dumps(found))

asyncio.run(main())
"""


@cache
def bomb() -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return b"".join(packer.compress(bytes(MB)) for _ in range(256)) + packer.flush()


BLOCK = chunk(b"x" * 256 * 1024)
EVENTS = chunk(text("y" * 1000, None) * 100)
HEADERS = b"".join(b"x-%d: %s\r\n" % (n, b"y" * 1000) for n in range(100))
ATTACKS: dict[str, tuple[Callable[[], Script], str]] = {
    "endless": (lambda: Script(chain([(0.0, head())], repeat((0.0, EVENTS)))), "limit_exceeded"),
    "line": (lambda: Script(chain([(0.0, head() + chunk(b"data: "))], repeat((0.0, BLOCK), 256))), "limit_exceeded"),
    "bomb": (lambda: say(head(content_encoding="gzip") + chunk(bomb()), end="close"), "limit_exceeded"),
    "bomb-500": (lambda: say(head(500, content_encoding="gzip") + chunk(bomb()), end="close"), "http_5xx"),
    "headers": (lambda: Script(chain([(0.0, b"HTTP/1.1 200 OK\r\n")], repeat((0.0, HEADERS), 2000))), "limit_exceeded"),
    "error-body": (lambda: Script(chain([(0.0, head(500, "text/plain"))], repeat((0.0, BLOCK), 1024))), "http_5xx"),
    "body": (lambda: Script(chain([(0.0, head(200, "application/json"))], repeat((0.0, BLOCK)))), "limit_exceeded"),
}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The attacks behind one address, in a thread of their own."""
    good = say(stream(text("fine"), DONE))
    with serving(lambda _, seen: ATTACKS[seen.vendor][0]() if seen.vendor in ATTACKS else good) as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest.mark.parametrize(
    ("transport", "attacks"),
    [("direct", list(ATTACKS)), pytest.param("sdk", ["bomb", "body", "error-body"], marks=pytest.mark.slow)],
)
def test_resident_size_stays_flat(address: str, transport: str, attacks: list[str]) -> None:
    """An endless stream, a line of 64 MB, a gzip bomb of 256 MB in an answer and in a refusal, headers without end, an
    error body of 256 MB and an endless body each end as what they are and cost less than 50 MB (through an SDK
    160)."""
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, str(SUPPORT), address, json.dumps(attacks), transport],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = dict(zip(attacks, json.loads(done.stdout), strict=True))
    assert {name: kind for name, (kind, _) in found.items()} == {name: ATTACKS[name][1] for name in attacks}
    assert {name: mb for name, (_, mb) in found.items() if mb > ALLOWED_MB[transport]} == {}
    # Attacks one after the other do not add up either.
    assert sum(mb for _, mb in found.values()) < 2 * ALLOWED_MB[transport]
