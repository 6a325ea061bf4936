"""Encryption as the page describes it: its own commands make the certificates that a run then uses."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from clusters import ROOT, Site, cluster_of

PAGE = ROOT / "docs" / "distributed.md"


def make_certificates(folder: Path) -> dict[str, str]:
    """Run the page's commands; file names by what they are."""
    found = re.search(r"```sh tls\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    folder.mkdir(exist_ok=True)
    subprocess.run(["sh", "-e", "-c", found.group(1)], cwd=folder, check=True, capture_output=True)
    return {name: str(folder / f"{name}.pem") for name in ("ca", "cert", "key")}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl command here")
def test_a_run_over_tls_and_none_without_or_with_a_stranger_s_certificate(site: Site) -> None:
    """The page's commands are enough; without a certificate, or with one of another authority, nobody is let in."""
    site.configure("official: faithful", samples=25)
    ours, stranger = make_certificates(site.folder / "tls"), make_certificates(site.folder / "stranger")
    options = ("--tls-ca-file", ours["ca"], "--tls-cert", ours["cert"], "--tls-key", ours["key"])

    def run(output: str, files: dict[str, str]) -> tuple[int, str]:
        names = {"CA_FILE": "ca", "CLIENT__CERT": "cert", "CLIENT__KEY": "key"}
        environment = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": files[what] for name, what in names.items() if files}
        return site.run(output, "--executor", "dask", "--dask-scheduler", cluster.address, **environment)

    with cluster_of(site.folder / "cluster", 1, scheme="tls", options=options) as cluster:
        cluster.wait_for_workers()
        code, err = run("encrypted", ours)
        assert code == 0, err
        assert len(site.records("encrypted")) == 25
        sent = len(site.vendors.arrived_at)
        for output, files in (("bare", {}), ("foreign", stranger)):
            code, err = run(output, files)
            assert code == 2, err
            assert "cannot be used" in err
            assert "Traceback" not in err
        plain = cluster.address.replace("tls://", "tcp://")
        code, err = site.run("plain", "--executor", "dask", "--dask-scheduler", plain)
        assert (code, "it speaks TLS; write tls://" in err) == (2, True), err
        assert not (site.folder / "plain").exists()
        assert len(site.vendors.arrived_at) == sent
