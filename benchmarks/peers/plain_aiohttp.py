"""aiohttp, parsed as chunks arrive."""

from peers.bare_client import all_whole, asking
from peers.peer import Peer

PEER = Peer(
    name="aiohttp",
    version="3.14.5",
    does="client only: JSON parsed as it arrives; nothing validated, stored or scored",
    pins="stacks",
    requirements=("aiohttp==3.14.5", "httpx2==2.16.2", "openai==3.52.0", "uvloop==0.23.0"),
    requests=20_000,
    command=asking("ask_aiohttp.py"),
    check=all_whole,
)
