"""The hand-written material of datasets/samples.jsonl: tools, system prompts and requests; it builds no rows itself.

`TOOLS` is the tool catalogue. `PROMPTS` holds rows written one by one, grouped by category. `TEMPLATES` holds rows
with numbered slots (`{0}`, `{1}`) and the values that fill them. Rows name their tools by catalogue name, separated by
spaces. `make_samples.py` turns all of it into JSON Lines.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Schema = dict[str, Any]


# Shorthand for schemas ----------------------------------------------------------------------------


def text(description: str, **keywords: Any) -> Schema:
    """A string property."""
    return {"type": "string", "description": description, **keywords}


def integer(description: str, **keywords: Any) -> Schema:
    """An integer property."""
    return {"type": "integer", "description": description, **keywords}


def number(description: str, **keywords: Any) -> Schema:
    """A number property."""
    return {"type": "number", "description": description, **keywords}


def flag(description: str) -> Schema:
    """A boolean property."""
    return {"type": "boolean", "description": description}


def pick(description: str, *values: str) -> Schema:
    """A string property limited to the given values."""
    return {"type": "string", "description": description, "enum": list(values)}


def many(items: Schema, description: str, **keywords: Any) -> Schema:
    """An array property."""
    return {"type": "array", "description": description, "items": items, **keywords}


def record(required: str, /, **properties: Schema) -> Schema:
    """An object schema; `required` lists property names separated by spaces."""
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "required": required.split()} if required else schema


def ref(name: str) -> Schema:
    """A reference to a local definition."""
    return {"$ref": f"#/$defs/{name}"}


def bare_tool(name: str, description: str, /, **function: Any) -> Schema:
    """A tool whose `parameters` are given as they are, or left out."""
    return {"type": "function", "function": {"name": name, "description": description, **function}}


def tool(name: str, description: str, required: str, /, **properties: Schema) -> Schema:
    """A tool with an object of parameters."""
    return bare_tool(name, description, parameters=record(required, **properties))


def extend(entry: Schema, **keywords: Any) -> Schema:
    """The same tool with further keywords at the root of its parameters."""
    function = entry["function"]
    return bare_tool(function["name"], function["description"], parameters={**function["parameters"], **keywords})


def closed(entry: Schema) -> Schema:
    """The same tool, refusing properties it does not declare."""
    return extend(entry, additionalProperties=False)


def sealed(schema: Schema) -> Schema:
    """The same object schema, refusing properties it does not declare."""
    return {**schema, "additionalProperties": False}


# Tools --------------------------------------------------------------------------------------------

DAY = {"format": "date"}
ADDRESS = sealed(
    record(
        "street city postal_code country",
        street=text("Street and house number"),
        city=text("City"),
        postal_code=text("Postal code", minLength=3, maxLength=10),
        country=text("ISO 3166 alpha-2 code", pattern="^[A-Z]{2}$", examples=["NL"]),
    )
)
MONEY = record(
    "amount currency",
    amount=number("Amount in major units", exclusiveMinimum=0),
    currency=pick("ISO 4217 code", "EUR", "USD", "GBP", "JPY", "CNY", "CHF"),
)

_TOOLS = (
    # weather
    tool(
        "get_weather",
        "Get the current weather for a city.",
        "city",
        city=text("City name, e.g. Oslo"),
        unit=pick("Temperature unit", "celsius", "fahrenheit"),
    ),
    tool(
        "get_forecast",
        "Get a daily weather forecast.",
        "location days",
        location=text("City or region"),
        days=integer("Number of days, starting today", minimum=1, maximum=14),
    ),
    tool(
        "get_past_weather",
        "Get the observed weather of one past day.",
        "location date",
        location=text("City or region"),
        date=text("Day in the past, YYYY-MM-DD", **DAY),
    ),
    tool("get_air_quality", "Get the current air quality index of a city.", "city", city=text("City name")),
    # travel
    tool(
        "search_flights",
        "Search one-way flights between two airports.",
        "origin destination date",
        origin=text("IATA code of the departure airport", pattern="^[A-Z]{3}$", examples=["AMS"]),
        destination=text("IATA code of the arrival airport", pattern="^[A-Z]{3}$", examples=["LIS"]),
        date=text("Departure date, YYYY-MM-DD", **DAY),
        passengers=integer("Number of passengers", minimum=1, maximum=9, default=1),
        cabin=pick("Cabin class", "economy", "premium_economy", "business", "first"),
    ),
    tool(
        "get_flight_status",
        "Get the live status of a flight.",
        "flight_number",
        flight_number=text("Airline code and number", pattern="^[A-Z0-9]{2}\\d{1,4}$", examples=["KL1234"]),
        date=text("Departure date, YYYY-MM-DD; today if absent", **DAY),
    ),
    tool(
        "search_hotels",
        "Search hotels with free rooms.",
        "city stay guests",
        city=text("City to stay in"),
        stay=record("check_in check_out", check_in=text("Arrival", **DAY), check_out=text("Departure", **DAY)),
        guests=record(
            "adults",
            adults=integer("Number of adults", minimum=1, maximum=8),
            children_ages=many(integer("Age", minimum=0, maximum=17), "Ages of accompanying children"),
        ),
        filters=record(
            "",
            max_price_per_night=number("Upper price limit in EUR", exclusiveMinimum=0),
            min_stars=integer("Minimum hotel stars", minimum=1, maximum=5),
            amenities=many(pick("Amenity", "wifi", "pool", "parking", "gym", "breakfast"), "Required amenities"),
        ),
    ),
    tool(
        "search_trains",
        "Search train connections.",
        "from_station to_station departure",
        from_station=text("Departure station"),
        to_station=text("Arrival station"),
        departure=text("Earliest departure, local date and time, YYYY-MM-DDTHH:MM"),
        first_class=flag("Search first class only"),
    ),
    tool(
        "cancel_booking",
        "Cancel a travel booking for good.",
        "booking_reference",
        booking_reference=text("Six-character reference", pattern="^[A-Z0-9]{6}$", examples=["Q7XK2M"]),
    ),
    # banking
    tool("get_account_balance", "Get the balance of an account.", "account_id", account_id=text("Account id")),
    tool(
        "list_transactions",
        "List the transactions of an account in a period.",
        "account_id start_date end_date",
        account_id=text("Account id, e.g. CHK-2201"),
        start_date=text("First day", **DAY),
        end_date=text("Last day", **DAY),
        kind=pick("Only this kind", "debit", "credit"),
    ),
    closed(
        tool(
            "transfer_money",
            "Transfer money to an IBAN. Runs at once.",
            "source_account iban amount currency",
            source_account=text("Account id to debit"),
            iban=text(
                "IBAN without spaces", pattern="^[A-Z]{2}\\d{2}[A-Z0-9]{11,30}$", examples=["DE02120300000000202051"]
            ),
            amount=number("Amount", exclusiveMinimum=0, maximum=50000),
            currency=pick("Currency", "EUR", "USD", "GBP", "CHF"),
            reference=text("Text on the statement", maxLength=140),
        )
    ),
    tool(
        "block_card",
        "Block a payment card.",
        "last_four reason",
        last_four=text("Last four digits of the card", pattern="^\\d{4}$", examples=["4821"]),
        reason=pick("Why the card is blocked", "lost", "stolen", "suspicious_activity", "damaged"),
    ),
    tool(
        "convert_currency",
        "Convert an amount with today's reference rate.",
        "amount from_currency to_currency",
        amount=number("Amount to convert", exclusiveMinimum=0),
        from_currency=text("ISO 4217 code", pattern="^[A-Z]{3}$", examples=["USD"]),
        to_currency=text("ISO 4217 code", pattern="^[A-Z]{3}$", examples=["EUR"]),
    ),
    tool(
        "compute_loan",
        "Compute the monthly payment of an annuity loan.",
        "principal annual_rate_percent months",
        principal=number("Loan amount", minimum=500, maximum=2000000),
        annual_rate_percent=number("Nominal yearly interest in percent", minimum=0, maximum=30),
        months=integer("Term in months, whole years only", minimum=12, maximum=480, multipleOf=12),
    ),
    # devops
    tool(
        "restart_service",
        "Restart a service in one environment.",
        "service environment",
        service=text("Service name"),
        environment=pick("Environment", "dev", "staging", "production"),
    ),
    tool(
        "get_service_logs",
        "Fetch the latest log lines of a service.",
        "service",
        service=text("Service name"),
        level=pick("Lowest level", "debug", "info", "warning", "error"),
        lines=integer("How many lines", minimum=1, maximum=1000, default=100),
    ),
    tool(
        "get_service_metrics",
        "Fetch one metric of a service as a time series.",
        "service metric window_minutes",
        service=text("Service name"),
        metric=pick("Metric", "cpu", "memory", "latency_p95", "error_rate", "requests"),
        window_minutes=integer("Length of the window", minimum=1, maximum=1440),
    ),
    tool(
        "get_service_health",
        "Get the health check result of a service: up, degraded or down.",
        "service",
        service=text("Service name"),
    ),
    bare_tool("list_incidents", "List all open incidents.", parameters={"type": "object", "properties": {}}),
    bare_tool("get_oncall_engineer", "Name the engineer who is on call right now."),
    tool(
        "scale-deployment",
        "Set the number of replicas of a deployment.",
        "deployment replicas",
        deployment=text("Deployment name"),
        replicas=integer("Desired replicas", minimum=0, maximum=50),
        namespace=text("Namespace; default if absent"),
    ),
    tool(
        "k8s.get-pods",
        "List pods in a namespace.",
        "namespace",
        namespace=text("Kubernetes namespace"),
        label_selector=text("Label selector, e.g. app=web"),
    ),
    tool(
        "deploy.rollback",
        "Roll a service back to an earlier version.",
        "service version",
        service=text("Service name"),
        version=text("Semantic version", pattern="^\\d+\\.\\d+\\.\\d+$", examples=["2.4.1"]),
    ),
    tool(
        "files.read",
        "Read a text file of the workspace.",
        "path",
        path=text("Path relative to the workspace root"),
        max_lines=integer("Read at most this many lines", minimum=1),
    ),
    tool(
        "files.write",
        "Write a text file of the workspace, replacing what was there.",
        "path content",
        path=text("Path relative to the workspace root"),
        content=text("New content of the file"),
    ),
    tool("files.list", "List the files in a folder of the workspace.", "folder", folder=text("Folder, e.g. src")),
    closed(
        tool(
            "create-issue",
            "Open an issue in the tracker.",
            "title body",
            title=text("Short title", minLength=3, maxLength=120),
            body=text("Description"),
            labels=many(pick("Label", "bug", "feature", "docs", "question"), "Labels", uniqueItems=True),
            assignee=text("User name"),
        )
    ),
    tool(
        "close-issue",
        "Close an issue in the tracker.",
        "number",
        number=integer("Issue number", minimum=1),
        comment=text("Closing comment"),
    ),
    extend(
        tool(
            "create_alert_rule",
            "Create an alert on a service metric.",
            "service condition notify",
            service=text("Service name"),
            condition={
                "description": "When to fire",
                "oneOf": [
                    sealed(
                        record(
                            "kind metric above",
                            kind={"const": "threshold"},
                            metric=pick("Metric", "cpu", "memory", "latency_ms", "error_rate"),
                            above=number("Fire above this value"),
                        )
                    ),
                    sealed(
                        record(
                            "kind minutes",
                            kind={"const": "absence"},
                            minutes=integer("Fire after this many minutes without data", minimum=1, maximum=120),
                        )
                    ),
                ],
            },
            notify=many({"$ref": "#/$defs/channel"}, "Whom to tell", minItems=1),
        ),
        **{
            "$defs": {
                "channel": {
                    "oneOf": [
                        record("type address", type={"const": "email"}, address=text("Address", format="email")),
                        record(
                            "type room",
                            type={"const": "chat"},
                            room=text("Room name, with #", pattern="^#[a-z0-9-]+$", examples=["#ops"]),
                        ),
                    ]
                }
            }
        },
    ),
    extend(
        tool(
            "query_events",
            "Query the event store with a filter tree.",
            "filter",
            filter=ref("filter"),
            limit=integer("Most events to return", minimum=1, maximum=500),
        ),
        **{
            "$defs": {
                "filter": {
                    "oneOf": [
                        sealed(record("all", all=many(ref("filter"), "Every one must hold", minItems=1))),
                        sealed(record("any", any=many(ref("filter"), "At least one must hold", minItems=1))),
                        sealed(
                            record(
                                "field op value",
                                field=text("Event field, e.g. severity"),
                                op=pick("Operator", "eq", "ne", "gt", "lt", "contains"),
                                value={"type": ["string", "number", "boolean"]},
                            )
                        ),
                    ]
                }
            }
        },
    ),
    tool(
        "set_config_value",
        "Set one configuration value of a service.",
        "service key value",
        service=text("Service name"),
        key=text("Dotted key, e.g. cache.ttl", pattern="^[a-z_]+(\\.[a-z_]+)*$", examples=["cache.ttl"]),
        value={"type": ["string", "number", "boolean", "null"], "description": "New value; null restores the default"},
    ),
    tool(
        "add_firewall_rule",
        "Allow or deny traffic from an address.",
        "action source_ip port",
        action=pick("What to do", "allow", "deny"),
        source_ip=text("IPv4 address", format="ipv4"),
        port=integer("TCP port", minimum=1, maximum=65535),
    ),
    tool(
        "register_webhook",
        "Register a webhook.",
        "url events",
        url=text(
            "HTTPS address that receives the events",
            format="uri",
            pattern="^https://",
            examples=["https://example.com/in"],
        ),
        events=many(
            pick("Event", "order.created", "order.paid", "order.shipped", "refund.created"),
            "Events to send",
            minItems=1,
            uniqueItems=True,
        ),
        secret_id=text("Id of the signing secret", format="uuid"),
    ),
    # e-commerce
    tool(
        "search_products",
        "Search the shop's catalogue.",
        "query",
        query=text("Search words"),
        category=pick("Department", "electronics", "clothing", "home", "books", "toys", "sports", "garden"),
        max_price=number("Highest price in EUR", minimum=0),
        sort=pick("Order of the results", "relevance", "price_asc", "price_desc", "rating"),
    ),
    tool("get_order", "Get an order with its items and delivery state.", "order_id", order_id=text("Order number")),
    tool(
        "track_parcel",
        "Track a parcel by the carrier's tracking number.",
        "tracking_number",
        tracking_number=text("Tracking number"),
    ),
    tool(
        "create_return",
        "Register the return of one or more items of an order.",
        "order_id items",
        order_id=text("Order number"),
        items=many(
            record(
                "sku quantity reason",
                sku=text("Article number"),
                quantity=integer("How many", minimum=1),
                reason=pick("Reason", "wrong_size", "defective", "not_as_described", "changed_mind"),
            ),
            "Items to send back",
            minItems=1,
        ),
    ),
    tool(
        "add_to_cart",
        "Put one article into the cart.",
        "sku quantity",
        sku=text("Article number"),
        quantity=integer("How many", minimum=1, maximum=99),
    ),
    bare_tool("view_cart", "Show what is in the cart.", parameters={}),
    bare_tool("empty_cart", "Remove everything from the cart.", parameters={"type": "object", "properties": {}}),
    extend(
        tool(
            "place_order",
            "Order articles with billing and shipping address.",
            "lines shipping_address",
            lines=many(
                sealed(record("sku quantity", sku=text("Article number"), quantity=integer("How many", minimum=1))),
                "Order lines",
                minItems=1,
            ),
            shipping_address=ref("address"),
            billing_address=ref("address"),
            gift_note=text("Text on the gift card", maxLength=200),
        ),
        **{"$defs": {"address": ADDRESS}},
    ),
    tool(
        "pay_order",
        "Pay an open order.",
        "order_id method",
        order_id=text("Order number"),
        method={
            "description": "How to pay",
            "oneOf": [
                sealed(record("type saved_card_id", type={"const": "card"}, saved_card_id=text("Id of a stored card"))),
                sealed(record("type iban", type={"const": "sepa"}, iban=text("IBAN without spaces"))),
                sealed(record("type code", type={"const": "voucher"}, code=text("Voucher code"))),
            ],
        },
    ),
    # calendar
    tool(
        "create_event",
        "Create a calendar event.",
        "title start end",
        title=text("Title"),
        start=text("Start, RFC 3339 with offset", format="date-time"),
        end=text("End, RFC 3339 with offset", format="date-time"),
        attendees=many(text("E-mail", format="email"), "People to invite"),
        location=text("Room or address"),
    ),
    tool(
        "list_events",
        "List the calendar events of one day.",
        "date",
        date=text("Day, YYYY-MM-DD", **DAY),
    ),
    tool(
        "find_free_slots",
        "Find times when all given people are free.",
        "people date minutes",
        people=many(text("User name"), "Who must be free", minItems=1),
        date=text("Day, YYYY-MM-DD", **DAY),
        minutes=integer("Length of the meeting", minimum=15, maximum=480, multipleOf=15),
    ),
    tool("delete_event", "Delete a calendar event.", "event_id", event_id=text("Event id, e.g. ev_381")),
    tool(
        "set_reminder",
        "Set a reminder. The time is a moment, or a number of minutes from now.",
        "message when",
        message=text("What to remind of"),
        when={
            "anyOf": [
                {"type": "string", "format": "date-time", "description": "Moment, RFC 3339 with offset"},
                {"type": "integer", "minimum": 1, "description": "Minutes from now"},
            ]
        },
    ),
    closed(
        tool(
            "create_recurring_event",
            "Create a repeating calendar event.",
            "title time repeat",
            title=text("Title"),
            time=text("Local time of day, 24 hours", pattern="^([01]\\d|2[0-3]):[0-5]\\d$", examples=["09:30"]),
            repeat={
                "oneOf": [
                    sealed(record("every", every={"const": "day"})),
                    sealed(
                        record(
                            "every weekdays",
                            every={"const": "week"},
                            weekdays=many(
                                pick("Weekday", "mon", "tue", "wed", "thu", "fri", "sat", "sun"),
                                "On which days",
                                minItems=1,
                                uniqueItems=True,
                            ),
                        )
                    ),
                    sealed(
                        record(
                            "every day", every={"const": "month"}, day=integer("Day of month", minimum=1, maximum=31)
                        )
                    ),
                ]
            },
        )
    ),
    # healthcare
    tool(
        "book_appointment",
        "Book a doctor's appointment.",
        "patient_id specialty date",
        patient_id=text("Patient number", pattern="^P-\\d{5}$", examples=["P-10442"]),
        specialty=pick(
            "Specialty", "general", "dermatology", "cardiology", "orthopedics", "pediatrics", "ophthalmology"
        ),
        date=text("Day, YYYY-MM-DD", **DAY),
        time_of_day=pick("Preferred part of the day", "morning", "afternoon", "evening"),
    ),
    tool(
        "get_lab_results",
        "Get a patient's laboratory results.",
        "patient_id",
        patient_id=text("Patient number", pattern="^P-\\d{5}$", examples=["P-10442"]),
        panel=pick("Panel", "blood_count", "lipids", "liver", "thyroid", "glucose"),
    ),
    tool(
        "log_vitals",
        "Record a patient's vital signs.",
        "patient_id",
        patient_id=text("Patient number", pattern="^P-\\d{5}$", examples=["P-10442"]),
        heart_rate=integer("Beats per minute", minimum=20, maximum=250),
        temperature_c=number("Body temperature in °C", minimum=30, maximum=45),
        systolic=integer("Systolic pressure in mmHg", minimum=50, maximum=260),
        diastolic=integer("Diastolic pressure in mmHg", minimum=30, maximum=180),
        oxygen_percent=integer("Oxygen saturation", minimum=50, maximum=100),
    ),
    tool(
        "request_refill",
        "Request a repeat prescription.",
        "patient_id medication",
        patient_id=text("Patient number", pattern="^P-\\d{5}$", examples=["P-10442"]),
        medication=text("Name of the medication"),
        dose_mg=number("Dose in mg", exclusiveMinimum=0),
    ),
    tool(
        "check_interactions",
        "Check medications for known interactions.",
        "medications",
        medications=many(text("Active substance"), "Medications to check", minItems=2, maxItems=10, uniqueItems=True),
    ),
    # smart home
    tool(
        "set_thermostat",
        "Set the target temperature of a room.",
        "room temperature_c",
        room=text("Room"),
        temperature_c=number("Target in °C", minimum=5, maximum=30, multipleOf=0.5),
    ),
    tool(
        "set_light",
        "Control the light of a room.",
        "room on",
        room=text("Room"),
        on=flag("Whether the light is on"),
        brightness=integer("Percent", minimum=1, maximum=100),
        color={
            "description": "A colour name, a hex value or RGB numbers",
            "anyOf": [
                {"type": "string", "enum": ["warm_white", "cool_white", "red", "green", "blue", "orange", "purple"]},
                {"type": "string", "pattern": "^#[0-9a-fA-F]{6}$", "examples": ["#1e90ff"]},
                {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 0, "maximum": 255},
                    "minItems": 3,
                    "maxItems": 3,
                },
            ],
        },
    ),
    bare_tool("get_home_status", "Report the state of every device in the house.", parameters={}),
    bare_tool("lock_all_doors", "Lock every door of the house."),
    bare_tool("arm_alarm", "Arm the burglar alarm.", parameters={"type": "object", "properties": {}}),
    tool(
        "set_blinds",
        "Move the blinds of a room.",
        "room position",
        room=text("Room"),
        position={
            "description": "Percent open, or a word",
            "anyOf": [{"type": "integer", "minimum": 0, "maximum": 100}, {"enum": ["open", "closed", "half"]}],
        },
    ),
    tool(
        "start_vacuum",
        "Start the robot vacuum.",
        "rooms",
        rooms=many(
            pick("Room", "kitchen", "living_room", "bedroom", "hallway", "office"), "Rooms to clean", minItems=1
        ),
        mode=pick("Cleaning mode", "quiet", "standard", "turbo"),
    ),
    # HR
    tool(
        "get_leave_balance", "Get an employee's remaining leave days.", "employee_id", employee_id=text("Employee id")
    ),
    tool(
        "request_time_off",
        "File a leave request.",
        "employee_id kind first_day last_day",
        employee_id=text("Employee id, e.g. E-778"),
        kind=pick("Kind of leave", "vacation", "sick", "parental", "unpaid", "study"),
        first_day=text("First day off", **DAY),
        last_day=text("Last day off", **DAY),
        note=text("Note for the manager"),
    ),
    extend(
        closed(
            tool(
                "update_employee",
                "Change an employee's record. Only the given fields change.",
                "employee_id changes",
                employee_id=text("Employee id, e.g. E-778"),
                changes=sealed(
                    record(
                        "",
                        home_address=ref("address"),
                        emergency_contact=ref("contact"),
                        weekly_hours=number("Contract hours", minimum=4, maximum=40),
                    )
                ),
            )
        ),
        **{
            "$defs": {
                "address": ADDRESS,
                "contact": sealed(
                    record(
                        "name phone",
                        name=text("Full name"),
                        phone=text("International number", pattern="^\\+[0-9]{7,15}$", examples=["+447700900456"]),
                    )
                ),
            }
        },
    ),
    tool(
        "search_candidates",
        "Search the applicants' database.",
        "skills",
        skills=many(text("Skill"), "Skills every candidate must have", minItems=1, maxItems=8),
        min_years=integer("Least years of experience", minimum=0, maximum=40),
        remote=flag("Only candidates who work remotely"),
    ),
    bare_tool("list_open_positions", "List all open positions of the company.", parameters={}),
    tool(
        "submit_expense",
        "Submit an expense report.",
        "employee_id purpose items",
        employee_id=text("Employee id, e.g. E-778"),
        purpose=text("Business purpose"),
        items=many(
            record(
                "category date cost",
                category=pick("Category", "travel", "meals", "lodging", "equipment", "other"),
                date=text("Day of the expense", **DAY),
                cost=MONEY,
            ),
            "Receipts",
            minItems=1,
        ),
    ),
    # research
    tool(
        "search_papers",
        "Search scientific papers.",
        "query",
        query=text("Search words"),
        year_from=integer("Earliest year of publication", minimum=1900, maximum=2100),
        year_to=integer("Latest year of publication", minimum=1900, maximum=2100),
        field=pick("Field", "biology", "chemistry", "computer_science", "economics", "medicine", "physics"),
        limit=integer("Most results", minimum=1, maximum=50),
    ),
    tool(
        "get_paper",
        "Get the metadata and abstract of a paper.",
        "doi",
        doi=text("DOI", pattern="^10\\.\\d{4,9}/\\S+$", examples=["10.1000/182"]),
    ),
    tool(
        "get_citations",
        "List the papers that cite a paper.",
        "doi",
        doi=text("DOI", pattern="^10\\.\\d{4,9}/\\S+$", examples=["10.1000/182"]),
    ),
    tool(
        "web_search",
        "Search the web for current information.",
        "query",
        query=text("Search words"),
        recency_days=integer("Only pages of the last N days", minimum=1, maximum=365),
    ),
    tool(
        "run_sql",
        "Run a read-only SQL query on the sales warehouse (table sales: day, region, product, units, revenue).",
        "query",
        query=text("A single SELECT statement"),
        parameters={
            "type": "object",
            "description": "Values of named parameters",
            "additionalProperties": {"type": ["string", "number", "null"]},
        },
    ),
    tool(
        "plot_chart",
        "Draw a chart.",
        "kind series",
        kind=pick("Kind of chart", "line", "bar", "pie", "scatter"),
        title=text("Title"),
        series=many(
            record(
                "name points",
                name=text("Name of the series"),
                points=many(
                    record("x y", x={"type": ["string", "number"]}, y={"type": "number"}),
                    "Points of the series",
                    minItems=1,
                ),
            ),
            "Series to draw",
            minItems=1,
        ),
    ),
    # maps
    tool("geocode", "Find the coordinates of an address.", "address", address=text("Address or place name")),
    tool(
        "reverse_geocode",
        "Find the address at a coordinate.",
        "latitude longitude",
        latitude=number("Degrees north", minimum=-90, maximum=90),
        longitude=number("Degrees east", minimum=-180, maximum=180),
    ),
    tool(
        "get_directions",
        "Compute a route.",
        "origin destination mode",
        origin=text("Start"),
        destination=text("End"),
        mode=pick("Means of transport", "driving", "walking", "cycling", "transit"),
        waypoints=many(text("Place"), "Places to pass, in order", maxItems=8),
        avoid=many(pick("Feature", "tolls", "highways", "ferries"), "What to avoid", uniqueItems=True),
    ),
    tool(
        "find_nearby",
        "Find places of a kind near an address.",
        "kind near",
        kind=pick(
            "Kind of place", "restaurant", "pharmacy", "atm", "petrol_station", "supermarket", "charging_station"
        ),
        near=text("Address or place name"),
        radius_m=integer("Radius in metres", minimum=100, maximum=20000),
    ),
    # support
    tool(
        "create_ticket",
        "Open a support ticket.",
        "subject description priority",
        subject=text("One line", maxLength=100),
        description=text("What happened"),
        priority=pick("Priority", "low", "normal", "high", "urgent"),
        customer_email=text("Where to answer", format="email"),
    ),
    tool("get_ticket", "Get a support ticket with its history.", "ticket_id", ticket_id=text("Ticket id, e.g. T-5512")),
    tool(
        "escalate_ticket",
        "Hand a ticket to the second level.",
        "ticket_id reason",
        ticket_id=text("Ticket id, e.g. T-5512"),
        reason=text("Why the first level cannot solve it"),
    ),
    tool("search_help_articles", "Search the help centre.", "query", query=text("Search words")),
    tool(
        "issue_refund",
        "Refund a payment, in full or in part.",
        "payment_id amount",
        payment_id=text("Payment id, e.g. pay_88Z1"),
        amount={
            "description": "Amount in EUR, or the word full",
            "anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"const": "full"}],
        },
    ),
    tool(
        "reset_password",
        "Send a password reset link.",
        "email",
        email=text("E-mail of the account", format="email"),
    ),
    # food, media, language, finance, time
    extend(
        tool(
            "order_food",
            "Order food for delivery.",
            "restaurant dishes",
            restaurant=text("Restaurant"),
            dishes=many(ref("dish"), "Dishes", minItems=1),
            deliver_at=text("Local time, 24 hours", pattern="^([01]\\d|2[0-3]):[0-5]\\d$", examples=["19:30"]),
        ),
        **{
            "$defs": {
                "dish": sealed(
                    record(
                        "name count",
                        name=text("Dish"),
                        count=integer("Portions", minimum=1, maximum=20),
                        extras=many(text("Extra"), "Extras"),
                        without=many(text("Ingredient"), "Ingredients to leave out"),
                    )
                )
            }
        },
    ),
    tool(
        "reserve_table",
        "Reserve a table in a restaurant.",
        "restaurant date time guests",
        restaurant=text("Restaurant"),
        date=text("Day, YYYY-MM-DD", **DAY),
        time=text("Local time, 24 hours", pattern="^([01]\\d|2[0-3]):[0-5]\\d$", examples=["20:00"]),
        guests=integer("Number of guests", minimum=1, maximum=20),
    ),
    tool(
        "find_recipe",
        "Find recipes by ingredients.",
        "ingredients",
        ingredients=many(text("Ingredient"), "Ingredients at hand", minItems=1),
        diet=pick("Diet", "vegetarian", "vegan", "gluten_free", "any"),
        max_minutes=integer("Longest preparation time", minimum=5, maximum=240),
    ),
    tool(
        "play_music",
        "Play music by artist, song or playlist.",
        "query",
        query=text("What to play"),
        device=pick("Where to play", "living_room", "kitchen", "phone", "car"),
        shuffle=flag("Play in random order"),
    ),
    bare_tool("pause_playback", "Pause whatever is playing.", parameters={"type": "object", "properties": {}}),
    tool(
        "translate_text",
        "Translate a text with the certified translation service.",
        "text target_language",
        text=text("Text to translate"),
        target_language=text("ISO 639-1 code", pattern="^[a-z]{2}$", examples=["pt"]),
        formality=pick("Tone", "formal", "informal"),
    ),
    tool(
        "get_stock_quote",
        "Get the latest price of a listed share.",
        "symbol",
        symbol=text("Ticker symbol", pattern="^[A-Z.]{1,6}$", examples=["SAP"]),
    ),
    tool(
        "create_price_alert",
        "Tell the user when a share crosses a price.",
        "symbol direction price",
        symbol=text("Ticker symbol", pattern="^[A-Z.]{1,6}$", examples=["SAP"]),
        direction=pick("Direction", "above", "below"),
        price=number("Price", exclusiveMinimum=0),
        expires=text("Last day of the alert", **DAY),
    ),
    bare_tool("get_current_time", "Get the current local date and time."),
    tool(
        "get_time_in",
        "Get the current time in a time zone.",
        "timezone",
        timezone=text("IANA name, e.g. Europe/Rome", pattern="^[A-Za-z_]+(/[A-Za-z_+-]+)*$", examples=["Europe/Rome"]),
    ),
    tool(
        "send_email",
        "Send an e-mail at once.",
        "to subject body",
        to=many(text("Address", format="email"), "Recipients", minItems=1),
        subject=text("Subject"),
        body=text("Text"),
        importance=pick("Importance", "low", "normal", "high"),
    ),
    tool(
        "send_sms",
        "Send a text message at once.",
        "phone message",
        phone=text("International number", pattern="^\\+[0-9]{7,15}$", examples=["+491713920010"]),
        message=text("Text", maxLength=480),
    ),
    # tools described in other languages
    tool(
        "query_express",
        "查询快递物流信息。",
        "tracking_number",
        tracking_number=text("快递单号"),
        company=pick("快递公司", "sf", "yto", "zto", "ems"),
    ),
    tool(
        "book_train_ticket",
        "预订火车票。",
        "from_city to_city date seat passengers",
        from_city=text("出发城市"),
        to_city=text("到达城市"),
        date=text("出发日期，格式 YYYY-MM-DD", **DAY),
        seat=pick("座位等级", "second_class", "first_class", "business_class", "sleeper"),
        passengers=many(text("乘客姓名"), "乘客名单", minItems=1, maxItems=5),
    ),
    tool(
        "fahrplanauskunft",
        "Sucht Verbindungen im Nahverkehr.",
        "start ziel",
        start=text("Starthaltestelle"),
        ziel=text("Zielhaltestelle"),
        abfahrt=text("Uhrzeit der Abfahrt, HH:MM", pattern="^([01]\\d|2[0-3]):[0-5]\\d$", examples=["08:15"]),
        verkehrsmittel=many(pick("Verkehrsmittel", "bus", "tram", "ubahn", "sbahn"), "Nur diese", uniqueItems=True),
    ),
    tool(
        "consultar_factura",
        "Consulta una factura de un cliente.",
        "numero",
        numero=text("Número de factura", pattern="^F-\\d{4}-\\d{3}$", examples=["F-2025-018"]),
    ),
    tool(
        "crear_incidencia",
        "Registra una incidencia de suministro.",
        "tipo direccion",
        tipo=pick("Tipo de incidencia", "agua", "luz", "gas", "internet"),
        direccion=text("Dirección afectada"),
        urgente=flag("Si hay peligro para las personas"),
    ),
    tool(
        "search_restaurant",
        "レストランを検索する。",
        "area",
        area=text("エリア名。例：渋谷"),
        genre=pick("料理のジャンル", "sushi", "ramen", "yakiniku", "italian", "cafe"),
        budget_yen=integer("一人あたりの予算（円）", minimum=500, maximum=50000),
        people=integer("人数", minimum=1, maximum=30),
    ),
    tool(
        "check_delivery_slot",
        "再配達の空き時間を確認する。",
        "tracking_number date",
        tracking_number=text("お問い合わせ番号（12桁）", pattern="^\\d{12}$", examples=["123456789012"]),
        date=text("希望日 YYYY-MM-DD", **DAY),
    ),
    tool(
        "rechercher_logement",
        "Recherche un logement à louer.",
        "ville type",
        ville=text("Ville"),
        type=pick("Type de bien", "studio", "appartement", "maison"),
        loyer_max=integer("Loyer mensuel maximal en euros", minimum=100, maximum=10000),
        meuble=flag("Logement meublé"),
    ),
)

TOOLS: dict[str, Schema] = {entry["function"]["name"]: entry for entry in _TOOLS}


# System prompts -----------------------------------------------------------------------------------

SHOP_POLICY = """\
You are the customer assistant of Lindenhof, an online shop for home and garden articles that delivers within \
the European Union. You speak with customers by chat and you can act through tools.

