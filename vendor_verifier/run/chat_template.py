"""Renders prompts for raw completions with a model's own chat template; it never runs code that comes with a model.

Needs the ``tokenizer`` extra. Only the template and the special tokens are read, from the files next to the tokenizer:
so a model whose tokenizer would need code of its own (Kimi) renders as any other.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vendor_verifier.errors import UsageError, install_line
from vendor_verifier.records.request import Turn
from vendor_verifier.wire.base import Notes
from vendor_verifier.wire.history import TextPart, read_parts
from vendor_verifier.wire.openai_completions import CannotRender, Render
from vendor_verifier.wire.payload import parse_json

_SPECIAL = ("bos_token", "eos_token", "pad_token", "unk_token")


def load_renderer(tokenizer_model: str) -> Render:
    """A pure function from turn to prompt, by the template of ``tokenizer_model`` (local folder or hub name).

    Raises:
        UsageError: the extra is not installed, the name leads nowhere, or there is no chat template.
    """
    try:
        utilities = importlib.import_module("transformers.utils")
        rendering = importlib.import_module("transformers.utils.chat_template_utils").render_jinja_template
        template_error = importlib.import_module("jinja2").TemplateError
    except ImportError:
        raise UsageError(
            "--use-raw-completions renders prompts with transformers, which is not installed: "
            + install_line("tokenizer")
        ) from None
    try:
        config = json.loads(_text(utilities, tokenizer_model, "tokenizer_config.json") or "{}")
        template = _text(utilities, tokenizer_model, "chat_template.jinja") or config.get("chat_template")
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        reason = str(error).strip().partition("\n")[0][:300]
        raise UsageError(f"--tokenizer-model {tokenizer_model}: cannot be read: {reason}") from error
    if isinstance(template, list):
        # Some models have several; the one for tools does without them, too.
        named = {each.get("name"): each.get("template") for each in template}
        template = named.get("tool_use") or named.get("default")
    if not isinstance(template, str):
        raise UsageError(f"--tokenizer-model {tokenizer_model}: there is no chat template; name a model that has one")
    special = {name: token for name in _SPECIAL if (token := _token(config.get(name)))}

    def apply(turn: Turn, *, as_objects: bool) -> str:
        rendered = rendering(
            [[_message(dict(message), as_objects=as_objects) for message in turn.messages]],
            tools=[dict(tool) for tool in turn.tools] or None,
            chat_template=template,
            add_generation_prompt=True,
            **special,
            **_template_options(turn.parameters),
        )
        # One prompt a conversation; with the character spans of the answers where the library returns them too.
        prompts = rendered[0] if isinstance(rendered, tuple) else rendered
        return str(prompts[0])

    def render(turn: Turn) -> str:
        try:
            try:
                return apply(turn, as_objects=True)
            except TypeError:
                # Some templates paste past arguments as they are and so want text, most want objects.
                return apply(turn, as_objects=False)
        except (template_error, TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            raise CannotRender(f"{type(error).__name__}: {error}"[:300]) from error

    return render


def _text(utilities: Any, tokenizer_model: str, name: str) -> str | None:
    """The text of one of the model's files; None where it has no such file."""
    folder = Path(tokenizer_model)
    if folder.is_dir():
        found = folder / name if (folder / name).is_file() else None
    else:
        found = utilities.cached_file(tokenizer_model, name, _raise_exceptions_for_missing_entries=False)
    return Path(found).read_text(encoding="utf-8") if found else None


def _token(value: object) -> str | None:
    """The text of a special token, which is text itself or an object that holds it."""
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else None


def _template_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    options = parameters.get("chat_template_kwargs")
    found = dict(options) if isinstance(options, Mapping) else {}
    if parameters.get("reasoning_effort") is not None:
        found.setdefault("reasoning_effort", parameters["reasoning_effort"])
    taken = {"tools", "chat_template", "add_generation_prompt", "tokenize", "return_dict", *_SPECIAL}
    return {name: value for name, value in found.items() if name not in taken}


def _message(message: dict[str, Any], *, as_objects: bool) -> dict[str, Any]:
    """A message with its text parts run together and past arguments as the template wants them."""
    content = message.get("content")
    if isinstance(content, (list, tuple)):
        parts = read_parts(content, Notes())
        message["content"] = "".join(part.text for part in parts if isinstance(part, TextPart))
    if as_objects and isinstance(message.get("tool_calls"), (list, tuple)):
        message["tool_calls"] = [_call(call) for call in message["tool_calls"]]
    return message


def _call(call: Any) -> Any:
    """A past call, its arguments as an object if they are one."""
    try:
        value = parse_json(call["function"]["arguments"].strip() or "{}")
    except (ValueError, TypeError, KeyError, AttributeError):
        return call
    return {**call, "function": {**call["function"], "arguments": value}} if isinstance(value, dict) else call
