"""What a peer is: what to install, the command that does the job, and the proof that it did; it runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


class NotDone(Exception):
    """A peer ended well but did not do the work, so its figures would be worth nothing."""


@dataclass(frozen=True, slots=True)
class Job:
    """One measurement: ``folder`` holds samples.jsonl (messages, tools) and bodies.jsonl (whole requests)."""

    home: Path
    folder: Path
    port: int
    requests: int
    concurrency: int
    uvloop: bool

    @property
    def url(self) -> str:
        """The mock vendor, without /v1."""
        return f"http://127.0.0.1:{self.port}"

    def program(self, name: str) -> str:
        """A program of the peer's environment."""
        return str(self.home / "bin" / name)


@dataclass(frozen=True, slots=True)
class Peer:
    """One program to compare with.

    ``pins`` names the file in ``pins/`` that fixes the version of everything installed with it; peers with the same
    pins share an environment. ``posts`` is how often it asks for one sample. ``finish`` completes the environment
    where installing packages is not enough.
    """

    name: str
    version: str
    does: str
    pins: str
    requirements: Sequence[str]
    requests: int
    command: Callable[[Job], Sequence[str]]
    check: Callable[[Job], None]
    posts: int = 1
    environ: Mapping[str, str] = field(default_factory=dict)
    finish: Callable[[Path], None] | None = None

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"


def demand(found: object, wanted: object, what: str) -> None:
    """Say what was missing.

    Raises:
        NotDone: ``found`` is not ``wanted``.
    """
    if found != wanted:
        raise NotDone(f"{what}: {wanted} were wanted, {found} were found")
