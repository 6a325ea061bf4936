"""The process that serves a run its simulated vendors: ``python -m vendor_verifier.features.simulate.served_run SEED``.

It begins with every such run, so it loads no command line. Its stdin brings one line, the answers it knows, and ends
with the run, however that ends; then it ends, too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading

from vendor_verifier.features.simulate.answer_key import read_key
from vendor_verifier.features.simulate.server import announce, serve


def main() -> None:
    """Serve until stdin closes or a signal comes. A signal ends the process at once: there is nothing to be kept."""
    known = read_key(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    # All that the run will ask it has told, so the rows that ship need not be read.
    asyncio.run(serve(seed=int(sys.argv[1]), known=known, knows_shipped=False, ready=announce))


def _end_with_stdin() -> None:
    """Stop when stdin closes, which a run keeps open as long as it lives."""
    # Of the descriptor itself: a reader of the buffered stream would hold its lock when the program ends.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
