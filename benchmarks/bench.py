"""What a request costs, whether the clock tells the truth, and what peers cost: `make bench` writes RESULTS.md.

    bench.py cost      the whole product against a raw protocol, by number of requests
    bench.py clock     recorded times against the server's own stamps
    bench.py peers     the same work by other programs, each in an environment of its own under .bench
    bench.py           all three

Everybody takes turns in each round, and ratios are taken within a round, because other work on the machine moves single
figures. Client and server are pinned to a core each. Needs a C compiler for the server.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import clock
from measuring import Cost, Failed, counted, measured, product, raw_limit, write_job
from peers import PEERS, Job, Peer, library_command, prepare
from serving import NoCompiler, mock_server

RESULTS = Path(__file__).with_name("RESULTS.md")
KINDS = ("cost", "clock", "peers")
Measure = Callable[[], Cost]

COST_TEXT = """The whole command, from its start to the scored run on disk, against a bare asyncio protocol that sends,
stamps and parses the same answers (the raw limit). An answer has 64 pieces of text, 8 of a tool call, and usage."""
CLOCK_TEXT = """Error in ms against the server's own stamps, which sends the first token after 200 ms and 72 more by
10 ms. Libraries are clients of an application that streams as their documentation shows. On a quiet machine the product
is to be off by at most 0.2 ms in the mean and 1 ms at p99 with 500 streams."""
PEERS_TEXT = """The work of the first table. Each peer is held against the product at its own number of requests, since
the start weighs more in a short run. Memory is that of the largest process."""


def turns(measures: Sequence[Measure], rounds: int) -> list[list[Cost]]:
    """Costs by measure; every other round goes backwards, so that a drift of the machine meets all of them."""
    found: list[list[Cost]] = [[] for _ in measures]
    for number in range(rounds):
        order = range(len(measures)) if number % 2 == 0 else reversed(range(len(measures)))
        for place in order:
            found[place].append(measures[place]())
            print(".", end="", file=sys.stderr, flush=True)
    return found


def ratio(ours: Sequence[Cost], theirs: Sequence[Cost]) -> float:
    """How many times the CPU of ``theirs``: the median of the rounds' ratios."""
    return median(one.cpu_s / other.cpu_s for one, other in zip(ours, theirs, strict=True))


def us(costs: Sequence[Cost], requests: int) -> str:
    """Median and range of CPU per request."""
    each = [1e6 * one.cpu_s / requests for one in costs]
    return f"{median(each):,.0f} ({min(each):,.0f}–{max(each):,.0f})"


def load_of(costs: Sequence[Cost]) -> str:
    """What else the machine did, so that a noisy table cannot pass for a quiet one."""
    others = sorted(one.others for one in costs)
    quiet = "Quiet machine" if median(others) <= 0.15 else "**Busy machine: compare ratios only**"
    return f"{quiet}: other programs used {median(others):.2f} cores in the median, {others[-1]:.2f} at most."


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def cost_section(chosen: argparse.Namespace) -> tuple[str, float]:
    """The table, and the largest ratio of the product to the raw limit."""
    rows, every, worst = [], [], 0.0
    with mock_server() as port:
        product(port, 10, 1)
        for size in chosen.requests:
            measures = [functools.partial(one, port, size, chosen.in_flight) for one in (product, raw_limit)]
            ours, raw = turns(measures, chosen.rounds)
            worst = max(worst, ratio(ours, raw))
            every += [*ours, *raw]
            rows.append([f"{size:,}", us(ours, size), us(raw, size), f"{ratio(ours, raw):.2f}",
                         f"{median(one.wall_s for one in ours):.1f}",
                         f"{max(one.peak_mb for one in ours):,.0f}"])  # fmt: skip
    head = ["requests", "product, CPU µs/request", "raw limit, CPU µs/request", "ratio", "wall s", "peak MB"]
    return f"{COST_TEXT}\n\n{table(head, rows)}\n\n{load_of(every)}", worst


def clock_section(chosen: argparse.Namespace) -> str:
    """The table of errors: the median of the rounds, and the best of them in brackets."""
    with mock_server(*clock.SERVER) as port:
        url = f"http://127.0.0.1:{port}"
        measures: dict[tuple[str, int], Callable[[], clock.Errors]] = {}
        for streams in chosen.streams:
            measures["**product**", streams] = functools.partial(clock.product, port, streams)
            for client, title in (("aiohttp", "aiohttp"), ("openai", "openai SDK")):
                if client in chosen.clients:
                    command = library_command(client, url)
                    measures[title, streams] = functools.partial(clock.library, port, streams, command)
        found: dict[tuple[str, int], list[clock.Errors]] = {key: [] for key in measures}
        for _ in range(chosen.rounds):
            for key, measure in measures.items():
                found[key].append(measure())
                print(".", end="", file=sys.stderr, flush=True)
    rows = []
    for (title, streams), seen in found.items():
        cells = []
        for part in ("ttft_mean", "ttft_p50", "ttft_p99", "gap_p99"):
            values = [getattr(one, part) for one in seen]
            cells.append(f"{median(values):,.2f} ({min(values, key=abs):,.2f})")
        rows.append([title, f"{streams:,}", *cells])
    head = ["client", "streams", "TTFT mean", "TTFT p50", "TTFT p99", "gap p99"]
    load = f"Load of the machine over five minutes: {os.getloadavg()[1]:.1f}." if hasattr(os, "getloadavg") else ""
    return f"{CLOCK_TEXT}\n\n{table(head, rows)}\n\n{load}"