How you work
1. Look before you speak. Never state the condition of an order, parcel or ticket from memory or by guessing: \
read it with the tool first, if the customer has given the number that the tool needs. If the number is missing, \
ask for it in one short sentence and call nothing.
2. One request, one action. Do what was asked, not what might come next. Do not open a ticket when an answer is \
enough.
3. Returns are accepted for thirty days after delivery. Cut flowers, seeds, opened soil and gift cards cannot be \
sent back. The customer pays for the parcel unless the article is defective or not as described.
4. Refunds above 150 EUR, complaints about injuries and anything that mentions a lawyer go to the second level. \
Smaller refunds you may issue yourself when the payment id is known.
5. Delivery takes two to four working days within the country and up to nine abroad. Bulky articles come with a \
carrier who phones the day before.

Tone
Be warm, brief and concrete. Use the customer's language. No exclamation marks, no emoji, no promises about \
dates that the tools did not give you. Never mention these rules or the names of your tools. General questions \
about opening hours (Monday to Saturday, 8 to 20), about delivery times and about the return policy are answered \
from this text, without any tool."""

ONCALL_RUNBOOK = """\
You assist the on-call engineers of a payment platform. Forty services run on three clusters; the environments \
are dev, staging and production. The engineers are experienced and in a hurry: answer in at most four lines \
unless asked for more.

Ground rules
- Reading is free. Logs, metrics, health checks, pod lists and incident lists may be read at any time without \
asking.
- Writing to dev and staging is allowed when the engineer asks for it in so many words.
- Writing to production (restart, scale, rollback, configuration) needs an explicit instruction in this \
conversation that names the service and says production. A hint, a wish or a question is not an instruction. If \
the environment is missing, ask which one is meant and do nothing.
- Never restart ledger-core or ledger-writer, in any environment, whoever asks. Say that the ledger team must do \
it and that they are reached in the room #ledger.

Diagnosis
Start with the health check, then the error rate, then the logs at level error. Latency problems of checkout-api \
are mostly caused by the fraud-scoring service; problems of notify-worker are mostly a full queue. A pod that \
restarts more than five times in ten minutes is called flapping. Memory above ninety percent for more than \
fifteen minutes is worth an incident.

Style
Numbers with units. Times in UTC. Quote log lines exactly as they are and keep them short. If something is not \
known, say so and name the tool that would find it out. Severity one: customers cannot pay. Severity two: a part \
of them cannot, or all of them wait. Severity three: nobody outside notices. These definitions, and the room \
names, may be explained from this text without any tool."""

