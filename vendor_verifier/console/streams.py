"""Standard streams that never raise: a reader that went away, a full disk behind ``>``, streams that were closed.

Whoever pipes into ``head`` wants the command's work and exit code all the same, and no traceback. What cannot be
written is dropped from then on; whether something was lost, and why, is told at the end.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TextIO


class _Outlet(io.FileIO):
    """A descriptor that swallows everything once it refused something."""

    trouble: OSError | None = None

    def write(self, data: object, /) -> int | None:  # type: ignore[override]  # whatever has a buffer
        try:
            return super().write(data)  # type: ignore[arg-type]
        except OSError as error:
            self.trouble = error
            sink = os.open(os.devnull, os.O_WRONLY)
            os.dup2(sink, self.fileno())
            os.close(sink)
            return memoryview(data).nbytes  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Streams:
    """The process's standard output and error, as long as it lives."""

    out: _Outlet
    err: _Outlet

    def lost(self) -> str | None:
        """Why results could not be written, after all that was waiting is; None where nobody missed any."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(ValueError):  # closed by whoever had it
                stream.flush()
        trouble = self.out.trouble
        if trouble is None or isinstance(trouble, BrokenPipeError):
            return None
        return f"standard output cannot be written: {trouble.strerror or trouble}"


def never_raising() -> Streams:
    """Put such streams in place of this process's. What was closed is as if it led to nowhere."""
    # Else the next file that is opened gets the number of a standard stream, and what is printed lands in it.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    out, err = _Outlet(1, "w", closefd=False), _Outlet(2, "w", closefd=False)
    # Whoever calls from Python and put streams of its own there keeps them.
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(out, sys.stdout, "strict")
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(err, sys.stderr, "backslashreplace")
    return Streams(out, err)


def _text(outlet: _Outlet, before: TextIO | None, errors: str) -> TextIO:
    is_lively = before is None or errors != "strict" or outlet.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(outlet),
        encoding="utf-8" if before is None else before.encoding,
        errors=errors if before is None else before.errors,
        line_buffering=is_lively,
    )
