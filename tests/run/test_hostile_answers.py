"""From the socket to the disk no callback of a run keeps the event loop for long, whatever a vendor answers."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from asking import KEY, entry, plan_of, queue_of, samples
from costs import least_of
from fault_server import DONE, delta, say, serving, sized, text, whole

from vendor_verifier.records.plan import RetryRules
from vendor_verifier.redaction import MASK, Scrubber
from vendor_verifier.run.journal import Journal
from vendor_verifier.run.local import run_local
from vendor_verifier.store import RunFolder, encode_record


@contextmanager
def watched_callbacks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Seconds of this thread's processor time that each callback of its loop takes; a garbage collection is nobody's
    work."""
    took_s: list[float] = []
    here, run = threading.get_ident(), asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began_s = time.thread_time()
        run(handle)
        if threading.get_ident() == here:
            took_s.append(time.thread_time() - began_s)

    gc.disable()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(asyncio.Handle, "_run", timed)
            yield took_s
    finally:
        gc.enable()


pytestmark = pytest.mark.anyio

K = 1024
# Of processor time: encoding and writing a megabyte of control characters takes half of it.
LONGEST_S = 0.03
ECHO = KEY + " "
# Keys of other vendors, which a record is searched for as well.
OTHERS = [f"sk-{number:048x}"[::-1] for number in range(1_000_003, 1_000_043)]


def call(index: int, arguments: str, begin: str = "c") -> bytes:
    made = {"index": index, "id": f"{begin}{index}", "function": {"name": "f", "arguments": arguments}}
    return delta(None, tool_calls=[made])


def random_text(length: int, seed: int) -> str:
    """Nothing that compresses well."""
    return "".join(map(chr, random.Random(seed).choices(range(0x4E00, 0x9FFF), k=length)))


ANSWERS: dict[str, Callable[[], bytes]] = {
    "our key 20,000 times": lambda: sized(b"".join([text(ECHO * 200, None)] * 100) + text("!") + DONE),
    "our key in one body": lambda: whole(
        {"choices": [{"message": {"content": ECHO * 20_000}, "finish_reason": "stop"}]}
    ),
    "the end of our key, everywhere": lambda: sized(b"".join([text(KEY[-8:] * 500, None)] * 200) + text("!") + DONE),
    "a long answer": lambda: sized(b"".join([text("a long answer " * 400, None)] * 150) + text("!") + DONE),
    "control characters in one event": lambda: sized(text("\x01" * (1000 * K)) + DONE),
    "calls with long ids": lambda: sized(b"".join(call(n, "{}", "c" * 490) for n in range(1000)) + DONE),
    "characters at random": lambda: sized(b"".join([text(random_text(5000, n), None) for n in range(200)]) + DONE),
    "deep arguments": lambda: sized(call(0, "[" * 100_000) + call(0, "]" * 100_000) + text("") + DONE),
    "a body of figures": lambda: whole(b'{"choices":[' + b"1," * (500 * K) + b"1]}"),
}


@pytest.mark.parametrize("answer", ANSWERS)
async def test_no_answer_holds_up_the_event_loop(answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked, read, scrubbed of forty keys, written: each step takes a moment of processor time, and no key is kept."""
    said = ANSWERS[answer]()
    folders = (RunFolder(tmp_path / str(number)) for number in range(100))

    async def longest_s() -> float:
        folder = next(folders)
        folder.create()
        scrubber = Scrubber([KEY, *OTHERS])
        with serving(lambda *_: say(said, end="close")) as server, Journal(folder) as journal:
            one = entry(server, "a")
            plan = plan_of([one], samples(1), retry=RetryRules(0))
            with watched_callbacks(monkeypatch) as took_s:
                await run_local(plan, queue_of([one], samples(1)), "run", journal.append, scrubber)
        (record,) = folder.read_records(pytest.fail)
        stored = encode_record(record).decode()
        assert KEY not in stored
        assert (MASK in stored) == answer.startswith(("our key", "the end of our key"))
        return max(took_s)

    assert await least_of(longest_s, LONGEST_S) < LONGEST_S