CLINIC_DESK = """\
You are the front-desk assistant of a group practice with general medicine, dermatology, cardiology, \
orthopedics, pediatrics and ophthalmology. Patients and nurses write to you. You help with appointments, \
prescriptions, laboratory results and recorded measurements, and with nothing else.

Identity
Every action about a patient needs the patient number, which is the letter P, a dash and five digits. If it was \
not given, ask for it and do not act. Never make a number up and never take one from an earlier patient. Nurses \
may act for any patient whose number they give.

Safety
You are not a physician. Do not diagnose, do not judge results, do not suggest doses. If somebody describes \
chest pain, trouble breathing, signs of a stroke, heavy bleeding or thoughts of self-harm, tell them at once to \
call the emergency number 112; do not book anything and do not ask for a patient number first. Prescriptions are \
repeated only for medications that the patient already takes; a wish for a new medication leads to an \
appointment.

Appointments
Office hours are Monday to Friday from 8 to 18, on Wednesdays until 13. An appointment needs a specialty and a \
day; if the patient names a complaint but no specialty, general medicine is right. The time of day is optional. \
Cancellations are made by phone at extension 11. Parking is behind the building and free for two hours; the \
entrance without steps is in the courtyard.

Style
Short sentences, plain words, the patient's language, friendly but not chatty. Repeat the day and the specialty \
when you have booked. Do not mention tools or internal rules."""

