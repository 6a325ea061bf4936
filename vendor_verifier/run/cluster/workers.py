"""The rules by which workers and addresses may take part in a Dask run; it opens no connection."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from vendor_verifier.errors import UsageError
from vendor_verifier.run.cluster.job import Hello


@dataclass(frozen=True, slots=True)
class ClusterWorker:
    """A worker that may take part. ``skew_ms`` is its wall clock minus ours, give or take ``skew_error_ms``."""

    address: str
    hello: Hello
    skew_ms: float
    skew_error_ms: float


def skew(hello: Hello, asked_ns: int, answered_ns: int) -> tuple[float, float]:
    """(offset, uncertainty) in ms of a clock read somewhere between two readings of ours (Cristian's algorithm)."""
    middle_ns = (asked_ns + answered_ns) / 2
    return (hello.wall_ns - middle_ns) / 1e6, (answered_ns - asked_ns) / 2e6


def mismatch(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str | None:
    """The versions that differ so that two machines would measure or mean different things, in words; None if none."""
    differing = [
        f"{name} {theirs[name]} instead of {ours[name]}"
        for name in ours
        if _significant(name, theirs[name]) != _significant(name, ours[name])
    ]
    return ", ".join(differing) or None


def _significant(name: str, version: str) -> str:
    """The part of a version that must agree; of Python the minor one, within which pickles are compatible."""
    return ".".join(version.split(".")[:2]) if name == "python" else version


def rejection_reason(hello: Hello, ours: Mapping[str, str]) -> str | None:
    """The reason why this worker may not take part; None when it may."""
    theirs = {"version": hello.version, "python": hello.python, "distributed": hello.distributed}
    differing = mismatch(ours, theirs)
    if differing is not None:
        return f"worker {hello.name} on {hello.host} runs {differing}; install the same on every machine"
    if hello.missing:
        names = ", ".join(hello.missing)
        return f"worker {hello.name} on {hello.host} has no value for {names}; set it in that worker's environment"
    if hello.problem is not None:
        return f"worker {hello.name} on {hello.host}: {hello.problem}"
    return None


@dataclass(slots=True)
class Fleet:
    """The workers met so far, by process identity, and the reasons of those refused."""

    workers: dict[str, ClusterWorker] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def describe(self, reports: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The workers for the manifest; ``reports`` are the sessions' own, by identity."""
        described = [
            {
                "name": worker.hello.name,
                "host": worker.hello.host,
                "address": worker.address,
                "region": worker.hello.region,
                "version": worker.hello.version,
                "python": worker.hello.python,
                "distributed": worker.hello.distributed,
                "skew_ms": round(worker.skew_ms, 1),
                "skew_error_ms": round(worker.skew_error_ms, 1),
                **reports.get(identity, {}),
            }
            for identity, worker in self.workers.items()
        ]
        regions = Counter(worker.hello.region for worker in self.workers.values() if worker.hello.region)
        return {"workers": described, "regions": dict(regions), "refused": list(self.refused.values())}


_ENCRYPTED = frozenset({"tls"})
_PLAIN = frozenset({"tcp"})


def scheduler_address(text: str) -> str:
    """The address with its scheme; without one it is ``tcp``.

    Raises:
        UsageError: another scheme, or no host and port.
    """
    address = text if "://" in text else f"tcp://{text}"
    try:
        parts = urlsplit(address)
        is_whole = bool(parts.hostname and parts.port)
    except ValueError:
        is_whole = False
    if not is_whole or parts.scheme not in _ENCRYPTED | _PLAIN:
        raise UsageError(f"--dask-scheduler {text}: expected tls://HOST:PORT, or tcp://HOST:PORT on this machine")
    return address


def is_loopback(address: str) -> bool:
    """Whether a connection to ``scheme://host:port`` stays on this machine."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def refuse_insecure(addresses: Iterable[str], *, insecure_cluster: bool) -> None:
    """Refuse unencrypted addresses of other machines: anyone between could read everything and run code on the workers.

    Raises:
        UsageError: an address is neither encrypted nor on this machine, and that was not asked for.
    """
    if insecure_cluster:
        return
    for address in addresses:
        if urlsplit(address).scheme not in _ENCRYPTED and not is_loopback(address):
            raise UsageError(
                f"{address} is neither encrypted nor on this machine: whoever reaches it could read everything and run "
                "code on the workers; use tls:// (docs/distributed.md), or --insecure-cluster in a network of your own"
            )
