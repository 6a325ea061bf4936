"""Vendors given on the command line as NAME=URL, in place of a configuration file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vendor_verifier.config.env_file import Variables
from vendor_verifier.config.model_names import model_id_of
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import ConfigError, Problem
from vendor_verifier.records.plan import SIMULATED
from vendor_verifier.transport.proxies import is_loopback

_EXAMPLE = "`--url novita=https://api.novita.ai/v3/openai --model MODEL`"


def content_of(options: RunOptions, variables: Variables) -> dict[str, Any]:
    """The content of a configuration with these vendors of one model; the first is the baseline.

    Raises:
        ConfigError: they are not NAME=URL, or no model is named; all problems at once.
    """
    problems = [
        Problem(f"read {text!r}; expected NAME=URL, as in {_EXAMPLE}", key="--url")
        for text in options.url
        if not all(text.partition("="))
    ]
    if options.config_file_path != Path("config.yaml"):
        problems.append(Problem("--url gives the vendors; leave out one of the two", key="--config-file-path"))
    if len(options.model) != 1:
        problems.append(Problem(f"name the one model that all of them serve, as in {_EXAMPLE}", key="--model"))
    if problems:
        raise ConfigError(problems)
    return {options.model[0]: {"vendors": list(_vendors(options, variables))}}


def _vendors(options: RunOptions, variables: Variables) -> Iterator[dict[str, Any]]:
    (model,) = options.model
    for place, text in enumerate(options.url):
        name, _, url = text.partition("=")
        own_key = "".join(char if char.isalnum() else "_" for char in name).upper() + "_API_KEY"
        is_local = url.startswith(SIMULATED) or is_loopback(urlsplit(url).hostname or "")
        has_usual = variables.get(name) is not None
        yield {
            "name": name,
            "url": url,
            "is_baseline": place == 0 and options.baseline is None,
            **({} if model_id_of(model, name) else {"model_id": model}),
            **({"api_key_env": own_key} if variables.get(own_key) or not (is_local or has_usual) else {}),
        }