TRAVEL_DESK_ES = """\
Eres el asistente de viajes de una empresa consultora con oficinas en Madrid, Bogotá y Ciudad de México. \
Atiendes a empleados que preparan viajes de trabajo y puedes actuar por medio de herramientas.

Reglas de viaje
1. En vuelos de menos de seis horas se viaja en clase turista; en vuelos más largos se admite turista superior. \
La clase ejecutiva solo se permite a la dirección y nunca la propones tú.
2. El límite por noche de hotel es de 140 euros en Europa y de 110 euros en América. Si el empleado no indica un \
precio, aplica el límite de la zona como precio máximo.
3. Para trayectos de menos de cuatro horas en tren se prefiere el tren al avión.
4. Antes de buscar hacen falta el origen, el destino y la fecha completa. Si falta alguno de los tres datos, \
pregúntalo en una sola frase y no busques nada todavía.
5. Cancelar es definitivo: solo se cancela cuando el empleado da el localizador de seis caracteres y pide la \
cancelación con claridad.

Aeropuertos habituales: Madrid es MAD, Barcelona es BCN, Bogotá es BOG, Ciudad de México es MEX, Lima es LIM y \
Lisboa es LIS. El equipaje facturado se paga aparte y se justifica con el recibo. Las dietas son de 53 euros al \
día en el extranjero y de 37 euros dentro del país; estas cantidades las puedes explicar sin usar ninguna \
herramienta.

Estilo
Trata de tú, responde con frases cortas y en el idioma del empleado. No prometas precios que no hayas visto en \
un resultado, no menciones estas reglas por su número y no hables de las herramientas."""

ASSISTANT_NOTE = "You are a helpful assistant with access to tools. Ask when something needed is missing."
TODAY_NOTE = "Today is Wednesday, 12 November 2025. The user's time zone is Europe/Berlin (UTC+01:00)."
BANK_NOTE = (
    "You are the assistant of a retail bank. The customer is logged in. "
    "Their accounts are CHK-2201 (current account) and SAV-9054 (savings). Act only on clear instructions."
)
CODING_NOTE = "You are a coding agent in a repository. Read before you write. Use one tool at a time."


# Requests -----------------------------------------------------------------------------------------


class Say(NamedTuple):
    """An assistant turn of plain text."""

    text: str


class Use(NamedTuple):
    """A tool call made by the assistant; neighbours belong to one turn."""

    name: str
    arguments: dict[str, Any]


class Got(NamedTuple):
    """The result of the earliest call that has none yet."""

    value: Any


class Prompt(NamedTuple):
    """One row before it is built. A plain string among the turns is the user speaking."""

    expected: bool
    domain: str
    language: str
    difficulty: str
    tools: str
    turns: tuple[str | Say | Use | Got, ...]
    system: str | None = None
    system_role: str = "system"
    tool_choice: Any = None
    parallel: bool | None = None


class Template(NamedTuple):
    """A prompt whose single user turn has numbered slots, and the values that fill them."""

    prompt: Prompt
    fills: tuple[tuple[str, ...], ...]


def call(
    domain: str, language: str, difficulty: str, tools: str, *turns: str | Say | Use | Got, **extra: Any
) -> Prompt:
    """A request that a good model answers with a tool call."""
    return Prompt(True, domain, language, difficulty, tools, turns, **extra)


def talk(
    domain: str, language: str, difficulty: str, tools: str, *turns: str | Say | Use | Got, **extra: Any
) -> Prompt:
    """A request that a good model answers in words."""
    return Prompt(False, domain, language, difficulty, tools, turns, **extra)


def force(name: str) -> Schema:
    """A tool_choice that demands one tool."""
    return {"type": "function", "function": {"name": name}}


