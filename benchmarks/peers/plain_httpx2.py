"""httpx2 as it comes, parsed as chunks arrive."""

from peers.bare_client import LIBRARIES, REQUIREMENTS, all_whole, asking
from peers.peer import Peer

PEER = Peer(
    name="httpx2 as it comes",
    version=LIBRARIES["httpx2"],
    does="client only: events parsed as they arrive; nothing validated, stored or scored",
    pins="stacks",
    requirements=REQUIREMENTS,
    requests=5_000,
    command=asking("ask_httpx2.py"),
    check=all_whole,
)
