"""The peers the product is measured against, one a file; a peer that cannot be installed is reported, never dropped."""

from peers import (
    guide_llm,
    nvidia_aiperf,
    openai_sdk,
    plain_aiohttp,
    plain_httpx2,
    published_package,
    vllm_client,
)
from peers.peer import Peer

PEERS: tuple[Peer, ...] = (
    plain_aiohttp.PEER,
    vllm_client.PEER,
    plain_httpx2.PEER,
    nvidia_aiperf.PEER,
    openai_sdk.PEER,
    guide_llm.PEER,
    published_package.PEER,
)
