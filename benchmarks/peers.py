"""The programs the product is compared with: what to install, the command, and the proof that it did the work."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from measuring import Failed
from serving import MODEL

HOME = Path(__file__).parents[1] / ".bench"
ASK = Path(__file__).with_name("ask.py")
LIBRARIES = ("aiohttp==3.14.5", "httpx2==2.16.2", "openai==3.52.0", "msgspec==0.22.0")
# Whoever still reaches for the outside meets a closed port of this machine.
LOOPBACK_ONLY = {"HTTPS_PROXY": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}


@dataclass(frozen=True, slots=True)
class Job:
    """A folder with the job, the server's address without /v1, and how much is asked."""

    folder: Path
    url: str
    requests: int
    in_flight: int


@dataclass(frozen=True, slots=True)
class Peer:
    """One program; ``posts`` is how often it asks for one sample. ``check`` raises ``Failed`` where it did not."""

    title: str
    does: str
    environment: str
    packages: Sequence[str]
    requests: int
    command: Callable[[Job], Sequence[str]]
    check: Callable[[Job], None]
    posts: int = 1
    environ: Mapping[str, str] = field(default_factory=dict)


def prepare(peer: Peer) -> None:
    """Install the peer's environment where it is not there yet.

    Raises:
        Failed: pip could not.
    """
    home = HOME / peer.environment
    if (home / ".installed").exists():
        return
    for command in ([sys.executable, "-m", "venv", str(home)], [_program(peer.environment, "pip"), "install", "-q"]):
        words = [*command, *peer.packages] if "install" in command else command
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"cannot be installed: {done.stderr.strip().splitlines()[-1]}")
    (home / ".installed").touch()


def _program(environment: str, name: str) -> str:
    return str(HOME / environment / "bin" / name)


def _demand(found: object, wanted: object) -> None:
    if found != wanted:
        raise Failed(f"{wanted} was wanted, {found} was found")


def library_command(client: str, url: str) -> list[str]:
    """Ask with a client library; the number in flight follows."""
    return [_program("libraries", "python"), str(ASK), client, url, "bodies.jsonl"]


def _library(client: str, title: str, requests: int, does: str) -> Peer:
    def check(job: Job) -> None:
        printed = json.loads((job.folder / "printed.txt").read_text().splitlines()[-1])
        _demand(printed, {"answers": job.requests, "whole": job.requests})

    def command(job: Job) -> Sequence[str]:
        return [*library_command(client, job.url), str(job.in_flight)]

    return Peer(title, f"client only: {does}; nothing judged, stored or scored", "libraries", LIBRARIES, requests,
                command, check)  # fmt: skip


def _write_tokenizer(folder: Path) -> str:
    """A tokenizer of a few words, for peers that insist on one."""
    home = folder / "tokenizer"
    home.mkdir()
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0, "the": 1, "weather": 2}, "unk_token": "[UNK]"}
    absent = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    whole = {"version": "1.0", **absent, "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model": model}
    (home / "tokenizer.json").write_text(json.dumps(whole))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]", "eos_token": "[UNK]"}
    (home / "tokenizer_config.json").write_text(json.dumps(config))
    return str(home)


def _ask_aiperf(job: Job) -> Sequence[str]:
    return [
        _program("aiperf", "aiperf"), "profile", "--model", MODEL, "--url", job.url,
        "--endpoint-type", "chat", "--streaming", "--input-file", "bodies.jsonl",
        "--custom-dataset-type", "raw-payload", "--dataset-sampling-strategy", "sequential",
        "--request-count", str(job.requests), "--concurrency", str(job.in_flight),
        "--tokenizer", _write_tokenizer(job.folder), "--use-server-token-count", "--artifact-dir", "artifacts",
        "--ui", "none", "--no-gpu-telemetry", "--no-server-metrics",
    ]  # fmt: skip


def _check_aiperf(job: Job) -> None:
    lines = (job.folder / "artifacts" / "profile_export.jsonl").read_text().splitlines()
    tokens = {json.loads(line)["metrics"].get("output_sequence_length", {}).get("value") for line in lines}
    _demand((len(lines), tokens), (job.requests, {72}))


def _ask_guidellm(job: Job) -> Sequence[str]:
    bodies = map(json.loads, (job.folder / "bodies.jsonl").read_text().splitlines())
    prompts = "".join(json.dumps({"prompt": body["messages"][0]["content"]}) + "\n" for body in bodies)
    (job.folder / "prompts.jsonl").write_text(prompts)
    return [
        _program("guidellm", "guidellm"), "run", "--backend", f"kind=openai_http,target={job.url},model={MODEL}",
        "--profile", f"kind=concurrent,streams={job.in_flight}",
        "--constraint", f"kind=max_requests,count={job.requests}", "--data", "kind=json_file,path=prompts.jsonl",
        "--tokenizer", f"kind=huggingface_auto,model={_write_tokenizer(job.folder)}",
        "--output", "kind=json,path=out.json", "--disable-console",
    ]  # fmt: skip


def _check_guidellm(job: Job) -> None:
    (only,) = json.loads((job.folder / "out.json").read_text())["benchmarks"]
    totals = only["metrics"]["request_totals"]
    # It leaves a few out at the edges.
    if totals["errored"] or totals["incomplete"] or totals["successful"] < 0.95 * job.requests:
        raise Failed(f"{job.requests} requests were to succeed, its report says {totals}")


def _ask_published(job: Job) -> Sequence[str]:
    vendor = {"name": "mock", "model_id": MODEL, "api_key": "none", "url": f"{job.url}/v1", "validator": "openai"}
    (job.folder / "published.yaml").write_text(json.dumps({MODEL: {"vendors": [{**vendor, "is_baseline": True}]}}))
    (job.folder / "data").mkdir()
    return [
        _program("published", "agent-vendor-verifier"), "--test-file-path", "samples.jsonl", "--config-file-path",
        "published.yaml", "--request-concurrency", str(job.in_flight), "--retries", "0",
    ]  # fmt: skip


def _check_published(job: Job) -> None:
    summary = json.loads((job.folder / "data" / f"{MODEL}_mock_summary.json").read_text())
    _demand((summary["success_count"], summary["successful_tool_call_count"]), (job.requests, job.requests))


_LOADS = "several processes; latencies and tokens of each request to a file; no tool calls judged"
PEERS = (
    _library("aiohttp", "aiohttp 3.14.5", 20_000, "events parsed as they arrive"),
    _library("httpx2", "httpx2 2.16.2", 5_000, "events parsed as they arrive"),
    _library("openai", "openai SDK 3.52.0", 2_000, "typed chunks"),
    Peer("AIPerf 0.13.0", _LOADS, "aiperf", ("aiperf==0.13.0",), 2_000, _ask_aiperf, _check_aiperf,
         environ=LOOPBACK_ONLY),
    Peer("guidellm 0.8.1", _LOADS, "guidellm", ("guidellm==0.8.1",), 2_000, _ask_guidellm, _check_guidellm,
         environ=LOOPBACK_ONLY),
    Peer("agent-vendor-verifier 0.1.0", "the published package: asks for every sample twice, validates, scores",
         "published", ("agent-vendor-verifier==0.1.0",), 500, _ask_published, _check_published, posts=2),
)  # fmt: skip
