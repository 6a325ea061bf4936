"""The package published as agent-vendor-verifier 0.1.0: same samples and options as the product, in its own world."""

from __future__ import annotations

import json
from collections.abc import Sequence

from peers.peer import Job, Peer, demand

VERSION = "0.1.0"


def command(job: Job) -> Sequence[str]:
    vendor = {
        "name": "mock", "model_id": "mock-model", "api_key": "none", "url": f"{job.url}/v1", "validator": "openai",
        "is_baseline": True,
    }  # fmt: skip
    (job.folder / "published.yaml").write_text(json.dumps({"mock-model": {"vendors": [vendor]}}))
    (job.folder / "data").mkdir()
    return [
        job.program("agent-vendor-verifier"),
        "--test-file-path", "samples.jsonl", "--config-file-path", "published.yaml",
        "--request-concurrency", str(job.concurrency), "--retries", "0",
    ]  # fmt: skip


def check(job: Job) -> None:
    """Its summary counts every sample as a success with a valid call.

    Raises:
        NotDone: it does not.
    """
    summary = json.loads((job.folder / "data" / "mock-model_mock_summary.json").read_text())
    found = (summary["success_count"], summary["successful_tool_call_count"])
    demand(found, (job.requests, job.requests), "successes and valid calls in its summary")


PEER = Peer(
    name="agent-vendor-verifier",
    version=VERSION,
    does="the published predecessor: asks for every sample twice, validates calls, scores",
    pins="published",
    requirements=(f"agent-vendor-verifier=={VERSION}",),
    requests=500,
    command=command,
    check=check,
    posts=2,
)