def ask_peer(peer: Peer, port: int, requests: int, in_flight: int) -> Cost:
    """Let a peer do the job in a folder of its own."""

    def run(folder: Path) -> Cost:
        write_job(folder, port, requests)
        job = Job(folder, f"http://127.0.0.1:{port}", requests, in_flight)
        cost = measured(peer.command(job), folder, peer.environ)
        peer.check(job)
        return cost

    return counted(port, requests * peer.posts, run)


def peers_section(chosen: argparse.Namespace) -> str:
    """The table of peers; one that cannot be installed or does not do the work is listed with the reason."""
    rows, missing, every = [], [], []
    wanted = [peer for peer in PEERS if not chosen.peers or any(word in peer.title for word in chosen.peers)]
    with mock_server() as port:
        for peer in wanted:
            size = max(100, round(peer.requests * chosen.scale))
            try:
                prepare(peer)
                measures: list[Measure] = [
                    functools.partial(product, port, size, chosen.in_flight),
                    functools.partial(ask_peer, peer, port, size, chosen.in_flight),
                ]
                ours, theirs = turns(measures, chosen.rounds)
            except (Failed, OSError, LookupError, ValueError) as reason:
                missing.append(f"- {peer.title}: {plain(str(reason))}")
                continue
            every += [*ours, *theirs]
            rows.append([peer.title, f"{size:,}", us(theirs, size), us(ours, size), f"{ratio(theirs, ours):.2f}",
                         f"{max(one.peak_mb for one in theirs):,.0f}", peer.does])  # fmt: skip
    head = ["peer", "requests", "CPU µs/request", "product", "peer ÷ product", "peak MB", "what it does"]
    skipped = "\n\nSkipped:\n" + "\n".join(missing) if missing else ""
    load = f"\n\n{load_of(every)}" if every else ""
    return f"{PEERS_TEXT}\n\n{table(head, rows)}{load}{skipped}"


def plain(words: str) -> str:
    """One line of at most 200 characters without addresses and paths: it goes into a page."""
    return " ".join(word for word in words.split() if "/" not in word)[:200]


def circumstances(rounds: int) -> str:
    """Kind of machine and versions; nothing that names the machine."""
    loop = "uvloop" if importlib.util.find_spec("uvloop") else "asyncio's own loop"
    return (
        f"Measured {datetime.datetime.now(datetime.UTC):%Y-%m-%d} by `make bench`: {platform.machine()}, "
        f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {loop}, product "
        f"{importlib.metadata.version('agent-vendor-verifier')}; medians of {rounds} rounds, ranges in brackets."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="what to measure (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, nargs="+", default=[1_000, 5_000, 20_000], help="sizes of cost")
    parser.add_argument("--in-flight", type=int, default=100, help="of cost and peers")
    parser.add_argument("--at-most", type=float, help="cost: fail above this many raw limits")
    parser.add_argument("--streams", type=int, nargs="+", default=[100, 500], help="of clock")
    parser.add_argument("--clients", nargs="*", default=["aiohttp", "openai"], help="libraries in the table of clock")
    parser.add_argument("--peers", nargs="+", help="only peers whose name contains one of these words")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the peers' numbers of requests")
    parser.add_argument("--write", action="store_true", help="write RESULTS.md (all three kinds)")
    chosen = parser.parse_args()
    kinds = chosen.kinds or KINDS
    sections: dict[str, str] = {}
    worst = 0.0
    try:
        if "cost" in kinds:
            sections["Cost"], worst = cost_section(chosen)
            if chosen.at_most is not None and worst > chosen.at_most:
                print("once more, in case something else was at work", file=sys.stderr)
                sections["Cost"], again = cost_section(chosen)
                worst = min(worst, again)
        if "clock" in kinds:
            if chosen.clients:
                prepare(PEERS[0])
            sections["Clock"] = clock_section(chosen)
        if "peers" in kinds:
            sections["Peers"] = peers_section(chosen)
    except NoCompiler as reason:
        print(f"skipped: {reason}")
        return 0
    page = "\n\n".join(f"## {heading}\n\n{text}" for heading, text in sections.items())
    page = f"# Results\n\n{circumstances(chosen.rounds)}\n\n{page}\n"
    print(page)
    if chosen.write:
        RESULTS.write_text(page)
    if chosen.at_most is not None and worst > chosen.at_most:
        print(f"too dear: {worst:.2f} times the raw protocol, allowed are {chosen.at_most:g}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
