"""The due times of a replayed schedule's requests: seconds after the start, one a line, in rising order.

Blank lines, lines after ``#`` and a title ``at_s`` are skipped. It opens no file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from vendor_verifier.errors import Problem
from vendor_verifier.loaders.base import data_error, shortened


def read_schedule(lines: Iterable[bytes], file: Path) -> tuple[float, ...]:
    """The due times in the order of the file.

    Raises:
        DataError: lines that are no time or go back in time, all at once; or no time at all.
    """
    found: list[float] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8-sig", errors="replace").strip()
        if not text or text.startswith("#") or (text == "at_s" and not found):
            continue
        try:
            at_s = float(text)
        except ValueError:
            at_s = math.nan
        if not 0 <= at_s < math.inf:
            problems.append(
                Problem(f"read {shortened(text)}; expected seconds after the start, such as 1.25", file, number)
            )
        elif found and at_s < found[-1]:
            problems.append(Problem(f"{at_s:g} s comes before {found[-1]:g} s; sort the file by time", file, number))
        else:
            found.append(at_s)
    if not found and not problems:
        problems.append(Problem("holds no time; expected seconds after the start, one a line", file))
    if problems:
        raise data_error(problems)
    return tuple(found)
