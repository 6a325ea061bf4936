"""The simulated vendors on loopback: ``http://127.0.0.1:PORT/<persona>/v1/chat/completions``.

``python -m vendor_verifier.features.simulate.server SEED SPEED`` serves a run: the first line of stdin brings the
answers that the vendors know, and the process ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any

from vendor_verifier.errors import VerifierError
from vendor_verifier.features.simulate.model import (
    PERSONAS,
    ROOM,
    Answer,
    Body,
    Draw,
    Persona,
    RightCalls,
    answer_to,
    problem_of,
)
from vendor_verifier.records.plan import Plan, Task
from vendor_verifier.records.sample import Sample
from vendor_verifier.suites import TRIGGER, next_asked

Objects = Sequence[Mapping[str, Any]]
# By the digest of a question whether to call, or the right calls.
AnswerKey = dict[str, bool | RightCalls]

_PATIENCE_S = 10.0
_STREAM = b"HTTP/1.1 200 -\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_WHOLE = "HTTP/1.1 {} -\r\ncontent-type: application/json\r\ncontent-length: {}{}\r\n\r\n"


def digest(messages: Objects, tools: Objects) -> str:
    """16 hexadecimal digits for what user and system said (no calls, no results) and for the names of the tools."""
    said = [[each.get("role"), each.get("content")] for each in messages if each.get("role") in ("user", "system")]
    content = json.dumps([said, [tool["function"]["name"] for tool in tools]], sort_keys=True)
    return sha256(content.encode()).hexdigest()[:16]


def known_answers(tasks: Sequence[Task]) -> AnswerKey:
    """The key to the rows of these tasks; of two equal questions the first counts."""
    from vendor_verifier.pipeline.suites import ready_suite

    key: AnswerKey = {}
    # Rows that only say whether to call come last: another evaluation may know the calls.
    for task in sorted(tasks, key=lambda task: task.suite == TRIGGER):
        suite = ready_suite(task.suite, task.options, task.samples)
        for sample in task.samples:
            # As the evaluation words it, which may be a text that lists the tools.
            turn = next_asked(suite.play(sample), None, lambda _step: ())
            if (answer := _right_answer(sample)) is not None:
                key.setdefault(digest(turn.messages, turn.tools), answer)
    return key


def _right_answer(sample: Sample) -> bool | RightCalls | None:
    """The right answer to a row; None where it does not say it, as for a conversation of several turns."""
    from vendor_verifier.suites.bfcl.function_docs import reference_calls
    from vendor_verifier.suites.calls import first_problem, read_calls

    expected = sample.expected
    if "calls" in expected:
        stated = read_calls(expected["calls"])
        return None if first_problem(stated) else [(each.name, dict(each.parameters)) for each in stated]
    if "functions" in expected:
        calls = reference_calls(expected)
        # Where any call is right, the row states no arguments.
        return True if calls and not expected.get("answer") else calls
    return expected.get("expected_tool_call")


class Vendors:
    """All vendors of one seed, ``speed`` times as fast as their personas."""

    def __init__(self, key: AnswerKey, *, seed: int = 0, speed: float = 1.0) -> None:
        self.key, self.seed, self.speed = key, seed, speed
        self.in_flight = Counter[str]()
        self.asked, self.refused = Counter[tuple[str, str]](), Counter[tuple[str, str]]()

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        # A client that left, or that does not speak HTTP, ends the connection.
        with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, ValueError, IndexError):
            goes_on = True
            while goes_on:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
                length = next((line.partition(":")[2] for line in lines if line.startswith("content-length:")), "0")
                data = await reader.readexactly(int(length))
                name, _, path = lines[0].split()[1].strip("/").partition("/")
                self.in_flight[name] += 1
                try:
                    goes_on = await self.respond(writer, name, path, data)
                finally:
                    self.in_flight[name] -= 1
        writer.close()

    async def respond(self, writer: asyncio.StreamWriter, name: str, path: str, data: bytes) -> bool:
        """Answer one request; whether the connection can go on."""
        began = time.monotonic()
        if name not in PERSONAS or path != "v1/chat/completions":
            return _reply(writer, 404, f"nothing is served here; the vendors are {', '.join(PERSONAS)}")
        persona, beyond = PERSONAS[name], max(0, self.in_flight[name] - ROOM)
        persona = persona.crowd if persona.crowd and beyond else persona
        if persona.refusal is not None:
            return _reply(writer, persona.refusal, f"simulated: {name} answers {persona.refusal}")
        body: Any = json.loads(data) if data else None
        if problem := problem_of(body):
            return _reply(writer, 400, problem)
        messages, tools = body["messages"], body.get("tools") or ()
        question = digest([{"role": "user", "content": [messages, body.get("tool_choice")]}], tools)
        place = (name, question)

        def draw(*words: object) -> random.Random:
            return random.Random(f"{self.seed} {question} {words}")  # noqa: S311 scripted behaviour, not cryptography

        luck = draw("burst").random()
        if self.refused[place] < (luck < persona.burst_rate) + (luck < persona.burst_rate / 4):
            self.refused[place] += 1
            status = draw("refusal").choice([429, 429, 503, 500])
            return _reply(writer, status, "simulated: try again", 0 if status == 500 else 100 / self.speed)
        # Whoever asks the same next is refused again, so that a run can be repeated.
        del self.refused[place]
        self.asked[place] += 1
        answer = answer_to(body, draw, persona, self.key.get(digest(messages, tools)), self.asked[place])
        # All is cut into pieces before the first wait, so that sending costs next to nothing.
        steps, ending = timed(body, draw, persona, answer, persona.wait_s * beyond)
        for at_s, piece in steps:
            await asyncio.sleep(began + at_s / self.speed - time.monotonic())
            writer.write(piece)
        if ending == "early" and body.get("stream"):
            writer.write(b"0\r\n\r\n")
        elif ending == "reset":
            # Without lingering the kernel sends a reset instead of a close.
            no_linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_linger)
            writer.transport.abort()
        return ending == "complete"


def timed(
    body: Body, draw: Draw, persona: Persona, answer: Answer, late_s: float
) -> tuple[list[tuple[float, bytes]], str]:
    """Seconds after the request and what is sent then; the end: ``complete``, ``early``, ``closed`` or ``reset``."""
    dice, (low, high) = draw("pace"), persona.first_token_s
    first_s = late_s + low + (high - low) * dice.random()
    # Short answers take as long as 50 tokens, or a busy client could not tell them from buffered ones.
    decode_s = (0.8 + 0.4 * dice.random()) * max(50, answer.usage["completion_tokens"]) / persona.tokens_per_s
    opening, pieces, closing = _written(body, persona.served_model or body.get("model"), answer)
    ending, gap_s = "complete", decode_s / max(1, len(pieces) - 1)
    if draw("cut").random() < persona.cut_rate:
        pieces, closing = pieces[: max(1, int(len(pieces) * (0.4 + 0.4 * dice.random())))], b""
        ending = dice.choice(["early", "early", "closed", "reset"])
    if persona.buffers or not body.get("stream"):
        return [(first_s + decode_s, b"".join((opening, *pieces, closing)))], ending
    pieces[-1] += closing
    return [(0.6 * first_s, opening), *((first_s + at * gap_s, piece) for at, piece in enumerate(pieces))], ending


def _written(body: Body, model: str | None, answer: Answer) -> tuple[bytes, list[bytes], bytes]:
    """The opening of a reply, its tokens in up to 25 pieces, and its closing."""
    token = os.urandom(12).hex()
    head = {"id": f"chatcmpl-{token}", "created": int(time.time()), "model": model}
    calls: list[dict[str, Any]] = [
        {"index": at, "id": f"call_{token}{at}", "type": "function", "function": {"name": name, "arguments": text}}
        for at, (name, text) in enumerate(answer.calls)
    ]
    if not body.get("stream"):
        message = {"role": "assistant", "content": answer.text or None, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": answer.finish}
        data = json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": answer.usage}).encode()
        return _WHOLE.format(200, len(data), "").encode(), [data[:99], data[99:]], b""

    def event(delta: dict[str, Any] | None, finish: str | None = None, **more: object) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        data = json.dumps({**head, "object": "chat.completion.chunk", "choices": choices, **more}).encode()
        return b"%x\r\ndata: %b\n\n\r\n" % (len(data) + 8, data)

    size = len(answer.text) + sum(len(text) for _, text in answer.calls)
    step = max(1, -(-size // min(max(answer.usage["completion_tokens"] // 4, 8), 25)))
    deltas: list[dict[str, Any]] = [{"content": answer.text[at : at + step]} for at in range(0, len(answer.text), step)]
    for call in calls:
        text = call["function"]["arguments"]
        deltas.append({"tool_calls": [{**call, "function": {**call["function"], "arguments": ""}}]})
        parts = ({"arguments": text[at : at + step]} for at in range(0, len(text), step))
        deltas += [{"tool_calls": [{"index": call["index"], "function": part}]} for part in parts]
    closing = event({}, answer.finish)
    if (body.get("stream_options") or {}).get("include_usage"):
        closing += event(None, usage=answer.usage)
    opening = _STREAM + event({"role": "assistant"})
    return opening, list(map(event, deltas)) or [b""], closing + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


def _reply(writer: asyncio.StreamWriter, status: int, message: str, wait_ms: float = 0) -> bool:
    """Send an error at once; the connection can go on."""
    data = json.dumps({"error": {"message": message, "type": "simulated_error"}}).encode()
    hint = f"\r\nretry-after: 0\r\nretry-after-ms: {wait_ms:.0f}" if wait_ms else ""
    writer.write(_WHOLE.format(status, len(data), hint).encode() + data)
    return True


async def serve(vendors: Vendors, port: int = 0) -> None:
    """Serve on loopback until cancelled and print where; a run reads the first line. OSError: the port is taken."""
    server = await asyncio.start_server(vendors.connection, "127.0.0.1", port, backlog=512, limit=2**20)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    lines = [f"  {address}/{name}/v1  {each.description}" for name, each in PERSONAS.items()]
    print(f"simulated vendors at {address}", *lines, sep="\n", flush=True)
    async with server:
        await server.serve_forever()


@contextmanager
def served(plan: Plan, speed: float = 1.0) -> Iterator[str]:
    """The address of vendors that know the answers to a plan's rows, in a process of their own, which ends with the
    block. They get the answers over a pipe, so that no user's rows are left in a file.

    Raises VerifierError where they do not start.
    """
    # -P keeps modules of the current folder out.
    command = [sys.executable, "-P", "-m", __name__, str(plan.seed), str(speed)]
    pipe = subprocess.PIPE
    # Not in the terminal's group, since answers under way must still come in after Ctrl-C; it ends with its input.
    with subprocess.Popen(command, stdout=pipe, stdin=pipe, text=True, start_new_session=True) as process:  # noqa: S603
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with suppress(BrokenPipeError):  # it has ended already, which its output says
                process.stdin.write(json.dumps(known_answers(plan.tasks)) + "\n")
                process.stdin.flush()
            line = process.stdout.readline()
            if "http://" not in line:
                raise VerifierError(f"the simulated vendors did not start: {line.strip() or 'no answer'}")
            yield line[line.index("http://") :].strip()
        finally:
            process.terminate()
            try:
                process.wait(timeout=_PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()


def main() -> None:
    """Serve one run until stdin closes or a signal comes."""
    seed, speed = int(sys.argv[1]), float(sys.argv[2])
    vendors = Vendors(json.loads(sys.stdin.buffer.readline()), seed=seed, speed=speed)
    threading.Thread(target=lambda: os._exit(len(sys.stdin.buffer.read())), daemon=True).start()
    asyncio.run(serve(vendors))


if __name__ == "__main__":
    main()
