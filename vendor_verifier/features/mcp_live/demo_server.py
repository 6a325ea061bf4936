"""A small MCP server over a made-up world, for demonstrations and tests; ``server: demo`` starts it."""

from datetime import date, datetime, timedelta
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from pydantic import Field

_WEATHER = {"Oslo": (-3, "snow"), "Lisbon": (17, "clear"), "Nairobi": (24, "cloudy"), "Osaka": (11, "rain"),
            "Lima": (19, "fog"), "Toronto": (1, "cloudy")}  # fmt: skip
_SHARES = {"ACME": (182.4, "USD"), "GLOBX": (47.15, "USD"), "INITR": (12.8, "EUR"), "HOOLI": (1093.0, "USD")}
# Units of a currency for one euro.
_RATES = {"EUR": 1.0, "USD": 1.08, "NOK": 11.7, "JPY": 162.0, "KES": 139.5, "GBP": 0.84}
_EVENTS = {date(2027, 3, 1): "09:00 Planning, 13:30 Interview", date(2027, 3, 2): "10:00 Dentist"}
_PEOPLE = {"Ada Lund": "ada.lund@example.org", "Kofi Mensah": "kofi.mensah@example.org", "Mei Sato": "mei@example.org"}


def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """The weather in a city now."""
    degrees, sky = _WEATHER[city.title()]
    return f"{city}: {degrees if unit == 'celsius' else round(degrees * 9 / 5 + 32)} degrees {unit}, {sky}"


def get_forecast(city: str, days: Annotated[int, Field(ge=1, le=5)]) -> str:
    """Temperatures (Celsius) of a city for the next 1 to 5 days."""
    degrees, sky = _WEATHER[city.title()]
    return "\n".join(f"day {day}: {degrees + day % 3} degrees, {sky}" for day in range(1, days + 1))


def get_stock_price(symbol: str) -> str:
    """The last price of a share, by its ticker symbol, such as ACME."""
    return "{} {}".format(*_SHARES[symbol.upper()])


def get_exchange_rate(from_currency: str, to_currency: str) -> float:
    """The amount of one currency that one unit of another buys; three letters each, such as EUR."""
    return round(_RATES[to_currency.upper()] / _RATES[from_currency.upper()], 4)


def list_events(day: date) -> str:
    """The events of a day in the calendar."""
    return _EVENTS.get(day, "no events")


def create_event(title: str, day: date, start: Annotated[str, Field(description="HH:MM")], minutes: int) -> str:
    """Put an event into the calendar."""
    end = datetime.fromisoformat(f"{day}T{start}") + timedelta(minutes=minutes)
    return f"{title} would end at {end.isoformat(timespec='minutes')}"


def find_contact(name: str) -> str:
    """The e-mail address of a person."""
    return _PEOPLE[name.title()]


def send_message(to: Annotated[str, Field(description="E-mail address")], text: str) -> str:
    """Send a message; here it goes nowhere."""
    return f"{len(text)} characters would be sent to {to}"


def today() -> str:
    """The date in this world."""
    return "2027-03-01"


server = MCPServer("demo", version="1.0", instructions="A made-up world; nothing here is real.", log_level="CRITICAL")
for _tool in (get_weather, get_forecast, get_stock_price, get_exchange_rate, list_events, create_event, find_contact,
              send_message, today):  # fmt: skip
    server.tool()(_tool)

if __name__ == "__main__":
    server.run("stdio")
