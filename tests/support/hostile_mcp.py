"""An MCP server without the SDK that misbehaves in the way its argument names; run as a program."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
LOG = {"level": "info", "data": "w" * 60_000}
ECHO = {"name": "echo", "description": "Says it.", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}}


def write(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(number: object, result: object) -> None:
    write({"jsonrpc": "2.0", "id": number, "result": result})


def tools_of(way: str) -> list[dict[str, Any]]:
    """The tools that are listed."""
    if way == "many_tools":
        return [ECHO, *({**ECHO, "name": f"tool_{number:05}"} for number in range(10_000))]
    if way == "no_object":
        return [{**ECHO, "inputSchema": {"type": "array"}}]
    if way == "long_schema":
        return [{**ECHO, "inputSchema": {**SCHEMA, "description": "x" * 100_000}}]
    if way == "bad_schema":
        return [{**ECHO, "inputSchema": "anything"}]
    if way == "long_description":
        return [{**ECHO, "description": "y" * 1_000_000}]
    return [ECHO]


def call(way: str, number: object, arguments: dict[str, Any]) -> None:  # noqa: C901 one way after the other
    """Answer a call, or do not."""
    text = str(arguments.get("x"))
    if way == "hang_at_call":
        time.sleep(600)
    if way == "die_at_call":
        os._exit(7)
    if way == "die_once" and not Path(sys.argv[2]).exists():
        Path(sys.argv[2]).touch()
        os._exit(7)
    if way == "huge_message":
        text = "z" * 100_000_000
    if way == "large_result":
        text = "ä" * 200_000
    if way == "flood":
        while True:
            write({"jsonrpc": "2.0", "method": "notifications/message", "params": LOG})
    if way == "garbage_at_call":
        for _ in range(5_000):
            write("this is no message")
    if way == "no_result":
        answer(number, {"nothing": 1})
        return
    if way == "protocol_error":
        write({"jsonrpc": "2.0", "id": number, "error": {"code": -32602, "message": "x is not to my taste"}})
        return
    if way == "environment":
        text = json.dumps(dict(os.environ))
    if way == "picture":
        answer(number, {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]})
        return
    if way == "asks_back":
        write({"jsonrpc": "2.0", "id": 99, "method": "sampling/createMessage", "params": {"messages": []}})
    answer(number, {"content": [{"type": "text", "text": text}], "isError": way == "tool_error"})


def main() -> None:
    way = sys.argv[1]
    if way == "hang_at_start":
        time.sleep(600)
    if way == "die_at_start":
        sys.stderr.write("no licence \x1b[31mfound\n")
        sys.exit(5)
    if way == "noisy":
        write("Welcome to my server!")
        sys.stderr.write("log\n" * 500_000)
    for line in sys.stdin:
        asked = json.loads(line)
        method, number = asked.get("method"), asked.get("id")
        if method == "initialize":
            info = {"name": "hostile", "version": "1"}
            answer(number, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "tools/list":
            endless = {"nextCursor": "again"} if way == "endless_pages" else {}
            answer(number, {"tools": tools_of(way), **endless})
        elif method == "tools/call":
            call(way, number, asked["params"].get("arguments") or {})
        elif number is not None and method is not None:
            write({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no such method"}})


if __name__ == "__main__":
    main()