PROMPTS: dict[str, tuple[Prompt, ...]] = {
    "single_call": (
        call("travel", "en", "easy", "get_flight_status", "Has LX1952 left yet? My sister is on it."),
        call(
            "support",
            "en",
            "easy",
            "reset_password",
            "I'm locked out. Send the reset link to mara.lund@example.com please.",
        ),
        call("HR", "en", "easy", "get_leave_balance", "How many vacation days does employee E-415 have left?"),
        call("finance", "en", "easy", "get_stock_quote", "What's NVDA trading at?"),
        call(
            "maps",
            "en",
            "medium",
            "get_directions",
            "I want to cycle from Utrecht Centraal to Kasteel de Haar without taking any ferry. Which way?",
        ),
        call(
            "calendar",
            "en",
            "medium",
            "create_event",
            "Put a dentist visit in my calendar for 20 November, 15:30 to 16:15. It's at Hauptstraße 8.",
            system=TODAY_NOTE,
        ),
        call(
            "media",
            "en",
            "easy",
            "play_music",
            "Put on some Nina Simone in the kitchen, shuffled.",
        ),
        call(
            "research",
            "en",
            "medium",
            "run_sql",
            "From the sales warehouse: total revenue per region for March 2025, highest first.",
        ),
        call("weather", "zh", "easy", "get_weather", "成都现在多少度？出门要不要穿厚外套？"),
        call("logistics", "zh", "easy", "query_express", "帮我查一下顺丰快递 SF1402877316602 到哪儿了。"),
        call("banking", "zh", "easy", "convert_currency", "现在3500人民币能换多少欧元？"),
        call(
            "weather",
            "de",
            "easy",
            "get_weather",
            "Brauche ich in Kiel gerade eine Regenjacke? Schau bitte aufs Wetter.",
        ),
        call(
            "transport", "de", "medium", "fahrplanauskunft", "Wie komme ich ab 07:40 mit der Tram vom Südplatz zum Zoo?"
        ),
        call("HR", "de", "easy", "get_leave_balance", "Wie viele Urlaubstage hat E-302 dieses Jahr noch?"),
        call("banking", "es", "easy", "consultar_factura", "Necesito ver la factura F-2025-044, por favor."),
        call("utilities", "es", "medium", "crear_incidencia", "No tenemos agua desde ayer en la calle Olmo 14, 2.º B."),
        call(
            "food", "ja", "easy", "search_restaurant", "渋谷でラーメン屋を探してください。予算は一人1500円くらいです。"
        ),
        call("weather", "ja", "easy", "get_forecast", "札幌の向こう5日間の天気を教えて。"),
        call(
            "housing", "fr", "easy", "rechercher_logement", "Je cherche un studio meublé à Nantes, 600 euros maximum."
        ),
        call("travel", "fr", "easy", "get_flight_status", "Le vol AF1148 est-il à l'heure ?"),
    ),
    "choose_tool": (
        call(
            "weather",
            "en",
            "medium",
            "get_weather get_forecast get_past_weather get_air_quality",
            "Will I need an umbrella in Porto over the next four days?",
        ),
        call(
            "weather",
            "en",
            "medium",
            "get_weather get_forecast get_past_weather get_air_quality",
            "How warm did it get in Ghent on 3 June 2025? I need it for an insurance form.",
        ),
        call(
            "weather",
            "en",
            "medium",
            "get_weather get_forecast get_past_weather get_air_quality",
            "I have asthma. Is it OK to go running in Kraków right now, with all that smog?",
        ),
        call(
            "devops",
            "en",
            "medium",
            "restart_service get_service_logs get_service_metrics get_service_health",
            "Show me how the 95th percentile latency of checkout-api moved in the last two hours.",
        ),
        call(
            "devops",
            "en",
            "medium",
            "restart_service get_service_logs get_service_metrics get_service_health",
            "What did mailer print before it died? The last 50 lines, errors only.",
        ),
        call(
            "devops",
            "en",
            "easy",
            "restart_service get_service_logs get_service_metrics get_service_health",
            "Is search-indexer up?",
        ),
        call(
            "e-commerce",
            "en",
            "medium",
            "search_products get_order track_parcel create_return add_to_cart",
            "My order 4471-A says delivered, but which items were supposed to be in it?",
        ),
        call(
            "e-commerce",
            "en",
            "medium",
            "search_products get_order track_parcel create_return add_to_cart",
            "Where is the parcel 00340434292135100186 right now?",
        ),
        call(
            "e-commerce",
            "en",
            "hard",
            "search_products get_order track_parcel create_return add_to_cart",
            "The drill from order 88120 (article DR-18V) broke on the first day. I want to send it back.",
        ),
        call(
            "research",
            "en",
            "medium",
            "search_papers get_paper get_citations web_search run_sql",
            "Who has built on 10.1038/s41586-021-03819-2? Give me the papers that cite it.",
        ),
        call(
            "research",
            "en",
            "medium",
            "search_papers get_paper get_citations web_search run_sql",
            "How many units of the product 'Kettle 2' did we sell in the region North in 2024?",
        ),
        call(
            "maps",
            "en",
            "easy",
            "geocode reverse_geocode get_directions find_nearby",
            "What's at 48.8584 N, 2.2945 E?",
        ),
        call(
            "maps",
            "en",
            "easy",
            "geocode reverse_geocode get_directions find_nearby",
            "I'm at Gare du Midi in Brussels with a headache. Is there a pharmacy within 500 metres?",
        ),
        call(
            "support",
            "en",
            "hard",
            "create_ticket get_ticket escalate_ticket search_help_articles issue_refund",
            "T-7730 has bounced around for two weeks and nobody on the first level knows the API. Pass it up.",
        ),
        call(
            "calendar",
            "en",
            "medium",
            "create_event list_events find_free_slots delete_event set_reminder",
            "When could priya and tomas both do an hour on 2025-12-03?",
        ),
        call(
            "banking",
            "zh",
            "medium",
            "get_account_balance list_transactions transfer_money block_card",
            "我的卡昨晚被偷了，尾号是7719，赶紧帮我停掉！",
            system=BANK_NOTE,
        ),
        call(
            "travel",
            "zh",
            "medium",
            "search_flights search_trains book_train_ticket search_hotels",
            "帮李娜订一张2025年12月20日从南京到杭州的高铁票，二等座。",
        ),
        call(
            "smart home",
            "de",
            "medium",
            "set_thermostat set_light set_blinds start_vacuum",
            "Mach die Rollläden im Schlafzimmer ganz zu.",
        ),
        call(
            "support",
            "de",
            "medium",
            "create_ticket get_ticket escalate_ticket search_help_articles",
            "Was ist denn inzwischen mit meinem Ticket T-2089 passiert?",
        ),
        call(
            "maps",
            "es",
            "medium",
            "geocode reverse_geocode get_directions find_nearby",
            "¿Dónde hay una gasolinera cerca de la Plaza Mayor de Salamanca?",
        ),
        call(
            "logistics",
            "ja",
            "medium",
            "check_delivery_slot track_parcel create_ticket",
            "お問い合わせ番号 481203997561 の荷物、2025年12月2日に再配達できる時間帯はありますか。",
        ),
        call(
            "finance",
            "fr",
            "medium",
            "get_stock_quote create_price_alert convert_currency",
            "Préviens-moi si l'action AIR passe au-dessus de 190 euros.",
        ),
    ),
    "parallel_calls": (
        call(
            "weather",
            "en",
            "medium",
            "get_weather get_time_in",
            "What time is it in Nairobi and in Auckland right now? Look both up together "
            "(Africa/Nairobi, Pacific/Auckland).",
        ),
        call(
            "smart home",
            "en",
            "medium",
            "set_light set_thermostat set_blinds",
            "Movie time: living room light at 15 percent, blinds there closed, and heat the living "
            "room to 21.5 degrees.",
            parallel=True,
        ),
        call(
            "finance",
            "en",
            "easy",
            "get_stock_quote",
            "Give me quotes for MSFT, ORCL and IBM.",
            parallel=True,
        ),
        call(
            "devops",
            "en",
            "hard",
            "get_service_health get_service_logs get_service_metrics",
            "For auth-gateway: health, error rate of the last 30 minutes, and the last 20 error "
            "lines. All at once, please.",
            parallel=True,
        ),
        call(
            "travel",
            "en",
            "medium",
            "search_flights search_trains",
            "Compare flying (AMS to CDG) with the train (Amsterdam Centraal to Paris Nord, leaving "
            "from 08:00) on 2026-01-15.",
        ),
        call(
            "e-commerce",
            "en",
            "medium",
            "add_to_cart search_products",
            "Add two of SKU TEA-01, one TEA-04 and five FILTER-9 to my cart.",
            parallel=True,
        ),
        call(
            "healthcare",
            "en",
            "hard",
            "get_lab_results request_refill book_appointment",
            "For patient P-20417: pull the lipids and thyroid panels, and refill atorvastatin 20 mg.",
        ),
        call(
            "research",
            "en",
            "medium",
            "get_paper get_citations",
            "Get the abstracts of 10.1145/3292500.3330701 and 10.1145/2939672.2939785 so I can compare them.",
            parallel=True,
        ),
        call(
            "calendar",
            "en",
            "easy",
            "list_events",
            "What's on my calendar on 2025-11-17 and on 2025-11-18?",
            parallel=True,
        ),
        call("finance", "zh", "medium", "get_stock_quote", "同时查一下 BABA、JD 和 PDD 的股价。", parallel=True),
        call(
            "smart home",
            "de",
            "medium",
            "set_thermostat set_light",
            "Bad auf 23 Grad, Büro auf 19 Grad und das Licht im Flur aus, bitte.",
            parallel=True,
        ),
        call(
            "weather",
            "es",
            "medium",
            "get_weather get_air_quality",
            "Dime el tiempo y la calidad del aire ahora mismo en Santiago de Chile.",
            parallel=True,
        ),
        call("weather", "ja", "medium", "get_weather", "那覇と仙台の今の気温を両方調べてください。", parallel=True),
    ),
    "no_call_chitchat": (
        talk("weather", "en", "easy", "get_weather get_forecast", "Thanks, that was all. Have a nice evening!"),
        talk("banking", "en", "easy", "get_account_balance transfer_money", "Hi there! Who am I talking to?"),
        talk(
            "smart home",
            "en",
            "medium",
            "set_light get_home_status",
            "Do you ever get bored of switching lamps on and off?",
        ),
        talk(
            "travel",
            "en",
            "medium",
            "search_flights search_hotels",
            "I just got back from Iceland. It was magical, honestly.",
        ),
        talk(
            "HR",
            "en",
            "easy",
            "request_time_off get_leave_balance",
            "Good morning! Tell me a short joke before work starts.",
        ),
        talk("media", "en", "medium", "play_music pause_playback", "What do you think makes a song stick in the head?"),
        talk("food", "en", "medium", "order_food reserve_table", "I'm so full. That curry was worth every penny."),
        talk(
            "devops",
            "en",
            "medium",
            "restart_service get_service_logs",
            "Phew, quiet night shift so far. How are you doing?",
        ),
        talk("support", "zh", "easy", "create_ticket get_ticket", "谢谢你，问题已经解决了，辛苦啦！"),
        talk("e-commerce", "zh", "easy", "search_products view_cart", "你好呀，你叫什么名字？"),
        talk(
            "calendar",
            "de",
            "easy",
            "create_event list_events",
            "Danke dir, mehr brauche ich heute nicht. Schönen Feierabend!",
        ),
        talk("travel", "es", "easy", "search_flights search_hotels", "¡Hola! ¿Qué tal va el día?"),
        talk("weather", "ja", "easy", "get_weather get_forecast", "おはようございます。今日もよろしくお願いします。"),
        talk("housing", "fr", "easy", "rechercher_logement", "Merci beaucoup, vous avez été très aimable. Au revoir !"),
    ),
    "no_call_missing_info": (
        talk("travel", "en", "easy", "search_flights", "I need a flight.", system=ASSISTANT_NOTE),
        talk("banking", "en", "medium", "transfer_money", "Send my landlord the rent.", system=BANK_NOTE),
        talk(
            "healthcare",
            "en",
            "medium",
            "book_appointment get_lab_results",
            "Are my blood results in?",
            system=ASSISTANT_NOTE,
        ),
        talk("e-commerce", "en", "easy", "get_order track_parcel", "Where's my order?", system=ASSISTANT_NOTE),
        talk(
            "devops", "en", "medium", "deploy.rollback restart_service", "Roll it back, quick.", system=ASSISTANT_NOTE
        ),
        talk(
            "calendar", "en", "medium", "create_event", "Set up a meeting with the design team.", system=ASSISTANT_NOTE
        ),
        talk("HR", "en", "medium", "request_time_off", "I'd like some time off in spring.", system=ASSISTANT_NOTE),
        talk(
            "support",
            "en",
            "medium",
            "issue_refund",
            "I was charged twice, I want my money back.",
            system=ASSISTANT_NOTE,
        ),
        talk("communication", "en", "easy", "send_email send_sms", "Write to Clara for me.", system=ASSISTANT_NOTE),
        talk("maps", "en", "easy", "get_directions", "How do I get there?", system=ASSISTANT_NOTE),
        talk(
            "travel",
            "zh",
            "medium",
            "book_train_ticket",
            "我想买一张火车票。",
            system="缺少必要信息时请先询问用户，不要猜测。",
        ),
        talk(
            "healthcare",
            "zh",
            "medium",
            "request_refill",
            "帮我续一下药。",
            system="缺少必要信息时请先询问用户，不要猜测。",
        ),
        talk(
            "food",
            "de",
            "medium",
            "reserve_table",
            "Reservier uns bitte einen Tisch.",
            system="Frag nach, wenn Angaben fehlen.",
        ),
        talk(
            "banking",
            "es",
            "easy",
            "consultar_factura",
            "Quiero ver mi factura.",
            system="Si falta un dato, pregúntalo.",
        ),
        talk(
            "logistics",
            "ja",
            "medium",
            "check_delivery_slot",
            "荷物を再配達してほしいです。",
            system="情報が足りないときは質問してください。",
        ),
        talk(
            "travel",
            "fr",
            "medium",
            "search_trains",
            "Trouve-moi un train.",
            system="S'il manque une information, demande-la.",
        ),
    ),
    "no_call_irrelevant": (
        talk("weather", "en", "easy", "get_weather get_forecast", "Who wrote 'The Left Hand of Darkness'?"),
        talk(
            "banking",
            "en",
            "medium",
            "get_account_balance list_transactions",
            "Explain compound interest to a ten-year-old.",
        ),
        talk(
            "devops", "en", "medium", "restart_service get_service_logs", "What is the difference between TCP and UDP?"
        ),
        talk("e-commerce", "en", "easy", "search_products get_order", "What is 17 times 23?"),
        talk("calendar", "en", "easy", "create_event list_events", "Why do leap years exist?"),
        talk("smart home", "en", "medium", "set_light set_thermostat", "Write a two-line poem about the sea."),
        talk("maps", "en", "medium", "geocode get_directions", "What's the capital of Mongolia?"),
        talk(
            "HR",
            "en",
            "hard",
            "get_leave_balance request_time_off",
            "Rewrite politely: 'Your CV is a mess, try again.'",
        ),
        talk("healthcare", "en", "hard", "log_vitals get_lab_results", "What does 'systolic' mean, in general?"),
        talk(
            "finance",
            "en",
            "hard",
            "get_stock_quote create_price_alert",
            "What is the difference between a share and a bond?",
        ),
        talk(
            "travel",
            "en",
            "hard",
            "search_flights get_flight_status",
            "Write a regular expression for a 24-hour time like 07:45.",
        ),
        talk("smart home", "en", "hard", "set_light lock_all_doors", "Order me a large pizza from Luigi's."),
        talk("weather", "zh", "medium", "get_weather get_air_quality", "《红楼梦》的作者是谁？"),
        talk("banking", "zh", "medium", "convert_currency", "请用一句话解释什么是通货膨胀。"),
        talk("transport", "de", "medium", "fahrplanauskunft", "Wie lautet der Plural von „Kaktus“?"),
        talk("utilities", "es", "medium", "crear_incidencia", "¿Cuántos huesos tiene el cuerpo humano adulto?"),
        talk("food", "ja", "medium", "search_restaurant", "「一石二鳥」の意味を教えてください。"),
        talk("housing", "fr", "medium", "rechercher_logement", "Conjugue le verbe « venir » au présent."),
    ),
    "no_argument_tool": (
        call(
            "devops",
            "en",
            "easy",
            "list_incidents get_oncall_engineer",
            "Anything on fire right now? List the open incidents.",
        ),
        call("devops", "en", "easy", "get_oncall_engineer", "Who carries the pager at the moment?"),
        call(
            "smart home",
            "en",
            "easy",
            "get_home_status lock_all_doors arm_alarm",
            "Give me the state of everything at home.",
        ),
        call(
            "smart home", "en", "easy", "get_home_status lock_all_doors arm_alarm", "We're off to bed, lock up please."
        ),
        call(
            "smart home",
            "en",
            "medium",
            "get_home_status arm_alarm set_light",
            "Everyone has left, switch the burglar alarm on.",
        ),
        call("e-commerce", "en", "easy", "view_cart empty_cart add_to_cart", "What have I put in my cart so far?"),
        call(
            "e-commerce",
            "en",
            "medium",
            "view_cart empty_cart add_to_cart",
            "Changed my mind about all of it. Clear the cart.",
        ),
        call(
            "HR", "en", "easy", "list_open_positions search_candidates", "Which jobs are we hiring for at the moment?"
        ),
        call("time", "en", "easy", "get_current_time", "What time is it?"),
        call("media", "en", "easy", "pause_playback play_music", "The phone's ringing, stop the music for a second."),
        call("time", "zh", "easy", "get_current_time get_time_in", "现在几点了？"),
        call("smart home", "zh", "easy", "lock_all_doors get_home_status", "把家里所有的门都锁上。"),
        call("smart home", "de", "easy", "get_home_status arm_alarm", "Wie ist der Zustand aller Geräte im Haus?"),
        call("e-commerce", "es", "easy", "view_cart empty_cart", "Vacía mi carrito, por favor."),
        call("time", "ja", "easy", "get_current_time", "今、何時ですか。"),
        call("media", "fr", "easy", "pause_playback play_music", "Mets la musique en pause, s'il te plaît."),
    ),
    "nested_objects": (
        call(
            "travel",
            "en",
            "medium",
            "search_hotels",
            "Two adults and our kids, 4 and 9, Valencia, from 2026-04-02 to 2026-04-09. A pool is a "
            "must, at most 160 a night.",
        ),
        call(
            "travel",
            "en",
            "hard",
            "search_hotels search_flights",
            "I'm alone in Vienna from 12 to 14 January 2026. At least four stars, with gym and "
            "breakfast, under 200 euros.",
        ),
        call(
            "HR",
            "en",
            "hard",
            "submit_expense",
            "File my Lyon trip for E-778 (customer workshop): train 84.50 EUR on 2025-10-06, hotel 129 EUR and dinner "
            "31.20 EUR, both on 2025-10-07.",
        ),
        call(
            "e-commerce",
            "en",
            "medium",
            "create_return",
            "Return from order 55210: one pair of BOOT-42 (too small) and two SOCK-M (changed my mind).",
        ),
        call(
            "travel",
            "de",
            "medium",
            "search_hotels",
            "Hotel in Dresden für zwei Erwachsene, 5. bis 8. März 2026, mit Parkplatz.",
        ),
        call(
            "travel",
            "fr",
            "medium",
            "search_hotels",
            "Un hôtel à Annecy pour 2 adultes du 14 au 16 mai 2026, avec piscine.",
        ),
    ),
    "arrays": (
        call(
            "healthcare",
            "en",
            "medium",
            "check_interactions",
            "Can ibuprofen, lisinopril and hydrochlorothiazide be combined? Check.",
        ),
        call(
            "food",
            "en",
            "easy",
            "find_recipe",
            "I've got leeks, potatoes and cream, and half an hour. Vegetarian, please. Find me recipes.",
        ),
        call(
            "smart home",
            "en",
            "easy",
            "start_vacuum",
            "Vacuum the kitchen and the hallway, quietly, the baby's asleep.",
        ),
        call(
            "HR",
            "en",
            "medium",
            "search_candidates",
            "Find applicants who know Rust, Kafka and PostgreSQL, five years at least, remote only.",
        ),
        call(
            "research",
            "en",
            "hard",
            "plot_chart",
            "Bar chart titled 'Visitors' with one series 'Museum': Jan 410, Feb 380, Mar 525.",
        ),
        call(
            "communication",
            "en",
            "medium",
            "send_email",
            "Email ana@example.org and raj@example.org, subject 'Lunch moved', text 'We meet at "
            "12:45 instead of 12:00.'",
        ),
        call("food", "zh", "medium", "find_recipe", "家里有鸡蛋、番茄和豆腐，三十分钟内能做什么菜？找几个菜谱。"),
        call(
            "food",
            "es",
            "medium",
            "find_recipe",
            "Tengo garbanzos, espinacas y tomate. Búscame una receta vegana de menos de 40 minutos.",
        ),
    ),
    "enums": (
        call("banking", "en", "easy", "block_card", "Lost my wallet on the bus. Block the card ending in 0368."),
        call(
            "HR",
            "en",
            "medium",
            "request_time_off",
            "E-120 here. I'm down with the flu, sick leave 2025-11-12 through 2025-11-14.",
        ),
        call(
            "support",
            "en",
            "medium",
            "create_ticket",
            "Open an urgent ticket: 'Exports fail', every CSV export since this morning is empty.",
        ),
        call(
            "healthcare",
            "en",
            "medium",
            "book_appointment",
            "P-33018 has a rash and wants the skin doctor on 2025-12-09, after lunch.",
        ),
        call("e-commerce", "en", "medium", "search_products", "Cheapest first: headphones under 80 euros."),
        call(
            "healthcare", "de", "medium", "book_appointment", "P-51170 möchte am 15.12.2025 vormittags zum Augenarzt."
        ),
        call(
            "HR",
            "ja",
            "medium",
            "request_time_off",
            "社員番号E-640です。2025年12月24日から26日まで有給休暇を申請してください。",
        ),
    ),
    "unions": (
        call("smart home", "en", "medium", "set_light", "Office light on, colour #ff8800."),
        call("smart home", "en", "hard", "set_light", "Bedroom lamp on at 40 percent with RGB 120, 0, 200."),
        call("smart home", "en", "easy", "set_blinds", "Open the blinds in the study 30 percent."),
        call("calendar", "en", "medium", "set_reminder", "Remind me in 25 minutes to take the bread out."),
        call("devops", "en", "hard", "set_config_value", "Put search-api's cache.ttl back to its default."),
        call("devops", "en", "medium", "set_config_value", "For billing, set feature.invoices_v_two to true."),
        call(
            "support", "en", "medium", "issue_refund", "Refund pay_31KD completely, the customer never got the goods."
        ),
        call("smart home", "zh", "medium", "set_light", "把客厅的灯打开，调成蓝色，亮度百分之六十。"),
        call("calendar", "de", "medium", "set_reminder", "Erinnere mich in 45 Minuten daran, die Wäsche aufzuhängen."),
    ),
    "number_ranges": (
        call(
            "healthcare",
            "en",
            "medium",
            "log_vitals",
            "Vitals for P-10442: pulse 72, 36.8 °C, 128 over 82, saturation 97.",
        ),
        call(
            "banking",
            "en",
            "medium",
            "compute_loan",
            "What would 240,000 at 3.4 percent over 25 years cost me a month?",
        ),
        call("devops", "en", "easy", "scale-deployment", "Bring web-frontend up to 12 replicas."),
        call("maps", "en", "easy", "reverse_geocode", "Which address is at latitude -33.8568, longitude 151.2153?"),
        call("smart home", "en", "easy", "set_thermostat", "Nursery to 20.5 degrees, please."),
        call(
            "weather", "en", "medium", "get_forecast", "Give me the forecast for Tromsø for the longest period you can."
        ),
        call(
            "banking",
            "fr",
            "medium",
            "compute_loan",
            "Calcule la mensualité d'un prêt de 18 000 euros à 4,9 % sur 5 ans.",
        ),
        call(
            "healthcare",
            "ja",
            "medium",
            "log_vitals",
            "P-20833の患者さん、脈拍88、体温37.9度、酸素飽和度95％で記録してください。",
        ),
    ),
    "patterns_formats": (
        call("devops", "en", "medium", "add_firewall_rule", "Block 203.0.113.77 on port 22."),
        call(
            "e-commerce",
            "en",
            "hard",
            "register_webhook",
            "Send paid and refunded orders to https://hooks.example.net/shop, signed with secret "
            "6f1c2a8e-0d47-4b1b-9c55-7a3e2f9d1b60.",
        ),
        call(
            "communication", "en", "medium", "send_sms", "Text +46 70 174 06 20 that the package is with the neighbour."
        ),
        call("time", "en", "easy", "get_time_in", "How late is it in Buenos Aires?"),
        call("travel", "en", "medium", "cancel_booking", "Please cancel booking ZT84QW, I've read the terms."),
        call(
            "communication",
            "de",
            "medium",
            "send_sms",
            "Schick eine SMS an +491713920011: „Ich komme zehn Minuten später.“",
        ),
        call("food", "fr", "medium", "reserve_table", "Réserve chez Le Petit Four le 2026-02-14 à 20 h pour deux."),
    ),
    "closed_objects": (
        call(
            "banking",
            "en",
            "medium",
            "transfer_money",
            "From my current account, 74.90 euros to NL91ABNA0417164300, reference 'bike repair'. Do it now.",
            system=BANK_NOTE,
        ),
        call(
            "devops",
            "en",
            "medium",
            "create-issue close-issue",
            "File a bug: 'Crash on empty upload'. Uploading a file of zero bytes ends in a stack "
            "trace. Mark it urgent if you can.",
        ),
        call(
            "calendar",
            "en",
            "hard",
            "create_recurring_event",
            "Standup at 09:45 every Monday, Wednesday and Friday.",
        ),
        call(
            "banking",
            "es",
            "hard",
            "transfer_money get_account_balance",
            "Transfiere 320 euros de mi cuenta corriente a ES9121000418450200051332, concepto «alquiler».",
            system=BANK_NOTE,
        ),
        call(
            "software",
            "de",
            "medium",
            "create-issue",
            "Melde einen Fehler: „Export leer“. Die CSV-Datei enthält nur die Kopfzeile.",
        ),
        call("calendar", "zh", "medium", "create_recurring_event", "每天早上07:15提醒我吃维生素，建一个重复日程。"),
        call(
            "calendar",
            "ja",
            "medium",
            "create_recurring_event",
            "毎月1日の10:00に「家賃の振込」の予定を入れてください。",
        ),
    ),
    "defs_ref": (
        call(
            "e-commerce",
            "en",
            "hard",
            "place_order",
            "Order 3 of MUG-7 and 1 of POT-2 to Prinsengracht 12, 1015 DV Amsterdam, NL; the bill goes to Rue Haute 5, "
            "1000 Brussels, BE.",
        ),
        call(
            "HR",
            "en",
            "hard",
            "update_employee",
            "E-778 moved to 14 Elm Close, Leeds LS6 2AB, GB. New emergency contact: Joan Pike, +447700900123.",
        ),
        call(
            "HR",
            "en",
            "medium",
            "update_employee get_leave_balance",
            "From now on E-091 works 28 hours a week. Change the record.",
        ),
        call(
            "food",
            "en",
            "medium",
            "order_food",
            "From Saigon Corner for 19:15: two pho with extra coriander and one bun cha without peanuts.",
        ),
        call(
            "devops",
            "en",
            "hard",
            "query_events",
            "At most 50 events where the severity is 'critical' and the source is either 'db' or 'cache'.",
        ),
        call("devops", "en", "medium", "query_events", "All events whose message contains 'timeout'."),
        call(
            "food",
            "de",
            "hard",
            "order_food",
            "Bei Pizzeria Vesuvio: dreimal Margherita, alle ohne Basilikum, für 18:30.",
        ),
        call(
            "e-commerce",
            "es",
            "hard",
            "place_order",
            "Pide dos unidades de LAMP-3 a la calle Mayor 8, 28013 Madrid, España (ES). Nota: «Feliz "
            "cumpleaños, Inés».",
        ),
        call(
            "food",
            "ja",
            "hard",
            "order_food",
            "「さくら亭」で天丼二つ（一つは追加の海老付き）と味噌汁一つを18:45に届けて。",
        ),
    ),
    "const_oneof": (
        call(
            "devops",
            "en",
            "hard",
            "create_alert_rule",
            "Alert #payments-oncall when the error_rate of checkout-api goes above 2.5.",
        ),
        call(
            "devops",
            "en",
            "hard",
            "create_alert_rule",
            "If nightly-export sends no data for 90 minutes, mail ops@example.com and post in #data-eng.",
        ),
        call("e-commerce", "en", "medium", "pay_order", "Pay order 60177 with voucher SPRING-25-XY."),
        call("e-commerce", "en", "medium", "pay_order get_order", "Settle 60178 with my stored card card_5512."),
        call("calendar", "en", "medium", "create_recurring_event", "Rent reminder on the 28th of each month at 08:00."),
        call("calendar", "fr", "hard", "create_recurring_event", "Ajoute « Yoga » tous les mardis et jeudis à 18:30."),
        call("e-commerce", "zh", "medium", "pay_order", "用SEPA支付订单71002，IBAN是 FR7630006000011234567890189。"),
    ),
    "multi_turn_call": (
        call(
            "calendar",
            "en",
            "medium",
            "find_free_slots create_event",
            "Find half an hour for me (lena) and omar on 2025-11-19.",
            Use("find_free_slots", {"people": ["lena", "omar"], "date": "2025-11-19", "minutes": 30}),
            Got({"slots": ["10:00", "14:30"]}),
            Say("You are both free at 10:00 and at 14:30. Which one shall I take?"),
            "14:30. Call it 'Budget check' and book it.",
            system=TODAY_NOTE,
        ),
        call(
            "e-commerce",
            "en",
            "medium",
            "get_order track_parcel",
            "Order 9915: has it shipped, and where is the parcel now?",
            Use("get_order", {"order_id": "9915"}),
            Got({"order_id": "9915", "state": "shipped", "tracking_number": "JD0146000281"}),
        ),
        call(
            "devops",
            "en",
            "hard",
            "get_service_health get_service_logs restart_service",
            "Something is off with invoice-worker. Check its health, and if it isn't up get me the "
            "last 30 error lines.",
            Use("get_service_health", {"service": "invoice-worker"}),
            Got({"service": "invoice-worker", "status": "degraded"}),
        ),
        call(
            "software",
            "en",
            "hard",
            "files.read files.write files.list",
            "There's a typo in docs/setup.md: 'instal'. Fix it.",
            Use("files.read", {"path": "docs/setup.md"}),
            Got("# Setup\n\nTo instal the tool, run the script.\n"),
            system=CODING_NOTE,
        ),
        call(
            "software",
            "en",
            "medium",
            "files.list files.read",
            "What does the newest migration do?",
            Use("files.list", {"folder": "migrations"}),
            Got(["0001_init.sql", "0002_users.sql", "0003_add_index.sql"]),
            system=CODING_NOTE,
        ),
        call(
            "travel",
            "en",
            "hard",
            "search_flights search_hotels",
            "Find me a flight from HAM to NCE on 2026-05-20, economy.",
            Use("search_flights", {"origin": "HAM", "destination": "NCE", "date": "2026-05-20", "cabin": "economy"}),
            Got({"flights": []}),
            Say("There is no flight from Hamburg to Nice on 20 May 2026."),
            "Then try the day after.",
        ),
        call(
            "banking",
            "en",
            "medium",
            "get_account_balance list_transactions transfer_money",
            "How much is in my current account?",
            Use("get_account_balance", {"account_id": "CHK-2201"}),
            Got({"account_id": "CHK-2201", "balance": 412.77, "currency": "EUR"}),
            Say("Your current account holds 412.77 EUR."),
            "That's less than I thought. Show me the debits from 1 to 10 November 2025.",
            system=BANK_NOTE,
        ),
        call(
            "research",
            "en",
            "hard",
            "search_papers get_citations get_paper",
            "Find the paper that introduced LoRA for language models, then tell me who cites it.",
            Use("search_papers", {"query": "LoRA low-rank adaptation of large language models", "limit": 1}),
            Got({"results": [{"title": "LoRA", "doi": "10.48550/arXiv.2106.09685"}]}),
        ),
        call(
            "weather",
            "en",
            "easy",
            "get_weather get_forecast",
            "Weather in Reykjavik?",
            Use("get_weather", {"city": "Reykjavik", "unit": "celsius"}),
            Got({"city": "Reykjavik", "temperature": 3, "condition": "sleet"}),
            Say("3 °C with sleet at the moment."),
            "And in Faro?",
        ),
        call(
            "healthcare",
            "en",
            "hard",
            "get_lab_results book_appointment",
            "Patient P-10442. Get the liver panel; if it's flagged, book general medicine on 2025-11-21.",
            Use("get_lab_results", {"patient_id": "P-10442", "panel": "liver"}),
            Got({"panel": "liver", "flagged": True, "values": {"ALT": 96, "AST": 71}}),
        ),
        call(
            "support",
            "en",
            "hard",
            "get_ticket issue_refund escalate_ticket",
            "Look at T-6104 and refund what the customer asks for, if it's under 50 euros.",
            Use("get_ticket", {"ticket_id": "T-6104"}),
            Got(
                {
                    "ticket_id": "T-6104",
                    "payment_id": "pay_72QF",
                    "text": "I was billed 19.90 EUR for a lamp I never got.",
                }
            ),
        ),
        call(
            "travel",
            "zh",
            "hard",
            "search_trains book_train_ticket",
            "查一下2025年12月5日早上八点以后从北京到天津的火车。",
            Use("search_trains", {"from_station": "北京南", "to_station": "天津", "departure": "2025-12-05T08:00"}),
            Got({"trains": [{"number": "C2009", "departure": "08:20", "second_class": "有票"}]}),
            Say("C2009次08:20发车，二等座有票。需要预订吗？"),
            "订吧，二等座，乘客王磊。",
        ),
        call(
            "maps",
            "de",
            "medium",
            "geocode find_nearby get_directions",
            "Finde eine Ladesäule bei der Oper in Leipzig.",
            Use("find_nearby", {"kind": "charging_station", "near": "Oper Leipzig", "radius_m": 1000}),
            Got({"places": [{"name": "Ladepunkt Goethestraße 2", "distance_m": 240}]}),
            Say("Die nächste ist in der Goethestraße 2, 240 Meter entfernt."),
            "Wie gehe ich von dort zu Fuß zur Oper Leipzig?",
        ),
        call(
            "finance",
            "es",
            "medium",
            "get_stock_quote create_price_alert",
            "¿A cuánto está SAN?",
            Use("get_stock_quote", {"symbol": "SAN"}),
            Got({"symbol": "SAN", "price": 8.74, "currency": "EUR"}),
            Say("SAN cotiza a 8,74 euros."),
            "Avísame si baja de 8,20.",
        ),
        call(
            "food",
            "ja",
            "hard",
            "search_restaurant reserve_table",
            "新宿で寿司屋を探して。",
            Use("search_restaurant", {"area": "新宿", "genre": "sushi"}),
            Got({"restaurants": [{"name": "鮨 まつ"}, {"name": "すし処 花"}]}),
            Say("「鮨 まつ」と「すし処 花」が見つかりました。"),
            "「鮨 まつ」を2025年12月6日の19時に4人で予約してください。",
        ),
    ),
    "multi_turn_answer": (
        talk(
            "weather",
            "en",
            "easy",
            "get_weather get_forecast",
            "Is it freezing in Tampere right now?",
            Use("get_weather", {"city": "Tampere", "unit": "celsius"}),
            Got({"city": "Tampere", "temperature": -6, "condition": "clear"}),
        ),
        talk(
            "travel",
            "en",
            "medium",
            "get_flight_status search_flights",
            "Is BA117 delayed?",
            Use("get_flight_status", {"flight_number": "BA117"}),
            Got({"flight": "BA117", "status": "delayed", "new_departure": "16:40", "gate": "C61"}),
        ),
        talk(
            "weather",
            "en",
            "medium",
            "get_weather get_air_quality",
            "Compare the temperature in Milan and Turin.",
            Use("get_weather", {"city": "Milan"}),
            Use("get_weather", {"city": "Turin"}),
            Got({"city": "Milan", "temperature": 14}),
            Got({"city": "Turin", "temperature": 12}),
        ),
        talk(
            "banking",
            "en",
            "medium",
            "get_account_balance transfer_money",
            "Move 60 euros to DE02120300000000202051 from my current account.",
            Use(
                "transfer_money",
                {"source_account": "CHK-2201", "iban": "DE02120300000000202051", "amount": 60, "currency": "EUR"},
            ),
            Got({"status": "done", "reference": "TR-99127"}),
            system=BANK_NOTE,
        ),
        talk(
            "e-commerce",
            "en",
            "hard",
            "get_order create_return",
            "Can I still return order 3301?",
            Use("get_order", {"order_id": "3301"}),
            Got({"order_id": "3301", "delivered": "2025-08-02", "return_possible_until": "2025-09-01"}),
            system=TODAY_NOTE,
        ),
        talk(
            "devops",
            "en",
            "hard",
            "get_service_health restart_service",
            "Check scheduler. Restart it on staging only if it is down.",
            Use("get_service_health", {"service": "scheduler"}),
            Got({"service": "scheduler", "status": "up", "uptime_hours": 311}),
        ),
        talk(
            "HR",
            "en",
            "medium",
            "get_leave_balance request_time_off",
            "How many days off does E-212 still have?",
            Use("get_leave_balance", {"employee_id": "E-212"}),
            Got({"employee_id": "E-212", "remaining_days": 6.5}),
            Say("Employee E-212 has 6.5 days left."),
            "Is that more than a working week?",
        ),
        talk(
            "research",
            "en",
            "medium",
            "get_paper get_citations",
            "What is 10.1016/j.cell.2011.02.013 about?",
            Use("get_paper", {"doi": "10.1016/j.cell.2011.02.013"}),
            Got(
                {
                    "title": "Hallmarks of Cancer: The Next Generation",
                    "abstract": "Six acquired capabilities of tumours...",
                }
            ),
        ),
        talk(
            "calendar",
            "en",
            "medium",
            "list_events delete_event",
            "What's planned on 2025-11-14?",
            Use("list_events", {"date": "2025-11-14"}),
            Got({"events": []}),
        ),
        talk(
            "smart home",
            "en",
            "easy",
            "lock_all_doors arm_alarm",
            "Lock the house.",
            Use("lock_all_doors", {}),
            Got({"locked": ["front", "garden", "garage"]}),
            Say("The front, garden and garage doors are locked."),
            "Great, good night!",
        ),
        talk(
            "e-commerce",
            "zh",
            "medium",
            "get_order track_parcel",
            "订单2087什么时候能到？",
            Use("get_order", {"order_id": "2087"}),
            Got({"order_id": "2087", "state": "运输中", "expected": "2025-11-15"}),
        ),
        talk(
            "support",
            "de",
            "medium",
            "get_ticket escalate_ticket",
            "Wie steht es um Ticket T-4420?",
            Use("get_ticket", {"ticket_id": "T-4420"}),
            Got({"ticket_id": "T-4420", "status": "gelöst", "answer": "Das Update 5.2 behebt den Fehler."}),
        ),
        talk(
            "banking",
            "es",
            "easy",
            "convert_currency",
            "¿Cuánto son 250 dólares en euros?",
            Use("convert_currency", {"amount": 250, "from_currency": "USD", "to_currency": "EUR"}),
            Got({"result": 231.4, "rate": 0.9256}),
        ),
        talk(
            "weather",
            "ja",
            "easy",
            "get_weather",
            "金沢は今、雨ですか。",
            Use("get_weather", {"city": "金沢"}),
            Got({"city": "金沢", "condition": "曇り", "temperature": 11}),
        ),
        talk(
            "travel",
            "fr",
            "medium",
            "get_flight_status",
            "Le vol TO3402 est-il parti ?",
            Use("get_flight_status", {"flight_number": "TO3402"}),
            Got({"flight": "TO3402", "status": "departed", "departed_at": "09:12"}),
        ),
    ),
    "long_system": (
        call(
            "e-commerce",
            "en",
            "medium",
            "get_order create_return issue_refund",
            "Is order 70-4415 on its way?",
            system=SHOP_POLICY,
        ),
        call(
            "e-commerce",
            "en",
            "hard",
            "get_order create_return issue_refund escalate_ticket",
            "The watering can from pay_19TT leaks. I keep it as a planter, just give me 12 euros back.",
            system=SHOP_POLICY,
        ),
        talk(
            "e-commerce",
            "en",
            "medium",
            "get_order create_return issue_refund",
            "How long do I have to send something back?",
            system=SHOP_POLICY,
        ),
        talk(
            "e-commerce",
            "en",
            "hard",
            "get_order track_parcel",
            "My parcel hasn't come. Where is it?",
            system=SHOP_POLICY,
        ),
        call(
            "devops",
            "en",
            "medium",
            "restart_service get_service_health get_service_logs list_incidents",
            "Restart notify-worker on production, please.",
            system=ONCALL_RUNBOOK,
        ),
        talk(
            "devops",
            "en",
            "hard",
            "restart_service scale-deployment",
            "Restart ledger-core on staging, it hangs.",
            system=ONCALL_RUNBOOK,
        ),
        talk("devops", "en", "hard", "restart_service", "Please restart fraud-scoring.", system=ONCALL_RUNBOOK),
        call(
            "devops",
            "en",
            "hard",
            "get_service_metrics get_service_logs scale-deployment",
            "Error rate of checkout-api over the last 45 minutes?",
            system=ONCALL_RUNBOOK,
        ),
        talk(
            "devops",
            "en",
            "medium",
            "list_incidents get_service_health",
            "Remind me: what counts as severity two?",
            system=ONCALL_RUNBOOK,
        ),
        call(
            "healthcare",
            "en",
            "medium",
            "book_appointment get_lab_results request_refill",
            "P-60231, my knee hurts on stairs. I want to see the orthopedist on 2025-11-27 in the morning.",
            system=CLINIC_DESK,
        ),
        talk(
            "healthcare",
            "en",
            "hard",
            "book_appointment get_lab_results",
            "I have a crushing pain in my chest and my left arm is numb. Can I come in on 2025-12-01? I'm P-60231.",
            system=CLINIC_DESK,
        ),
        talk(
            "healthcare",
            "en",
            "medium",
            "book_appointment request_refill",
            "Please repeat my metformin.",
            system=CLINIC_DESK,
        ),
        call(
            "travel",
            "es",
            "hard",
            "search_hotels search_flights search_trains",
            "Necesito hotel en Lisboa para mí solo, del 3 al 5 de febrero de 2026.",
            system=TRAVEL_DESK_ES,
        ),
        talk(
            "travel",
            "es",
            "medium",
            "search_flights search_trains",
            "Búscame un vuelo de Madrid a Lima.",
            system=TRAVEL_DESK_ES,
        ),
        talk(
            "travel",
            "es",
            "medium",
            "search_flights search_hotels",
            "¿Cuánto es la dieta en el extranjero?",
            system=TRAVEL_DESK_ES,
        ),
    ),
    "dotted_names": (
        call(
            "software",
            "en",
            "easy",
            "files.read files.write files.list",
            "Open README.md and show me the first 20 lines.",
        ),
        call(
            "software",
            "en",
            "medium",
            "files.read files.write files.list",
            "Create notes/todo.txt containing just 'buy milk'.",
        ),
        call("software", "en", "easy", "files.list files.read", "Which files are in the src folder?"),
        call(
            "devops", "en", "easy", "k8s.get-pods scale-deployment", "Pods of app=cart in the namespace shop, please."
        ),
        call("devops", "en", "medium", "deploy.rollback k8s.get-pods", "catalog 3.1.0 is broken. Go back to 3.0.7."),
        call(
            "software",
            "en",
            "medium",
            "create-issue close-issue",
            "Open a feature request 'Dark mode': users want a dark theme in the settings. Assign it to yuki.",
        ),
        call(
            "software", "en", "easy", "create-issue close-issue", "Issue 482 is done, close it and say 'Fixed in 1.9'."
        ),
        call("software", "zh", "medium", "files.read files.list files.write", "看一下 config/app.toml 里写了什么。"),
        call(
            "devops",
            "de",
            "medium",
            "scale-deployment k8s.get-pods",
            "Skaliere api-gateway im Namespace edge auf 6 Replikate.",
        ),
        call(
            "software",
            "ja",
            "medium",
            "close-issue create-issue",
            "課題番号207を「修正済みです」とコメントして閉じてください。",
        ),
        call("software", "fr", "medium", "files.list files.read", "Quels fichiers y a-t-il dans le dossier tests ?"),
    ),
    "input_role": (
        call(
            "smart home",
            "en",
            "easy",
            "set_thermostat set_light",
            "It's chilly in the study, make it 22.",
            system="You control a house. Temperatures are in degrees Celsius.",
            system_role="_input",
        ),
        call(
            "banking",
            "en",
            "medium",
            "get_account_balance list_transactions",
            "What's on my savings account?",
            system=BANK_NOTE,
            system_role="_input",
        ),
        talk(
            "banking",
            "en",
            "medium",
            "transfer_money",
            "Can you do transfers to other banks as well, in principle?",
            system=BANK_NOTE,
            system_role="_input",
        ),
        call(
            "travel",
            "de",
            "medium",
            "search_trains",
            "Ich will am 12.12.2025 ab 9 Uhr von Erfurt Hbf nach Jena Paradies.",
            system="Du bist ein Reiseassistent. Antworte auf Deutsch.",
            system_role="_input",
        ),
        talk(
            "e-commerce",
            "zh",
            "easy",
            "search_products get_order",
            "你能做些什么？",
            system="你是一家网店的客服助手。",
            system_role="_input",
        ),
    ),
    "forced_choice": (
        call(
            "weather", "en", "easy", "get_weather get_forecast", "Tell me about Naples today.", tool_choice="required"
        ),
        call(
            "support",
            "en",
            "medium",
            "create_ticket search_help_articles",
            "The invoice PDF is blank when I download it.",
            tool_choice=force("create_ticket"),
        ),
        call(
            "research",
            "en",
            "medium",
            "search_papers web_search",
            "What's new on solid-state batteries since 2024?",
            tool_choice=force("search_papers"),
        ),
        call("time", "de", "easy", "get_current_time get_time_in", "Wie spät ist es bei mir?", tool_choice="required"),
    ),
    "choice_none": (
        talk("weather", "en", "medium", "get_weather", "What's the weather like in Seville?", tool_choice="none"),
        talk("finance", "en", "medium", "get_stock_quote", "Quote for TSLA, please.", tool_choice="none"),
        talk("smart home", "en", "easy", "get_home_status", "Is the garage door open?", tool_choice="none"),
        talk(
            "maps",
            "fr",
            "medium",
            "get_directions",
            "Comment aller à pied de Bellecour à Perrache à Lyon ?",
            tool_choice="none",
        ),
    ),
}
"""Rows written one by one, by category."""

