"""deploy/dask/operator-adaptive.yaml: its commands, run as processes, with a stand-in for the operator's own loop.

The stand-in does what the operator's controller does with them (dask-kubernetes 2026.3, ``get_desired_workers`` and
``retire_workers``): it asks the scheduler over HTTP how many workers are wanted, and which may go.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from clusters import ROOT, Site, free_port
from costs import PATIENCE_S

from vendor_verifier import __version__

DOCUMENTS = list(yaml.safe_load_all((ROOT / "deploy" / "dask" / "operator-adaptive.yaml").read_text(encoding="utf-8")))
CLUSTER, AUTOSCALER, JOB = DOCUMENTS
TLS = dict(
    line.split("=", 1)
    for line in (ROOT / "deploy" / "dask" / "tls.env").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)
CERTIFICATES = re.compile(r"```sh tls\n(.*?)```", re.DOTALL)


def pods() -> dict[str, dict[str, Any]]:
    """Pod specifications by the name of their container."""
    parts = [CLUSTER["spec"]["scheduler"]["spec"], CLUSTER["spec"]["worker"]["spec"], JOB["spec"]["template"]["spec"]]
    return {part["containers"][0]["name"]: part for part in parts}


def test_the_parts_of_the_file_fit_each_other() -> None:
    """The autoscaler means this cluster, all dial its scheduler, keys are where vendors are asked, nobody may write."""
    name = CLUSTER["metadata"]["name"]
    assert [each["kind"] for each in DOCUMENTS] == ["DaskCluster", "DaskAutoscaler", "Job"]
    assert AUTOSCALER["spec"]["cluster"] == name
    assert AUTOSCALER["spec"]["minimum"] == CLUSTER["spec"]["worker"]["replicas"] < AUTOSCALER["spec"]["maximum"]
    service = CLUSTER["spec"]["scheduler"]["service"]
    assert service["selector"] == {"dask.org/cluster-name": name, "dask.org/component": "scheduler"}
    listened = {port["name"]: port["containerPort"] for port in pods()["scheduler"]["containers"][0]["ports"]}
    assert {port["targetPort"]: port["port"] for port in service["ports"]} == listened
    keys = {"secretRef": {"name": "vendor-keys"}}
    for part, spec in pods().items():
        (container,) = spec["containers"]
        assert container["image"] == f"agent-vendor-verifier-dask:{__version__}"
        assert {"configMapRef": {"name": "verifier-tls"}} in container["envFrom"]
        assert (keys in container["envFrom"]) == (part != "scheduler")
        assert (f"tls://{name}-scheduler:8786" in container["command"]) == (part != "scheduler")
        rights = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        assert container["securityContext"] == rights
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}


class Operator:
    """The operator's loop over processes of this machine: ``asked`` and ``started`` are what it saw and did."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port, self.dashboard = free_port(), free_port()
        self.asked: list[int] = []
        self.retired: list[str] = []
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self._over = threading.Event()
        self._running = ExitStack()

    def start(self, part: str, *more: str, **environment: str) -> subprocess.Popen[bytes]:
        """A container's process: its command and environment, certificates and ports of this machine."""
        (container,) = pods()[part]["containers"]
        programs = {"dask": ["-m", "dask"], "agent-vendor-verifier": ["-m", "vendor_verifier.cli.main"]}
        command = [*programs[container["command"][0]], *container["command"][1:], *more]
        command = [re.sub(r"tls://[\w.-]+:8786", f"tls://127.0.0.1:{self.port}", word) for word in command]
        command = [word.replace(":8787", f"127.0.0.1:{self.dashboard}") for word in command]
        command = [word.replace("$(DASK_WORKER_NAME)", environment.get("DASK_WORKER_NAME", "")) for word in command]
        own = {each["name"]: each["value"] for each in container.get("env", ())}
        certificates = {name: value.replace("/certs/", f"{self.folder}/") for name, value in TLS.items()}
        with (self.folder / f"{part}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *command], cwd=self.folder, stdout=log, stderr=log,
                env={**os.environ, "PYTHONPATH": str(ROOT), **certificates, **own, **environment},
            )  # fmt: skip
        self._running.callback(process.wait, 10)
        self._running.callback(process.terminate)
        return process

    def adapt(self) -> None:
        """Look after the number of workers until it is over, as often as the operator does, and a little more."""
        limits = AUTOSCALER["spec"]
        while not self._over.wait(2):
            try:
                wanted = self._api("adaptive_target")["workers"]
            except (urllib.error.URLError, ConnectionError):
                continue
            self.asked.append(wanted)
            here = len(self.workers)
            wanted = min(limits["maximum"], max(limits["minimum"], wanted, here - max(1, here // 4)))
            for _ in range(here, wanted):
                name = f"worker-{len(self.asked)}-{len(self.workers)}"
                self.workers[name] = self.start("worker", DASK_WORKER_NAME=name)
            if wanted < here:
                for found in self._api("retire_workers", {"n": here - wanted}).values():
                    self.retired.append(found["name"])
                    self.workers.pop(found["name"]).terminate()

    def _api(self, name: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.dashboard}/api/v1/{name}", data)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return json.loads(answer.read())

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """The scheduler and the loop, until the block ends."""
        loop = threading.Thread(target=self.adapt, daemon=True)
        with self._running:
            self.start("scheduler")
            loop.start()
            try:
                yield
            finally:
                self._over.set()
                loop.join(PATIENCE_S)


@pytest.mark.slow  # a scheduler, workers and a search, each a process
@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl command here")
def test_a_search_makes_the_operator_start_workers_and_loses_none(site: Site) -> None:
    """From no worker at all, over TLS, by the file's own commands: levels are sent by what was started meanwhile, and
    no worker that is at work is retired."""
    site.configure("official: slow", samples=20)
    page = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
    certificates = CERTIFICATES.search(page)
    assert certificates is not None
    subprocess.run(["sh", "-e", "-c", certificates.group(1)], cwd=site.folder, check=True, capture_output=True)
    operator = Operator(site.folder)
    words = ("--sweep", "4,60", "-n", "20", "--slo", "ttft.p95 <= 60000", "-o", "out", "--test-file-path")
    with operator.at_work():
        search = operator.start("run", *words, "samples.jsonl")
        assert search.wait(4 * PATIENCE_S) in (0, 1, 3), (site.folder / "run.log").read_text()
    (found,) = json.loads((site.folder / "out" / "capacity.json").read_text())["capacity"]["vendors"]
    assert [one["level"] for one in found["sittings"]][:3] == [1, 4, 60]
    assert {one["lost"] for one in found["sittings"]} == {0}
    assert max(operator.asked) >= 1
    assert {record["worker"] for record in site.records("out")} <= {*operator.workers, *operator.retired}
    assert site.vendors.most_in_flight["slow"] == 60
