"""Standard streams that never raise: a reader that went away, a full disk behind ``>``, streams that were closed.

A command that is piped into ``head`` must still do its work and return its exit code, without a traceback. Output that
cannot be written is dropped from then on; the loss and its reason are reported at the end.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TextIO


class _Outlet(io.FileIO):
    """A file that drops everything written after the first failed write."""

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
        """Flush both streams and return why results were lost; None where none were, or their reader went away."""
        for stream in (sys.stdout, sys.stderr):
            with suppress(ValueError):  # closed by its owner
                stream.flush()
        trouble = self.out.trouble
        if trouble is None or isinstance(trouble, BrokenPipeError):
            return None
        return f"standard output cannot be written: {trouble.strerror or trouble}"


def never_raising() -> Streams:
    """Replace this process's standard streams by such ones; a closed stream is opened onto the null device."""
    # Else the next file that is opened gets the number of a standard stream, and what is printed lands in it.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    out, err = _Outlet(1, "w", closefd=False), _Outlet(2, "w", closefd=False)
    # A Python caller that replaced the streams keeps its own.
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
