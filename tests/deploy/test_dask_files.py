"""deploy/dask/: files that fit each other and this version, and whose very commands, run as processes, make a run."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from typing import Any

import pytest
import yaml
from costs import PATIENCE_S
from workbench import ONCE, ROOT, Bench, free_port

from vendor_verifier.pipeline.execute import REGION

DASK = ROOT / "deploy" / "dask"
MAIN = "vendor_verifier.cli.main"
CERTIFICATES = re.compile(r"```sh tls\n(.*?)```", re.DOTALL)


COMPOSE: dict[str, Any] = yaml.safe_load((DASK / "compose.yaml").read_text(encoding="utf-8"))["services"]
# Objects by kind and name; containers by name: scheduler, worker, run.
OBJECTS = {
    (each["kind"], each["metadata"]["name"]): each
    for each in yaml.safe_load_all((DASK / "kubernetes.yaml").read_text(encoding="utf-8"))
}
PODS = [each["spec"]["template"] for (kind, _), each in OBJECTS.items() if kind in ("Deployment", "Job")]
CONTAINERS: dict[str, Any] = {pod["spec"]["containers"][0]["name"]: pod["spec"]["containers"][0] for pod in PODS}


def commands(system: str) -> dict[str, list[str]]:
    """What scheduler, worker and run start, with which words, on ``compose`` or ``kubernetes``."""
    if system == "compose":
        return {name: [*each["entrypoint"], *each.get("command", [])] for name, each in COMPOSE.items()}
    return {name: each["command"] for name, each in CONTAINERS.items()}


@pytest.mark.parametrize("system", ["compose", "kubernetes"])
def test_the_parts_find_each_other(system: str) -> None:
    """Scheduler, worker and run; the address that two of them dial is the one that the scheduler listens at."""
    words = commands(system)
    assert set(words) == {"scheduler", "worker", "run"}
    assert "tls://0.0.0.0:8786" in words["scheduler"]
    name = {"compose": "scheduler", "kubernetes": "verifier-scheduler"}[system]
    for part in ("worker", "run"):
        assert f"tls://{name}:8786" in words[part], part
    if system == "kubernetes":
        service = OBJECTS["Service", name]["spec"]
        labels = OBJECTS["Deployment", "verifier-scheduler"]["spec"]["template"]["metadata"]["labels"]
        assert service["selector"].items() <= labels.items()
        assert [port["port"] for port in service["ports"]] == [8786]


def test_keys_are_where_vendors_are_asked() -> None:
    """Workers use them, the run looks which there are; the scheduler has none, and no file holds one."""
    assert [name for name, each in COMPOSE.items() if ".env" in each["env_file"]] == ["worker", "run"]
    secret = {"secretRef": {"name": "vendor-keys"}}
    assert [name for name, each in CONTAINERS.items() if secret in each["envFrom"]] == ["worker", "run"]
    everything = "".join(path.read_text(encoding="utf-8") for path in DASK.iterdir())
    assert not re.search(r"(?<![a-z])sk-[A-Za-z0-9]{8}|BEGIN [A-Z ]*PRIVATE KEY", everything)


def as_here(words: list[str], port: int) -> list[str]:
    """A command of a container as one of this machine: its programs, loopback, a free port, a folder to write in."""
    programs = {"dask": [sys.executable, "-m", "dask"], "agent-vendor-verifier": [sys.executable, "-m", MAIN]}
    here = [re.sub(r"tls://[\w.-]+:8786", f"tls://127.0.0.1:{port}", word) for word in words[1:]]
    return [*programs[words[0]], *here]


@pytest.mark.slow  # a scheduler, a worker under its nanny and a run, each a process
@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl command here")
@pytest.mark.parametrize("system", ["compose", "kubernetes"])
def test_the_commands_of_the_files_make_a_run(system: str, bench: Bench) -> None:
    """With the environment of the files, the page's certificates and no home folder: encrypted, named and complete."""
    bench.configure("official: faithful", extra=ONCE)
    bench.samples(5)
    page = (ROOT / "docs" / "load.md").read_text(encoding="utf-8")
    certificates = CERTIFICATES.search(page)
    assert certificates is not None
    subprocess.run(["sh", "-e", "-c", certificates.group(1)], cwd=bench.folder, check=True, capture_output=True)
    lines = (DASK / "tls.env").read_text(encoding="utf-8").replace("/certs/", f"{bench.folder}/").splitlines()
    settings = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", REGION: "here", **settings}
    words, port = commands(system), free_port()
    running: list[subprocess.Popen[bytes]] = []
    with (bench.folder / "cluster.log").open("wb") as log:

        def start(part: str, *more: str) -> subprocess.Popen[bytes]:
            command = [*as_here(words[part], port), *more]
            return subprocess.Popen(
                command, cwd=bench.folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )

        try:
            running += [start("scheduler"), start("worker")]
            arguments = ("-o", "run", "--quiet", "--history", "none", "--test-file-path", "samples.jsonl")
            running.append(start("run", *arguments))
            assert running[-1].wait(PATIENCE_S) == 0, (bench.folder / "cluster.log").read_text()
        finally:
            for process in running:
                # A nanny and its worker are one group.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)
    assert {record["region"] for record in bench.records()} == {"here"}
    assert len(bench.records()) == 5
    (worker,) = bench.manifest()["executors"][-1]["workers"]
    assert worker["address"].startswith("tls://")
