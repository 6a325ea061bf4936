"""Dask's additions of others: a job queue that starts workers, and the operator's published schemas."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from clusters import ROOT, Site, vendors
from costs import PATIENCE_S

__all__ = ["vendors"]
pytestmark = pytest.mark.world


def installed(package: str) -> Path:
    """The folder of a package that install.py fetched."""
    found = next((ROOT / ".world" / "dask").glob(f"lib/python3*/site-packages/{package}"), None)
    if found is None:
        pytest.skip(f"{package} is not installed under .world/dask")
    return found


def closed(schema: Any) -> Any:
    """The schema with no key allowed that it does not name: an API server would drop those without a word."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        found.setdefault("additionalProperties", False)
    return found


def schemas() -> Iterator[tuple[str, str, Any]]:
    """Kind, version and schema of the operator's resources."""
    for file in installed("dask_kubernetes").glob("operator/deployment/helm/*/crds/*.yaml"):
        for definition in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            for version in definition["spec"]["versions"]:
                group = f"{definition['spec']['group']}/{version['name']}"
                yield definition["spec"]["names"]["kind"], group, version["schema"]["openAPIV3Schema"]


def problems(resource: dict[str, Any]) -> list[str]:
    """What the operator's schema of its kind says against a resource."""
    (schema,) = (one for kind, group, one in schemas() if (kind, group) == (resource["kind"], resource["apiVersion"]))
    validator = jsonschema_rs.validator_for(closed(schema["properties"]["spec"]))
    return [error.message for error in validator.iter_errors(resource["spec"])]


@pytest.mark.parametrize(
    ("file", "kinds"), [("operator.yaml", ["DaskJob"]), ("operator-adaptive.yaml", ["DaskCluster", "DaskAutoscaler"])]
)
def test_the_operator_takes_our_resources(file: str, kinds: list[str], record_property: Any) -> None:
    """Each is what the Dask operator's published schema describes, to the last key; a wrong key is seen."""
    record_property("server", "dask-kubernetes")
    documents = yaml.safe_load_all((ROOT / "deploy" / "dask" / file).read_text(encoding="utf-8"))
    own = [each for each in documents if each["apiVersion"].startswith("kubernetes.dask.org/")]
    assert [each["kind"] for each in own] == kinds
    for resource in own:
        assert problems(resource) == []
        cluster = resource["spec"].get("cluster")
        inside = cluster["spec"] if isinstance(cluster, dict) else resource["spec"]
        part = inside["worker"]["spec"]["containers"][0] if "worker" in inside else inside
        part["comand"] = []
        assert len(problems(resource)) == 1


def test_a_job_queue_starts_workers_for_a_run(tmp_path: Path, vendors: Any, record_property: Any) -> None:
    """The page's program for dask-jobqueue, with its queue of local jobs: started workers answer every sample."""
    record_property("server", "dask-jobqueue")
    folder = installed("dask_jobqueue").parent
    vendors.forget()
    site = Site(tmp_path, vendors)
    site.configure("official: faithful", samples=40)
    page = (ROOT / "docs" / "distributed.md").read_text(encoding="utf-8")
    found = re.search(r"```python queue\n(.*?)```", page, re.DOTALL)
    assert found is not None
    program = found.group(1).replace("import SLURMCluster as Queue", "import LocalCluster as Queue")
    program = program.replace("from dask_jobqueue import", "from dask_jobqueue.local import")
    program = program.replace('scheduler_options={"interface": "ib0"}', 'scheduler_options={"host": "127.0.0.1"}')
    (tmp_path / "program.py").write_text(program)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{folder}"}
    command = [sys.executable, "program.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    assert len(site.records("runs/queued")) == 40
    executor = json.loads((tmp_path / "runs" / "queued" / "manifest.json").read_text())["executors"][-1]
    assert sum(worker["records"] for worker in executor["workers"]) == 40
