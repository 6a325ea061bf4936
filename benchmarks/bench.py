"""``make bench``: the product against its peers on this machine, printed and written as ``RESULTS.md``.

Everything is measured here and now; no figure is taken from elsewhere. ``bench.py --help`` tells the options.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import comparison
import scaling
import summary
from observing import Observation
from peers import PEERS
from serving import NoCompiler, mock_server

HERE = Path(__file__).parent
# Programs beside this one that bring their own server and print a page. A million takes
# ten minutes: once will do.
PROGRAMS: Mapping[str, tuple[str, Sequence[str]]] = {
    "workers": ("Several workers", ("workers.py", "--rounds", "{rounds}")),
    "asleep": ("Several workers and a server that sleeps", ("workers.py", "--asleep", "--rounds", "{rounds}")),
    "timing": ("Does the clock tell the truth?", ("timing_truth.py", "--rounds", "{rounds}")),
    "million": ("A million records", ("million.py",)),
}
SECTIONS = ("peers", "marginal", "in-flight", "start-up", *PROGRAMS)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies every number of requests; 0.05 for a try")
    parser.add_argument("--concurrency", type=int, default=100)
    parser.add_argument("--peers", nargs="*", help="only peers whose name contains one of these words; none: no peer")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--long", action="store_true", help="marginal cost up to 200,000 requests, one round of it")
    parser.add_argument("--note", help="a sentence about the circumstances, for the top of the page")
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    return parser.parse_args()


def say(line: str) -> None:
    print(line, flush=True)


def peers_section(chosen: argparse.Namespace, port: int) -> tuple[str, list[Observation]]:
    wanted = [peer for peer in PEERS if chosen.peers is None or any(word in peer.name for word in chosen.peers)]
    subjects, missing = comparison.gather(wanted, chosen.scale, has_uvloop(), say)
    comparison.take_turns(subjects, port, chosen.concurrency, chosen.rounds, say)
    return comparison.page(subjects, missing), [seen for subject in subjects for seen in subject.seen]


def marginal_section(chosen: argparse.Namespace, port: int) -> tuple[str, list[Observation]]:
    pairs = [(round(small * chosen.scale), round(large * chosen.scale)) for small, large in scaling.PAIRS]
    seen = scaling.sizes(port, [size for pair in pairs for size in pair], chosen.concurrency, chosen.rounds, say)
    if chosen.long:
        seen |= scaling.sizes(port, scaling.LONG_PAIR, chosen.concurrency, 1, say)
        pairs.append(scaling.LONG_PAIR)
    return scaling.marginal_page(seen, pairs), [one for many in seen.values() for one in many]


def in_flight_section(chosen: argparse.Namespace, port: int) -> tuple[str, list[Observation]]:
    seen = scaling.in_flight(port, max(1_000, round(10_000 * chosen.scale)), chosen.rounds, say)
    return scaling.in_flight_page(seen), [one for pair in seen.values() for many in pair for one in many]


def program_section(words: Sequence[str], rounds: int) -> str:
    """What another benchmark prints."""
    name, *options = (word.format(rounds=rounds) for word in words)
    say(f"running {name}")
    command = [sys.executable, str(HERE / name), *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=3600, check=False)
    if done.returncode:
        return f"Skipped: `{name}` ended with {done.returncode}."
    return done.stdout.strip()


def measured_sections(chosen: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Heading and page of every section that was asked for."""
    everything: list[Observation] = []
    with mock_server() as port:
        with_server: dict[str, tuple[str, Callable[[], tuple[str, list[Observation]]]]] = {
            "peers": ("Product and peers", lambda: peers_section(chosen, port)),
            "marginal": ("One more request", lambda: marginal_section(chosen, port)),
            "in-flight": ("By requests in flight", lambda: in_flight_section(chosen, port)),
            "start-up": ("Start-up", lambda: (scaling.start_up_page(port, chosen.rounds), [])),
        }
        for name, (heading, measure) in with_server.items():
            if name in chosen.sections:
                page, seen = measure()
                everything += seen
                yield heading, page
    for section, (heading, words) in PROGRAMS.items():
        if section in chosen.sections:
            yield heading, program_section(words, chosen.rounds)
    yield "Circumstances", summary.elsewhere(everything)


def has_uvloop() -> bool:
    return importlib.util.find_spec("uvloop") is not None


def circumstances(chosen: argparse.Namespace) -> str:
    """Machine class and versions; nothing that names the machine."""
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text().splitlines() if cpus.is_file() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "CPU unknown")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("httptools", "msgspec", "httpx2")]
    loop = f"uvloop {importlib.metadata.version('uvloop')}" if has_uvloop() else "asyncio's own loop"
    return (
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, {platform.machine()} ({model}), {os.cpu_count()} cores, "
        f"{platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}, {loop}, "
        f"product {importlib.metadata.version('agent-vendor-verifier')} with {', '.join(versions)}. "
        f"Rounds: {chosen.rounds}, sizes × {chosen.scale:g}, {chosen.concurrency} in flight where nothing else is said."
    )


def page(chosen: argparse.Namespace, sections: Sequence[tuple[str, str]]) -> str:
    note = f"\n\n> {chosen.note}" if chosen.note else ""
    reading = (HERE / "READING.md").read_text().strip()
    body = "\n\n".join(f"## {heading}\n\n{text}" for heading, text in sections)
    return f"# Results\n\nWritten by `make bench`. {circumstances(chosen)}{note}\n\n{reading}\n\n{body}\n"


def main() -> int:
    chosen = arguments()
    sections: list[tuple[str, str]] = []
    try:
        for heading, text in measured_sections(chosen):
            say(f"\n## {heading}\n\n{text}\n")
            sections.append((heading, text))
            # After each section, because half an hour of measuring should not be lost to the last one.
            chosen.out.write_text(page(chosen, sections))
    except NoCompiler as reason:
        say(f"skipped: {reason}")
        return 0
    say(f"written: {chosen.out.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
