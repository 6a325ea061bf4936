"""The vendors page's example: a plugin file of ten lines, found in a folder, against a simulated vendor."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

from questions import WEATHER

from vendor_verifier.features.simulate.server import SimulatedVendors
from vendor_verifier.registry import find_vendors
from vendor_verifier.transport.httpx_client import Transport
from vendor_verifier.transport.policy import ProgressMeter, Sending
from vendor_verifier.values.plan import Limits
from vendor_verifier.values.request import Endpoint, Turn
from vendor_verifier.wire.parse_answer import read_answer

PLUGIN = '''"""A vendor on this machine."""

from vendor_verifier.vendor import OpenAICompatible


class Nearby(OpenAICompatible):
    name = "nearby"
    base_url = "{url}"
'''


def test_ten_lines_are_a_vendor(tmp_path: Path) -> None:
    """The plugin is found, asks, and its answer is read and timed; nothing else had to be written."""

    async def check() -> None:
        async with SimulatedVendors(speed=20.0) as vendors, Transport(Limits()) as transport:
            text = PLUGIN.format(url=vendors.base_url("faithful"))
            assert len(text.splitlines()) <= 10
            (tmp_path / "nearby.py").write_text(text, encoding="utf-8")
            vendor = find_vendors([tmp_path]).vendor("nearby")
            assert vendor.base_url is not None
            turn = Turn(({"role": "user", "content": "Bern?"},), (WEATHER,), {"tool_choice": "required"})
            request = vendor.wire.request(turn, Endpoint(vendor.base_url, "simulated-model"))
            meter = ProgressMeter(vendor.wire.reader())
            exchange = await transport.exchange(Sending(request, meter, time.perf_counter_ns()))
            timing, response, failure = read_answer(exchange, vendor.wire.reader(), classify=vendor.classify)
            assert failure is None
            assert response is not None
            assert timing.first_token_ns is not None
            assert {call.name for call in response.tool_calls} == {"get_weather"}
            assert "city" in json.loads(response.tool_calls[0].arguments)

    asyncio.run(check())
