"""The openai SDK over httpx2, typed chunks."""

from peers.bare_client import LIBRARIES, REQUIREMENTS, all_whole, asking
from peers.peer import Peer

PEER = Peer(
    name="openai SDK",
    version=LIBRARIES["openai"],
    does="client only: typed chunks; nothing validated, stored or scored",
    pins="stacks",
    requirements=REQUIREMENTS,
    requests=2_000,
    command=asking("ask_openai_sdk.py"),
    check=all_whole,
)
