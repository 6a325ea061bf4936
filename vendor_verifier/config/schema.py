"""The shape of config.yaml as pydantic models, which also give the schema that editors check with."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import models_json_schema

from vendor_verifier.config.run_config import OWN_BODY_KEYS, Count, RunConfig, help_of
from vendor_verifier.config.secret_text import is_placeholder, looks_secret, reference, references
from vendor_verifier.registry import WIRES
from vendor_verifier.transport.proxies import is_loopback

_HOST = re.compile(r"[A-Za-z0-9._:%-]+")
_PERSONA = re.compile(r"sim://([a-z][a-z0-9-]{0,40})")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_TRANSPORT_HEADERS = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"}
)


class Address(NamedTuple):
    """A usable base url. ``origin`` is scheme, host and port; ``local`` addresses need no key."""

    url: str
    origin: str
    host: str
    local: bool


def read_address(url: str) -> Address:
    """Check a base url. Raises ValueError with what is wrong; it never repeats what may hold a password.

    ``sim://<persona>`` is kept as it is: it means a simulated vendor and is given its port when that one starts.
    """
    if url.startswith("sim:"):
        simulated = _PERSONA.fullmatch(url)
        if simulated is None:
            raise ValueError("a simulated vendor is written `sim://<persona>`, for example `sim://faithful`")
        return Address(url, url, simulated.group(1), local=True)
    wrong = "expected a url such as https://api.example.com/v1"
    if not url.isascii() or not url.isprintable() or any(char in url for char in ' "<>\\^`{|}'):
        raise ValueError(f"holds a space or another character that is not allowed in a url; {wrong}")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(wrong) from None
    if parts.scheme not in _DEFAULT_PORTS or _HOST.fullmatch(parts.hostname or "") is None or port == 0:
        raise ValueError(f"{wrong} (http:// is for this machine)")
    if "@" in parts.netloc or "?" in url or "#" in url:
        raise ValueError("holds a user name, a `?query` or a `#fragment`; give the base only, and the key in .env")
    host = (parts.hostname or "").lower()
    shown_host = f"[{host}]" if ":" in host else host
    origin = f"{parts.scheme}://{shown_host}:{port or _DEFAULT_PORTS[parts.scheme]}"
    return Address(url.rstrip("/"), origin, host, is_loopback(host))


def _refused(is_wrong: Callable[[str], object], words: str) -> AfterValidator:
    """A rule that refuses text with these words."""

    def check(text: str) -> str:
        if is_wrong(text):
            raise ValueError(words)
        return text

    return AfterValidator(check)


_NO_LINE = "holds a control character, a line break, or a space at its beginning or end; remove it"
_NO_WIRE = f"unknown validator; known are {', '.join(WIRES)}"
_NO_BODY_KEY = "is set by the run, the same for every vendor; remove it"
_NO_HEADER = "not a header to set: use letters, digits and dashes; the transport sets its own"
_NO_VALUE = "a header value is one line of ASCII text, in which a variable is written `${NAME}`"
_NO_KEY = (
    "expected `${NAME}` with the name of a variable: a key must not be in this file, where it gets shared and "
    "committed. Write `<the vendor's name>=<the key>` in .env and delete this line; "
    "`agent-vendor-verifier init --from <this file>` moves every key of the file"
)
_NO_SLUG = "names no provider; write its slug, for example `minimax`"
_NO_NAME = "expected the bare name of a variable, such as MY_KEY; keys belong in .env, never in this file"
_Text = Annotated[
    str, Field(min_length=1), _refused(lambda text: not text.isprintable() or text != text.strip(), _NO_LINE)
]
_Amount = Annotated[float, Field(ge=0)]
_BodyKey = Annotated[str, _refused(lambda name: name in OWN_BODY_KEYS, _NO_BODY_KEY)]
_HeaderName = Annotated[
    str,
    _refused(lambda name: not _HEADER_NAME.fullmatch(name) or name.lower() in _TRANSPORT_HEADERS, _NO_HEADER),
]
_HeaderValue = Annotated[
    str,
    _refused(
        lambda text: not (text.isprintable() and text.isascii()) or text.count("${") != len(references(text)), _NO_VALUE
    ),
]
_KeyReference = Annotated[str, _refused(lambda text: not is_placeholder(text) and reference(text) is None, _NO_KEY)]
_KeyName = Annotated[_Text, _refused(lambda name: "$" in name or looks_secret(name), _NO_NAME)]
# Some write ``minimax/``.
_Slug = Annotated[
    _Text,
    Field(max_length=100),
    AfterValidator(lambda text: text.rstrip("/")),
    _refused(lambda slug: not slug, _NO_SLUG),
]


class Part(BaseModel):
    """A part of the file: unknown keys are refused, and nothing is converted."""

    # Inputs may be keys, which no message may show.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, hide_input_in_errors=True)


class Price(Part):
    """A vendor's prices per million tokens and per request; ``rate`` is US dollars for one ``currency``."""

    input: _Amount | None = None
    output: _Amount | None = None
    cached: _Amount | None = None
    reasoning: _Amount | None = None
    request: _Amount | None = None
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] | None = None
    rate: Annotated[float, Field(gt=0)] | None = None


