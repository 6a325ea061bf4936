"""The simulated vendors on loopback: ``http://127.0.0.1:PORT/<persona>/v1/chat/completions``.

``python -m vendor_verifier.features.simulate.server SEED [SPEED]`` serves a run: one line of stdin brings the answers
that the vendors know, and the process ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from vendor_verifier.features.simulate.answer_key import AnswerKey, digest
from vendor_verifier.features.simulate.model import Answer, Question, answer_to, problem_of
from vendor_verifier.features.simulate.personas import PERSONAS, Persona
from vendor_verifier.pipeline.simulated_vendors import READY_PREFIX

HOST = "127.0.0.1"
# Answers of fewer tokens take as long as this many, or a busy client could not tell them from buffered ones.
_LEAST_PACED_TOKENS = 50


class Vendors:
    """All vendors of one seed, at ``speed`` times their pace."""

    def __init__(self, key: AnswerKey, *, seed: int = 0, speed: float = 1.0) -> None:
        self.key, self.seed, self.speed = key, seed, speed
        self.in_flight: Counter[str] = Counter()
        self.asked: Counter[tuple[str, str]] = Counter()
        self.refused: Counter[tuple[str, str]] = Counter()

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, one after the other."""
        try:
            goes_on = True
            while goes_on:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
                length = next((line.partition(":")[2] for line in lines if line.startswith("content-length:")), "0")
                body = await reader.readexactly(int(length))
                name, _, path = lines[0].split()[1].strip("/").partition("/")
                self.in_flight[name] += 1
                try:
                    goes_on = await self.respond(writer, name, path, body)
                finally:
                    self.in_flight[name] -= 1
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError, IndexError):
            pass  # a client that left, or that does not speak HTTP
        finally:
            writer.close()

    async def respond(self, writer: asyncio.StreamWriter, name: str, path: str, data: bytes) -> bool:
        """Answer one request; whether the connection can go on."""
        began = time.monotonic()
        if name not in PERSONAS or path not in ("v1/chat/completions", "v1/models"):
            return _reply(writer, 404, f"nothing is served here; the vendors are {', '.join(PERSONAS)}")
        persona = PERSONAS[name].among(self.in_flight[name])
        if persona.refusal is not None:
            return _reply(writer, persona.refusal, f"simulated: {persona.description}")
        if path == "v1/models":
            listed = {"id": persona.served_model or "simulated-model", "object": "model", "owned_by": name}
            return _reply(writer, 200, {"object": "list", "data": [listed]})
        try:
            body = json.loads(data)
        except ValueError:
            body = None
        if problem := problem_of(body):
            return _reply(writer, 400, problem)
        question = self._question(name, body)
        if refusal := self._burst(question, persona, name):
            return _reply(writer, *refusal)
        answer = answer_to(question, persona, self.key)
        return await self._send(writer, question, persona, answer, began)

    def _question(self, name: str, body: Any) -> Question:
        whole = digest(
            [{"role": "user", "content": [body["messages"], body.get("tool_choice")]}], body.get("tools") or ()
        )
        self.asked[name, whole] += 1
        return Question(body, self.seed, whole, self.asked[name, whole])

    def _burst(self, question: Question, persona: Persona, name: str) -> tuple[int, str, int] | None:
        """Status, message and milliseconds to wait of a question that is refused once or twice before it is answered."""
        draw, place = question.chance("burst"), (name, question.digest)
        if self.refused[place] >= (draw < persona.burst_rate) + (draw < persona.burst_rate / 4):
            # The next one who asks is refused first again, so that a run can be repeated on one server.
            del self.refused[place]
            return None
        self.refused[place] += 1
        kind = question.chance("refusal", self.refused[place])
        status = 429 if kind < 0.6 else 503 if kind < 0.9 else 500
        return status, "simulated: try again", 0 if status == 500 else round((50 + 150 * kind) / self.speed)

    async def _send(
        self, writer: asyncio.StreamWriter, question: Question, persona: Persona, answer: Answer, began: float
    ) -> bool:
        """Send an answer at the persona's pace, or cut it off; whether the connection can go on."""
        low, high = persona.first_token_s
        first_s = low + (high - low) * question.chance("first")
        paced = max(answer.output_tokens, _LEAST_PACED_TOKENS)
        decode_s = (0.8 + 0.4 * question.chance("pace")) * paced / persona.tokens_per_s
        model = persona.served_model or question.body.get("model")
        opening, pieces, closing = _written(question, answer, model)
        is_cut = question.chance("cut") < persona.cut_rate
        if is_cut:
            pieces, closing = pieces[: max(1, int(len(pieces) * (0.4 + 0.4 * question.chance("where"))))], b""
        if persona.buffers or not question.body.get("stream"):
            steps = [(first_s + decode_s, opening + b"".join(pieces) + closing)]
        else:
            gap_s = decode_s / max(1, len(pieces) - 1)
            steps = [(first_s + at * gap_s, piece) for at, piece in enumerate(pieces)]
            steps = [(0.6 * first_s, opening), *steps[:-1], (steps[-1][0], steps[-1][1] + closing)]
        for at_s, data in steps:
            await asyncio.sleep(began + at_s / self.speed - time.monotonic())
            writer.write(data)
        how = question.chance("how")
        if not is_cut:
            return True
        if how < 0.5:
            writer.write(b"0\r\n\r\n" if question.body.get("stream") else b"")
        elif how < 0.75:
            # Without lingering the kernel sends a reset instead of a close.
            no_wait = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_wait)
            writer.transport.abort()
        return False


