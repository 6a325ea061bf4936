"""AIPerf: the same bodies as raw payloads, the vendor's own token counts (its cheaper way), its default files."""

from __future__ import annotations

import json
from collections.abc import Sequence

from peers.local_tokenizer import LOOPBACK_ONLY, write_tokenizer
from peers.peer import Job, Peer, demand

VERSION = "0.13.0"


def command(job: Job) -> Sequence[str]:
    tokenizer = write_tokenizer(job.folder)
    return [
        job.program("aiperf"), "profile", "--model", "mock-model", "--url", job.url,
        "--endpoint-type", "chat", "--streaming", "--input-file", "bodies.jsonl",
        "--custom-dataset-type", "raw-payload", "--dataset-sampling-strategy", "sequential",
        "--request-count", str(job.requests), "--concurrency", str(job.concurrency),
        "--tokenizer", str(tokenizer), "--use-server-token-count", "--artifact-dir", "artifacts",
        "--ui", "none", "--no-gpu-telemetry", "--no-server-metrics",
    ]  # fmt: skip


def check(job: Job) -> None:
    """Its own export counts every request as a success, 72 tokens each.

    Raises:
        NotDone: it does not.
    """
    lines = (job.folder / "artifacts" / "profile_export.jsonl").read_text().splitlines()
    tokens = [json.loads(line)["metrics"].get("output_sequence_length", {}).get("value") for line in lines]
    demand((len(tokens), set(tokens)), (job.requests, {72}), "requests and tokens in its export")


PEER = Peer(
    name="AIPerf",
    version=VERSION,
    does="several processes; latencies and tokens per request to a file; no tool calls judged",
    pins="aiperf",
    requirements=(f"aiperf=={VERSION}",),
    requests=2_000,
    command=command,
    check=check,
    environ=LOOPBACK_ONLY,
)
