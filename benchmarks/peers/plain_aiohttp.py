"""aiohttp, parsed as chunks arrive."""

from peers.bare_client import LIBRARIES, REQUIREMENTS, all_whole, asking
from peers.peer import Peer

PEER = Peer(
    name="aiohttp",
    version=LIBRARIES["aiohttp"],
    does="client only: events parsed as they arrive; nothing validated, stored or scored",
    pins="stacks",
    requirements=REQUIREMENTS,
    requests=20_000,
    command=asking("ask_aiohttp.py"),
    check=all_whole,
)
