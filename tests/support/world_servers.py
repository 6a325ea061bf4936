"""Servers that nobody here wrote, each a process of its own on loopback for as long as a test needs it."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from costs import await_that
from workbench import ROOT, free_port

WORLD = ROOT / ".world"


@dataclass(frozen=True)
class Server:
    """A running server: its address, and its process."""

    address: str
    process: subprocess.Popen[bytes]


def program(name: str) -> str:
    """The path of an installed program; without it the test is skipped with the way to have it."""
    found = shutil.which(name, path=os.environ.get("PATH", "") + os.pathsep + "/usr/sbin")
    return found or pytest.skip(f"{name} is not installed here: apt-get install {name} as root, or make test-world")


def installed(environment: str, command: str) -> Path:
    """A command of one of the environments under .world; without it the test is skipped with the reason."""
    path = WORLD / environment / "bin" / command
    if not path.exists():
        pytest.skip(f"{command} could not be installed into .world/{environment}: make test-world says why")
    return path


@contextmanager
def started(
    name: str,
    command: list[str],
    folder: Path,
    port: int,
    *,
    environment: Mapping[str, str] | None = None,
    path: str = "",
) -> Iterator[Server]:
    """The server from when it listens (and answers ``path`` with 200, if given) until it has been stopped."""
    log = folder / f"{name}.log"
    with (
        log.open("wb") as out,
        subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=out,
            env={**os.environ, **(environment or {})},
        ) as process,  # fmt: skip
    ):
        try:
            await_that(lambda: _answers(port, path) or process.poll() is not None)
            assert process.poll() is None, log.read_text(errors="replace")[-2000:]
            yield Server(f"http://127.0.0.1:{port}", process)
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


def _answers(port: int, path: str) -> bool:
    try:
        if path:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                return bool(answer.status == 200)
        socket.create_connection(("127.0.0.1", port), 5).close()
    except (OSError, urllib.error.URLError):
        return False
    return True


_NGINX = """
user {user}; daemon off; worker_processes 2; pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log notice;
events {{ worker_connections 512; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/temp;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream vendors {{ server {upstream}; keepalive 32; }}
  server {{
    listen 127.0.0.1:{port};
    {settings}
    location / {{ proxy_pass http://vendors; proxy_http_version 1.1; proxy_set_header Connection ""; }}
  }}
}}
"""


@contextmanager
def nginx(folder: Path, behind: str, settings: str = "") -> Iterator[Server]:
    """An nginx before another server, with further settings for its ``server`` block."""
    command, port = program("nginx"), free_port()
    upstream = behind.removeprefix("http://")
    # Else its workers are somebody who may not write into the folder.
    user = f"{pwd.getpwuid(os.getuid()).pw_name} {grp.getgrgid(os.getgid()).gr_name}"
    text = _NGINX.format(user=user, folder=folder, port=port, upstream=upstream, settings=settings)
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    arguments = [command, "-c", str(folder / "nginx.conf"), "-e", str(folder / "nginx-start.log")]
    with started("nginx", arguments, folder, port) as server:
        yield server


_HAPROXY = """
defaults
  mode http
  {option}
  timeout connect 10s
  timeout client 60s
  timeout server 60s
  timeout http-keep-alive {keep_alive}
frontend front
  bind 127.0.0.1:{port}
  default_backend back
backend back
  server one {upstream}
"""


@contextmanager
def haproxy(
    folder: Path, behind: str, keep_alive: str = "60s", option: str = "option http-no-delay"
) -> Iterator[Server]:
    """A haproxy with a master process before another server; it closes idle connections after ``keep_alive``."""
    command, port = program("haproxy"), free_port()
    upstream = behind.removeprefix("http://")
    text = _HAPROXY.format(port=port, upstream=upstream, keep_alive=keep_alive, option=option)
    (folder / "haproxy.cfg").write_text(text, encoding="utf-8")
    arguments = [command, "-W", "-db", "-f", str(folder / "haproxy.cfg")]
    with started("haproxy", arguments, folder, port) as server:
        yield server


@contextmanager
def llama(folder: Path) -> Iterator[Server]:
    """A llama.cpp server that serves a tiny model of random weights."""
    python, port = installed("llama", "python"), free_port()
    command = [str(python), str(ROOT / "tests" / "world" / "llama_server.py"), str(folder / "tiny.gguf"), str(port)]
    with started("llama", command, folder, port, path="/health") as server:
        yield server


_LITELLM = """
model_list:
  - model_name: simulated-model
    litellm_params:
      model: hosted_vllm/simulated-model
      api_base: {upstream}/faithful/v1
      api_key: none
litellm_settings:
  telemetry: false
  num_retries: 0
"""


@contextmanager
def litellm(folder: Path, behind: str) -> Iterator[Server]:
    """A LiteLLM proxy before another server."""
    command, port = installed("litellm", "litellm"), free_port()
    (folder / "litellm.yaml").write_text(_LITELLM.format(upstream=behind), encoding="utf-8")
    # Prices from its own copy, not from elsewhere; and no keys between two servers on loopback.
    environment = {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_TELEMETRY": "False",
        "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
    }
    arguments = [str(command), "--config", str(folder / "litellm.yaml"), "--host", "127.0.0.1", "--port", str(port)]
    with started("litellm", arguments, folder, port, environment=environment, path="/health/liveliness") as server:
        yield server
