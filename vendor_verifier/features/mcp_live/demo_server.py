"""A small MCP server over a made-up world, for demonstrations and tests: weather, shares, money, a calendar, people.

``python -m vendor_verifier.features.mcp_live.demo_server`` speaks over its pipes, with ``--http PORT`` over streamable
HTTP on loopback. It opens no file and no other connection and keeps nothing: each call returns what it always returns.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Annotated, Literal, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

Known = TypeVar("Known")

Currency = Annotated[str, Field(description="Three letters, such as EUR")]
Day = Annotated[str, Field(description="YYYY-MM-DD")]

# City → degrees Celsius now, sky.
_WEATHER = {
    "oslo": (-3, "snow"), "lisbon": (17, "clear"), "nairobi": (24, "cloudy"), "osaka": (11, "rain"),
    "lima": (19, "fog"), "toronto": (1, "cloudy"),
}  # fmt: skip
_SHARES = {"ACME": (182.4, "USD"), "GLOBX": (47.15, "USD"), "INITR": (12.8, "EUR"), "HOOLI": (1093.0, "USD")}
# Units of a currency for one euro.
_RATES = {"EUR": 1.0, "USD": 1.08, "NOK": 11.7, "JPY": 162.0, "KES": 139.5, "GBP": 0.84}
# Day → (start, minutes, title).
_EVENTS = {
    "2027-03-01": [("09:00", 60, "Planning"), ("13:30", 45, "Interview")],
    "2027-03-02": [("10:00", 30, "Dentist")],
    "2027-03-03": [],
}
_PEOPLE = {"ada lund": "ada.lund@example.org", "kofi mensah": "kofi.mensah@example.org", "mei sato": "mei@example.org"}

server = MCPServer("demo", version="1.0", instructions="A made-up world; nothing here is real.", log_level="CRITICAL")


@server.tool()
def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """The weather in a city now."""
    degrees, sky = _known(_WEATHER, city, "city")
    shown = degrees if unit == "celsius" else round(degrees * 9 / 5 + 32)
    return f"{city}: {shown} degrees {unit}, {sky}"


@server.tool()
def get_forecast(city: str, days: Annotated[int, Field(ge=1, le=5)]) -> list[dict[str, str | int]]:
    """Temperatures (Celsius) of a city for the next 1 to 5 days."""
    degrees, sky = _known(_WEATHER, city, "city")
    return [{"day": day, "celsius": degrees + day % 3, "sky": sky} for day in range(1, days + 1)]


@server.tool()
def get_stock_price(symbol: Annotated[str, Field(description="Ticker symbol, such as ACME")]) -> dict[str, str | float]:
    """The last price of a share."""
    price, currency = _known(_SHARES, symbol, "symbol")
    return {"symbol": symbol.upper(), "price": price, "currency": currency}


@server.tool()
def get_exchange_rate(from_currency: Currency, to_currency: Currency) -> float:
    """The amount of one currency that one unit of another buys."""
    return round(_known(_RATES, to_currency, "currency") / _known(_RATES, from_currency, "currency"), 4)


@server.tool()
def list_events(day: Day) -> list[dict[str, str | int]]:
    """The events of a day in the calendar."""
    return [
        {"start": start, "minutes": minutes, "title": title} for start, minutes, title in _EVENTS.get(_day(day), [])
    ]


@server.tool()
def create_event(
    title: str, day: Day, start: Annotated[str, Field(description="HH:MM")], minutes: int
) -> dict[str, str]:
    """Put an event into the calendar. Returns its id."""
    end = datetime.fromisoformat(f"{_day(day)}T{start}") + timedelta(minutes=minutes)
    made = hashlib.sha256(f"{title}|{day}|{start}|{minutes}".encode()).hexdigest()[:8]
    return {"id": f"ev-{made}", "ends": end.isoformat(timespec="minutes")}


@server.tool()
def find_contact(name: str) -> dict[str, str]:
    """The e-mail address of a person."""
    return {"name": name, "email": _known(_PEOPLE, name, "person")}


@server.tool()
def send_message(to: Annotated[str, Field(description="E-mail address")], text: str) -> str:
    """Send a message; here it goes nowhere."""
    return f"{len(text)} characters would be sent to {to}"


@server.tool()
def today() -> str:
    """The date in this world."""
    return "2027-03-01"


def _known(table: Mapping[str, Known], word: str, kind: str) -> Known:
    """The entry of a table under a word of any case.

    Raises:
        ToolError: there is none; a model reads which there are.
    """
    found = next((value for name, value in table.items() if name.casefold() == word.strip().casefold()), None)
    if found is None:
        raise ToolError(f"no {kind} {word!r:.60}; there is {', '.join(table)}")
    return found


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise ToolError(f"read {text!r:.60}; a day is YYYY-MM-DD") from None


def main() -> None:
    """Serve until the input ends, or over HTTP until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--http", type=int, metavar="PORT", help="streamable HTTP on 127.0.0.1 instead of pipes")
    port = parser.parse_args().http
    if port is None:
        server.run("stdio")
    else:
        sys.stdout.write(f"http://127.0.0.1:{port}/mcp\n")
        sys.stdout.flush()
        server.run("streamable-http", port=port)


if __name__ == "__main__":
    main()
