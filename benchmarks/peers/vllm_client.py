"""vLLM's bench client: its request function, taken out of vLLM's wheel because all of vLLM would need torch."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from peers.bare_client import PROGRAMS, all_whole
from peers.peer import Job, Peer

VERSION = "0.33.0"
_MEMBER = "vllm/benchmarks/lib/endpoint_request_func.py"


def command(job: Job) -> Sequence[str]:
    return [job.program("python"), str(PROGRAMS / "ask_vllm.py"), job.url, "bodies.jsonl", str(job.concurrency)]


def take_request_function(home: Path) -> None:
    """Download the wheel (about 340 MB), keep one file of it.

    Raises:
        CalledProcessError: pip found no wheel for this machine.
    """
    with tempfile.TemporaryDirectory() as folder:
        wanted = ["--no-deps", "--only-binary", ":all:", "--dest", folder, f"vllm=={VERSION}"]
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *wanted], check=True, capture_output=True)
        wheel = next(Path(folder).glob("vllm-*.whl"))
        site = next(home.glob("lib/python*/site-packages"))
        (site / Path(_MEMBER).name).write_bytes(zipfile.ZipFile(wheel).read(_MEMBER))


PEER = Peer(
    name="vLLM bench client",
    version=VERSION,
    does="its request function only: text and latencies; tool arguments dropped, nothing stored",
    pins="vllm",
    requirements=("aiohttp==3.14.5", "regex==2026.11.15", "tqdm==4.70.1"),
    requests=20_000,
    command=command,
    check=all_whole,
    finish=take_request_function,
)
