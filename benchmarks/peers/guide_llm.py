"""guidellm: the same questions, concurrent profile, JSON output; it sends no tools, but reads the calls that come."""

from __future__ import annotations

import json
from collections.abc import Sequence

from peers.local_tokenizer import LOOPBACK_ONLY, write_tokenizer
from peers.peer import Job, NotDone, Peer

VERSION = "0.8.1"


def command(job: Job) -> Sequence[str]:
    tokenizer = write_tokenizer(job.folder)
    with (job.folder / "bodies.jsonl").open() as lines, (job.folder / "prompts.jsonl").open("w") as prompts:
        for line in lines:
            prompts.write(json.dumps({"prompt": json.loads(line)["messages"][0]["content"]}) + "\n")
    return [
        job.program("guidellm"), "run",
        "--backend", f"kind=openai_http,target={job.url},model=mock-model",
        "--profile", f"kind=concurrent,streams={job.concurrency}",
        "--constraint", f"kind=max_requests,count={job.requests}",
        "--data", "kind=json_file,path=prompts.jsonl",
        "--tokenizer", f"kind=huggingface_auto,model={tokenizer}",
        "--output", "kind=json,path=out.json", "--disable-console",
    ]  # fmt: skip


def check(job: Job) -> None:
    """Nothing failed and, but for the few it leaves out at the edges, every request is in its report.

    Raises:
        NotDone: requests failed, or more than one in twenty is missing.
    """
    (only,) = json.loads((job.folder / "out.json").read_text())["benchmarks"]
    totals = only["metrics"]["request_totals"]
    if totals["errored"] or totals["incomplete"] or totals["successful"] < 0.95 * job.requests:
        raise NotDone(f"{job.requests} requests were to succeed, its report says {totals}")


PEER = Peer(
    name="guidellm",
    version=VERSION,
    does="several processes; latencies, text and calls per request to a file; no tool calls judged",
    pins="guidellm",
    requirements=(f"guidellm=={VERSION}",),
    requests=2_000,
    command=command,
    check=check,
    environ={**LOOPBACK_ONLY, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
)