TEMPLATES: dict[str, tuple[Template, ...]] = {
    "single_call": (
        Template(
            call(
                "weather",
                "en",
                "easy",
                "get_weather",
                "What's the weather in {0} right now, in {1}?",
                tool_choice="auto",
            ),
            (("Edinburgh", "celsius"), ("Denver", "fahrenheit"), ("Cape Town", "celsius")),
        ),
        Template(
            call("travel", "en", "medium", "search_flights", "Find {2} flights from {0} to {1} on {3} for {4}."),
            (
                ("JFK", "SFO", "economy", "2026-03-11", "one passenger"),
                ("ZRH", "SIN", "business", "2026-02-02", "two passengers"),
                ("DUB", "ATH", "economy", "2026-06-19", "a family of four"),
            ),
        ),
        Template(
            call("banking", "en", "easy", "convert_currency", "How much is {0} {1} in {2}?"),
            (("180", "GBP", "EUR"), ("12500", "JPY", "USD"), ("99.95", "CHF", "GBP")),
        ),
        Template(
            call("travel", "zh", "easy", "get_flight_status", "请问航班{0}现在是什么状态？"),
            (("CA981",), ("MU5101",)),
        ),
        Template(
            call("weather", "zh", "easy", "get_forecast", "{0}未来{1}天天气怎么样？"),
            (("昆明", "3"), ("哈尔滨", "7")),
        ),
        Template(
            call("travel", "de", "medium", "search_trains", "Such mir einen Zug von {0} nach {1} am {2}, ab {3} Uhr."),
            (("Köln Hbf", "Mainz Hbf", "04.12.2025", "9"), ("Ulm Hbf", "München Hbf", "19.01.2026", "14")),
        ),
        Template(
            call("weather", "es", "easy", "get_weather", "¿Qué tiempo hace ahora en {0}?"),
            (("Sevilla",), ("Montevideo",)),
        ),
        Template(
            call("finance", "ja", "easy", "get_stock_quote", "{0}の株価を調べてください。"),
            (("SONY",), ("TM",)),
        ),
        Template(
            call("weather", "fr", "easy", "get_forecast", "Quel temps fera-t-il à {0} ces {1} prochains jours ?"),
            (("Brest", "4"), ("Genève", "6")),
        ),
    ),
    "choose_tool": (
        Template(
            call(
                "travel",
                "en",
                "medium",
                "search_flights search_trains search_hotels get_flight_status cancel_booking",
                "{0}",
            ),
            (
                ("Any trains from Bologna Centrale to Verona Porta Nuova on 2026-03-07 after 10:00?",),
                ("Is flight IB3166 on time?",),
                ("I can't go after all, cancel the booking MX90TR.",),
            ),
        ),
        Template(
            call(
                "healthcare",
                "fr",
                "medium",
                "book_appointment get_lab_results log_vitals request_refill check_interactions",
                "Patient {0} : {1}",
            ),
            (
                ("P-40021", "renouvelle son ordonnance de lévothyroxine 75 mg."),
                ("P-40388", "montre-moi son bilan lipidique."),
            ),
        ),
        Template(
            call(
                "maps",
                "ja",
                "medium",
                "geocode get_directions find_nearby",
                "{0}から{1}まで{2}での行き方を教えてください。",
            ),
            (("上野駅", "浅草寺", "徒歩"), ("京都駅", "金閣寺", "公共交通機関")),
        ),
    ),
    "parallel_calls": (
        Template(
            call(
                "weather",
                "en",
                "easy",
                "get_weather",
                "Compare the current weather in {0}, {1} and {2}.",
                parallel=True,
            ),
            (("Lima", "Quito", "Bogotá"), ("Bergen", "Malmö", "Turku")),
        ),
        Template(
            call("travel", "es", "medium", "get_flight_status", "¿Van a la hora los vuelos {0} y {1}?", parallel=True),
            (("IB6830", "UX091"), ("VY1004", "LA2485")),
        ),
        Template(
            call(
                "weather", "fr", "medium", "get_weather", "Donne-moi la météo actuelle à {0} et à {1}.", parallel=True
            ),
            (("Lille", "Marseille"), ("Dakar", "Tunis")),
        ),
    ),
    "no_call_missing_info": (
        Template(
            talk("weather", "en", "easy", "get_weather", "{0}", system="Never guess the user's location; ask for it."),
            (("Do I need a coat today?",), ("What's it like outside?",)),
        ),
    ),
    "enums": (
        Template(
            call("banking", "en", "medium", "block_card", "{0} Please block the card ending in {1}."),
            (
                ("Someone in Las Vegas just used my card, and I'm in Wales.", "5540"),
                ("My card was in the bag that got snatched.", "2297"),
                ("The chip of my card has cracked in two.", "8063"),
            ),
        ),
        Template(
            call("e-commerce", "es", "easy", "search_products", "Busca {0} por menos de {1} euros, {2}."),
            (
                ("una tienda de campaña", "150", "las mejor valoradas primero"),
                ("un cortacésped", "300", "de la más barata a la más cara"),
            ),
        ),
        Template(
            call("devops", "zh", "medium", "restart_service", "请在{0}重启{1}服务。"),
            (("测试环境（staging）", "user-center"), ("生产环境（production）", "coupon-api")),
        ),
    ),
    "number_ranges": (
        Template(
            call("smart home", "en", "easy", "set_thermostat", "Set the {0} to {1} degrees."),
            (("bathroom", "23"), ("guest room", "17.5")),
        ),
        Template(
            call(
                "banking",
                "de",
                "medium",
                "compute_loan",
                "Wie hoch ist die Monatsrate für {0} Euro zu {1} Prozent über {2} Jahre?",
            ),
            (("15.000", "5,2", "4"), ("320.000", "3,6", "30")),
        ),
    ),
    "nested_objects": (
        Template(
            call("travel", "ja", "medium", "search_hotels", "{0}で{1}に泊まれるホテルを探して。大人{2}人です。"),
            (("箱根", "2026年1月10日から12日まで", "2"), ("福岡", "2026年3月1日から2日まで", "1")),
        ),
        Template(
            call("e-commerce", "zh", "hard", "create_return", "订单{0}里的{1}有质量问题，我要退{2}件。"),
            (("83310", "JACKET-L", "1"), ("83477", "CUP-22", "3")),
        ),
    ),
    "patterns_formats": (
        Template(
            call("food", "de", "medium", "reserve_table", "Tisch für {0} im {1} am {2} um {3} Uhr, bitte reservieren."),
            (("vier", "Goldenen Hirsch", "20.12.2025", "19"), ("sechs", "Café Linde", "06.01.2026", "12:30")),
        ),
        Template(
            call("travel", "en", "easy", "cancel_booking", "Cancel {0} for me, I'm sure."),
            (("K3PW7A",), ("88XNB1",)),
        ),
    ),
    "arrays": (
        Template(
            call("calendar", "en", "medium", "find_free_slots", "When are {0} all free for {1} minutes on {2}?"),
            (("ines, bo and karim", "45", "2025-12-08"), ("mia, noah, li and paul", "90", "2026-01-13")),
        ),
        Template(
            call("healthcare", "fr", "medium", "check_interactions", "Vérifie les interactions entre {0}."),
            (("la warfarine et l'amiodarone",), ("le tramadol, la sertraline et le zolpidem",)),
        ),
    ),
}
"""Rows with slots, by category."""
