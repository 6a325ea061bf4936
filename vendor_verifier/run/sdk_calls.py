"""Which official SDK speaks which wire, and how an answer is asked of it; imports an SDK only when one is needed.

The SDKs are given our HTTP client, never retry, and get neither key nor address from the environment: what they send is
sent by :mod:`vendor_verifier.run.sdk_client`, or answered from a record by :mod:`vendor_verifier.run.httpx2_seam`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import AsyncIterator, Iterable, Mapping
from types import ModuleType
from typing import Any

from vendor_verifier.errors import UsageError
from vendor_verifier.installing import install_line
from vendor_verifier.run.foreign_logs import silence

SDK_OF_WIRE: Mapping[str, str] = {
    "openai": "openai",
    "openai_responses": "openai",
    "openai_completions": "openai",
    "anthropic": "anthropic",
}
# The address and key in the SDK's own request are replaced before anything is sent.
_NOWHERE = "http://sdk.invalid/v1"
_NO_KEY = "replaced-before-sending"


def require_sdks(wires: Iterable[str]) -> None:
    """Import the SDKs that these wires need, so that no request pays for it.

    Raises:
        UsageError: a wire has no SDK here, or its SDK is not installed.
    """
    wanted = sorted(set(wires))
    strangers = [wire for wire in wanted if wire not in SDK_OF_WIRE]
    if strangers:
        known = ", ".join(SDK_OF_WIRE)
        raise UsageError(f"no official SDK is used for the wire {', '.join(strangers)}; there is one for {known}")
    for package in sorted({SDK_OF_WIRE[wire] for wire in wanted}):
        _package(package)


def _package(name: str) -> ModuleType:
    try:
        package = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise UsageError(f"the {name} SDK is not installed; run: {install_line('sdk')}") from None
    silence(name)
    return package


def sdk_name(wire: str) -> str:
    """The package and its version, as an error message names it."""
    package = SDK_OF_WIRE[wire]
    return f"{package} SDK {getattr(_package(package), '__version__', '')}".strip()


def sdk_client(wire: str, http_client: Any) -> Any:
    """The SDK's asynchronous client over ``http_client``, its retries off."""
    package = _package(SDK_OF_WIRE[wire])
    kind = package.AsyncAnthropic if SDK_OF_WIRE[wire] == "anthropic" else package.AsyncOpenAI
    # No time limit of its own: ours lie underneath, and the SDK refuses long answers in one piece without one.
    return kind(api_key=_NO_KEY, base_url=_NOWHERE, http_client=http_client, max_retries=0, timeout=None)


async def open_stream(client: Any, wire: str, body: Mapping[str, Any]) -> AsyncIterator[Any]:
    """Ask for ``body`` as an application would; the items as the SDK yields them, or the one whole answer."""
    create = {
        "openai": lambda: client.chat.completions.create,
        "openai_responses": lambda: client.responses.create,
        "openai_completions": lambda: client.completions.create,
        "anthropic": lambda: client.messages.create,
    }[wire]()
    answer = await create(**arguments_for(create, body))
    return answer if body.get("stream") is True else _one(answer)


async def _one(answer: Any) -> AsyncIterator[Any]:
    yield answer


def arguments_for(method: Any, body: Mapping[str, Any]) -> dict[str, Any]:
    """``body`` as keyword arguments: what the method has a parameter for by name, the rest as ``extra_body``."""
    known = inspect.signature(method).parameters
    arguments = {name: value for name, value in body.items() if name in known}
    rest = {name: value for name, value in body.items() if name not in known}
    return {**arguments, **({"extra_body": rest} if rest else {})}
