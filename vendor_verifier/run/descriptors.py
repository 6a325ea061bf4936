"""Makes sure, before anything is sent, that the system lets us open a connection for every request in flight."""

from __future__ import annotations

import contextlib

from vendor_verifier.errors import UsageError

# Files of the run, the event loop, idle connections that are being replaced, name look-ups.
_RESERVE = 96
# Where there is no limit, and where the system knows no such limits but has others of its own.
_UNLIMITED, _UNKNOWN = 1_000_000, 400


def most_connections() -> int:
    """How many connections this process can have at once, at the most."""
    try:
        import resource
    except ImportError:
        return _UNKNOWN
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return _UNLIMITED if hard == resource.RLIM_INFINITY else max(1, hard - _RESERVE)


def ensure_descriptors(connections: int) -> None:
    """Raise this process's own soft limit if it has to be and may be.

    Raises:
        UsageError: the hard limit is too low for ``connections``.
    """
    try:
        import resource
    except ImportError:  # a system without such limits
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + _RESERVE
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard == resource.RLIM_INFINITY or hard >= needed:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
            return
    raise UsageError(
        f"{connections} requests at a time may need {needed} open files, and this system allows {soft} "
        f"(hard limit {hard}); raise it (`ulimit -n {needed}`), or lower --request-concurrency or `concurrency:`"
    )
