"""Counts the calls of Python and of C that one more request costs, by the part of the product that makes them.

Unlike times, counts do not move with whatever else the machine does. The product runs in a process of its own, twice,
with a profile function in place: the difference of both sizes, by the difference of requests, has no start-up in it. A
call of a library counts for the part that called it. ``calls.py --help`` tells the options.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from heapq import nlargest
from operator import itemgetter
from pathlib import Path
from types import CodeType, FrameType

from cost import check, write_job
from serving import NoCompiler, mock_server

SIZES = (200, 600)
# The modules of a part, by their paths below the package; the longest that fits decides.
PARTS = {
    "event loop": ("pipeline/execute",),
    "send": ("transport",),
    "read": ("wire",),
    "play": ("run", "suites/trigger", "scoring/answer", "vendor"),
    "journal": ("run/journal", "store", "redaction"),
    "judge": ("suites",),
    "score": ("scoring", "records"),
    "findings": ("findings", "stats"),
    "report": ("reports",),
    "plan": ("loaders", "sample_store", "pipeline", "config"),
}
ELSEWHERE = "elsewhere"


def part_of(module: str) -> str:
    """The part that a module's path below the package belongs to: the longest folder of ``PARTS`` that it is in."""
    folders = {folder: part for part, named in PARTS.items() for folder in named}
    fitting = [folder for folder in folders if module == folder or module.startswith((f"{folder}/", f"{folder}."))]
    return folders[max(fitting, key=len)] if fitting else ELSEWHERE


class CallCounter:
    """Counts calls by the innermost function of the package on the stack; a profile function of ``sys``, one thread."""

    def __init__(self, package: Path) -> None:
        self.calls: Counter[tuple[str, str, str]] = Counter()
        self._root = f"{package}{os.sep}"
        self._owners: dict[CodeType, tuple[str, str] | None] = {}
        self._stack = [(ELSEWHERE, "")]

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            self._stack.append(self._owner(frame.f_code) or self._stack[-1])
        elif event == "return" and len(self._stack) > 1:
            self._stack.pop()
        if event in ("call", "c_call"):
            self.calls[(event, *self._stack[-1])] += 1

    def _owner(self, code: CodeType) -> tuple[str, str] | None:
        """Module and name of a function of the package; None of others, which count for their caller."""
        if code not in self._owners:
            is_ours = code.co_filename.startswith(self._root)
            self._owners[code] = (code.co_filename.removeprefix(self._root), code.co_qualname) if is_ours else None
        return self._owners[code]


def count(arguments: list[str], out: Path) -> int:
    """Run the product in this process and write what was counted to ``out``."""
    import vendor_verifier
    from vendor_verifier.cli.main import main as product

    counter = CallCounter(Path(vendor_verifier.__file__).parent)
    sys.setprofile(counter)
    try:
        sys.argv = ["agent-vendor-verifier", *arguments]
        product()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.setprofile(None)
        out.write_text(json.dumps([[*key, times] for key, times in counter.calls.items()]))
    return 0


def counted(port: int, requests: int, concurrency: int) -> Counter[tuple[str, str, str]]:
    """The calls of a whole run by kind, module and function."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_job(folder, port, requests)
        asked = ["--test-file-path", "samples.jsonl", "-o", "run", "--quiet"]
        asked += ["--request-concurrency", str(concurrency)]
        out = folder / "calls.json"
        words = [sys.executable, __file__, "--child", str(out), *asked]
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
        check(folder / "run", requests)
        return Counter(
            {(kind, module, function): times for kind, module, function, times in json.loads(out.read_text())}
        )


def per_request(port: int, sizes: tuple[int, int], concurrency: int) -> dict[tuple[str, str, str], float]:
    """The calls that one more request costs."""
    few, many = (counted(port, size, concurrency) for size in sizes)
    return {key: (times - few[key]) / (sizes[1] - sizes[0]) for key, times in many.items()}


def table(found: dict[tuple[str, str, str], float]) -> Iterator[str]:
    """Lines: Python and C calls a request by part, and their sum."""
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for (kind, module, _), times in found.items():
        sums[part_of(module), kind] += times
    yield "| part | Python | C | both |"
    yield "| --- | --: | --: | --: |"
    for part in (*PARTS, ELSEWHERE):
        python, native = sums[part, "call"], sums[part, "c_call"]
        yield f"| {part} | {python:.0f} | {native:.0f} | {python + native:.0f} |"
    python, native = (sum(times for (_, kind), times in sums.items() if kind == each) for each in ("call", "c_call"))
    yield f"| **all** | {python:.0f} | {native:.0f} | {python + native:.0f} |"


def busiest(found: dict[tuple[str, str, str], float], count: int) -> Iterator[str]:
    """Lines: the functions with the most calls made by them and by libraries below them."""
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for (_, module, function), times in found.items():
        sums[module, function] += times
    for (module, function), times in nlargest(count, sums.items(), key=itemgetter(1)):
        yield f"{times:8.1f}  {module}:{function}"


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        return count(sys.argv[3:], Path(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs=2, default=SIZES, help="requests of the two runs")
    parser.add_argument("--concurrency", type=int, default=1, help="one at a time makes the counts the same every time")
    parser.add_argument("--at-most", type=float, help="fail when one more request costs more calls of both kinds")
    parser.add_argument("--functions", type=int, default=0, help="print so many of the busiest functions as well")
    options = parser.parse_args()
    try:
        with mock_server() as port:
            found = per_request(port, tuple(options.sizes), options.concurrency)
    except NoCompiler as reason:
        print(f"skipped: {reason}")
        return 0
    print("\n".join([*table(found), *busiest(found, options.functions)]))
    if options.at_most is not None and sum(found.values()) > options.at_most:
        print(f"too many: {sum(found.values()):.0f} calls a request, allowed are {options.at_most:g}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