def _written(question: Question, answer: Answer, model: str | None) -> tuple[bytes, list[bytes], bytes]:
    """The bytes of a whole reply: its opening, its pieces and its closing."""
    total = answer.prompt_tokens + answer.output_tokens
    usage = {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.output_tokens, "total_tokens": total}
    token = os.urandom(12).hex()
    head = {"id": f"chatcmpl-{token}", "created": int(time.time()), "model": model}
    calls = [
        {"index": at, "id": f"call_{token}{at}", "type": "function", "function": {"name": name, "arguments": text}}
        for at, (name, text) in enumerate(answer.calls)
    ]
    if not question.body.get("stream"):
        message = {"role": "assistant", "content": answer.text or None, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": answer.finish}
        data = json.dumps({**head, "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
        return _head(200, len(data)), [data[at : at + 100] for at in range(0, len(data), 100)], b""

    def event(delta: dict[str, Any] | None, finish: str | None = None, **more: object) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        value = {**head, "object": "chat.completion.chunk", "choices": choices, **more}
        data = f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode("utf-8", "replace")
        return b"%x\r\n%b\r\n" % (len(data), data)

    size = len(answer.text) + sum(len(text) for _, text in answer.calls)
    step = max(1, -(-size // min(max(answer.output_tokens // 4, 8), 25)))
    deltas: list[dict[str, Any]] = [{"content": answer.text[at : at + step]} for at in range(0, len(answer.text), step)]
    for at, (call, (name, text)) in enumerate(zip(calls, answer.calls, strict=True)):
        deltas.append({"tool_calls": [{**call, "function": {"name": name, "arguments": ""}}]})
        parts = [text[begin : begin + step] for begin in range(0, len(text), step)]
        deltas += [{"tool_calls": [{"index": at, "function": {"arguments": part}}]} for part in parts]
    closing = event({}, answer.finish)
    if (question.body.get("stream_options") or {}).get("include_usage"):
        closing += event(None, usage=usage)
    opening = _head(200, None) + event({"role": "assistant", "content": ""})
    return opening, list(map(event, deltas)) or [b""], closing + b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


def _head(status: int, length: int | None, wait_ms: int = 0) -> bytes:
    """The head of a reply: of a stream where no ``length`` is given."""
    if length is None:
        kind = "content-type: text/event-stream\r\ntransfer-encoding: chunked"
    else:
        kind = f"content-type: application/json\r\ncontent-length: {length}"
    hint = f"retry-after: 0\r\nretry-after-ms: {wait_ms}\r\n" if wait_ms else ""
    return f"HTTP/1.1 {status} -\r\n{hint}{kind}\r\n\r\n".encode()


def _reply(writer: asyncio.StreamWriter, status: int, content: Any, wait_ms: int = 0) -> bool:
    """Send an error message or an object at once; the connection can go on."""
    if isinstance(content, str):
        kind = "invalid_request_error" if status < 500 else "server_error"
        content = {"error": {"message": content, "type": kind, "param": None, "code": None}}
    data = json.dumps(content).encode()
    writer.write(_head(status, len(data), wait_ms) + data)
    return True


async def serve(vendors: Vendors, port: int = 0, ready: Callable[[int], None] = lambda port: None) -> None:
    """Serve until cancelled; ``ready`` gets the port once it is open.

    Raises:
        OSError: the port is taken.
    """
    server = await asyncio.start_server(vendors.connection, HOST, port, backlog=512, limit=2**20)
    ready(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


def announce(port: int) -> None:
    """Print where the vendors are; a run reads the first line."""
    sys.stdout.write(f"{READY_PREFIX}http://{HOST}:{port}\n")
    sys.stdout.writelines(f"  http://{HOST}:{port}/{name}/v1  {each.description}\n" for name, each in PERSONAS.items())
    sys.stdout.flush()


def main() -> None:
    """Serve one run until stdin closes or a signal comes."""
    seed, speed = int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    vendors = Vendors(json.loads(sys.stdin.readline()), seed=seed, speed=speed)

    def end_with_stdin() -> None:
        # Of the descriptor itself: a reader of the buffered stream would hold its lock when the program ends.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end_with_stdin, daemon=True).start()
    asyncio.run(serve(vendors, ready=announce))


if __name__ == "__main__":
    main()
