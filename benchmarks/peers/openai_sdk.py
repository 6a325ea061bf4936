"""The openai SDK over httpx2, typed chunks."""

from peers import plain_aiohttp
from peers.bare_client import all_whole, asking
from peers.peer import Peer

PEER = Peer(
    name="openai SDK",
    version="3.52.0",
    does="client only: typed chunks; nothing validated, stored or scored",
    pins="stacks",
    requirements=plain_aiohttp.PEER.requirements,
    requests=2_000,
    command=asking("ask_openai_sdk.py"),
    check=all_whole,
)