class Settings(Part):
    """The settings of an entry, which ``defaults:`` may set for all entries."""

    validator: Annotated[str, _refused(lambda name: name not in WIRES, _NO_WIRE)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Count | None = None
    extra_body: dict[_BodyKey, Any] | None = None
    extra_headers: dict[_HeaderName, _HeaderValue] | None = None
    concurrency: Count | None = None
    rpm: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    tpm: Annotated[float, Field(gt=0, le=1_000_000_000)] | None = None
    price: Price | None = None
    allow_http: bool | None = None


class VendorEntry(Settings):
    """One line under ``vendors:``, as written."""

    name: Annotated[_Text, Field(max_length=80)]
    model_id: Annotated[_Text, Field(max_length=300)] | None = None
    url: Annotated[_Text, Field(max_length=2000), AfterValidator(lambda url: read_address(url).url)] | None = None
    api_key: _KeyReference | None = None
    api_key_env: _KeyName | None = None
    provider: _Slug | None = None
    label: Annotated[_Text, Field(max_length=80)] | None = None
    is_baseline: bool | None = None

    @property
    def key_variable(self) -> str | None:
        """The variable that the entry names for its key."""
        return self.api_key_env or reference(self.api_key or "")

    @property
    def shown_as(self) -> str:
        """The given label, else the vendor's name with the pinned provider before it."""
        return self.label or (f"{self.provider} ({self.name})" if self.provider else self.name)

    @model_validator(mode="after")
    def _has_one_key(self) -> Self:
        if reference(self.api_key or "") is not None and self.api_key_env is not None:
            raise ValueError("give one of `api_key: ${NAME}` and `api_key_env: NAME`")
        return self


class ModelSection(Part):
    """The section of a unified model name; its entries are checked one by one."""

    vendors: Annotated[list[Any], Field(min_length=1)]
    gates: list[str] | None = None


class Top(Part):
    """The reserved keys; every other key is a model."""

    model_config = ConfigDict(extra="allow")

    defaults: Settings | None = None
    run: RunConfig | None = None
    suites: dict[str, dict[str, Any] | None] | None = None
    gates: list[str] | None = None
    slos: list[str] | None = None


RESERVED = tuple(Top.model_fields)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the whole document, for editors."""
    _, made = models_json_schema([(kind, "validation") for kind in (Top, ModelSection, VendorEntry)])
    definitions = made["$defs"]
    for name, setting in RunConfig.model_fields.items():
        definitions["RunConfig"]["properties"][name]["description"] = help_of(setting)
    definitions["ModelSection"]["properties"]["vendors"]["items"] = {"$ref": "#/$defs/VendorEntry"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "config.yaml of agent-vendor-verifier",
        "description": "Unified model names, each with the vendors that serve it.",
        "type": "object",
        "properties": definitions.pop("Top")["properties"],
        "additionalProperties": {"$ref": "#/$defs/ModelSection"},
        "$defs": definitions,
    }
