"""An environment of its own for every peer, in a cache folder that git ignores; versions are pinned, never newest."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

from peers.peer import Peer

CACHE = Path(__file__).parents[1] / ".bench"
_PINS = Path(__file__).with_name("peers") / "pins"
_LONGEST_S = 1800


class CannotInstall(Exception):
    """A peer is not to be had here; the message says why."""


def prepared(peer: Peer, cache: Path = CACHE) -> Path:
    """The folder of the peer's environment, made when it is not there or its pins have changed.

    Raises:
        CannotInstall: pip could not.
    """
    pins = _PINS / f"{peer.pins}.txt"
    home = cache / peer.pins
    ready = home / "ready"
    wanted = recipe(peer, pins.read_text())
    if ready.is_file() and ready.read_text() == wanted:
        return home
    try:
        venv.create(home, with_pip=True, clear=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--constraint", str(pins)]
        subprocess.run([*pip, *peer.requirements], check=True, capture_output=True, text=True, timeout=_LONGEST_S)
        if peer.finish is not None:
            peer.finish(home)
    except subprocess.CalledProcessError as failed:
        raise CannotInstall(last_words(failed.stderr)) from failed
    except (OSError, subprocess.TimeoutExpired, StopIteration) as failed:
        raise CannotInstall(f"{type(failed).__name__}: {failed}") from failed
    ready.write_text(wanted)
    return home


def recipe(peer: Peer, pins: str) -> str:
    """Changes when what is installed would change: requirements, pins, or the Python it is for."""
    return hashlib.sha256(repr((*peer.requirements, pins, sys.version)).encode()).hexdigest()


def last_words(said: str | bytes) -> str:
    """The errors that pip named, or else the last thing it said."""
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    errors = [line for line in text.splitlines() if line.startswith("ERROR:")]
    return "; ".join(errors or text.splitlines()[-1:] or ["pip said nothing"])
