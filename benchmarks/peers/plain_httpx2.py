"""httpx2 as it comes, parsed as chunks arrive."""

from peers import plain_aiohttp
from peers.bare_client import all_whole, asking
from peers.peer import Peer

PEER = Peer(
    name="httpx2 as it comes",
    version="2.16.2",
    does="client only: JSON parsed as it arrives; nothing validated, stored or scored",
    pins="stacks",
    requirements=plain_aiohttp.PEER.requirements,
    requests=5_000,
    command=asking("ask_httpx2.py"),
    check=all_whole,
)
