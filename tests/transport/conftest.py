"""What the tests of transports share."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of localhost and its key in one file, signed by itself."""
    file = tmp_path / "localhost.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    command = ["openssl", *words.split(), "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    try:
        subprocess.run([*command, "-keyout", file, "-out", tmp_path / "c"], check=True, capture_output=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("openssl cannot make a certificate here")
    file.write_bytes((tmp_path / "c").read_bytes() + file.read_bytes())
    return file
