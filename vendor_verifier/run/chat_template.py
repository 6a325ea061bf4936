"""Renders prompts for raw completions with a model's own chat template; it never runs code that comes with a model.

Needs the ``tokenizer`` extra. The template comes from the tokenizer; where a tokenizer would need code of its own
(Kimi), only its template and special tokens are read from the files beside it, which is all that rendering takes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vendor_verifier.errors import UsageError, install_line
from vendor_verifier.records.request import Turn
from vendor_verifier.wire.openai_completions import CannotRender, Render
from vendor_verifier.wire.payload import parse_json

_APPLIES = Callable[[list[dict[str, Any]], list[dict[str, Any]] | None, dict[str, Any]], str]


def load_renderer(tokenizer_model: str) -> Render:
    """A pure function from turn to prompt, by the template of ``tokenizer_model`` (local folder or hub name).

    Raises:
        UsageError: the extra is not installed, the name leads to no tokenizer, or there is no chat template.
    """
    try:
        transformers = importlib.import_module("transformers")
        template_error = importlib.import_module("jinja2").TemplateError
    except ImportError:
        raise UsageError(
            "--use-raw-completions renders prompts with transformers, which is not installed: "
            + install_line("tokenizer")
        ) from None
    apply = _applier(transformers, tokenizer_model)

    def render(turn: Turn) -> str:
        tools = [dict(tool) for tool in turn.tools] or None
        options = _template_options(turn.parameters)
        try:
            try:
                return apply(_messages(turn, as_objects=True), tools, options)
            except TypeError:
                # Some templates paste past arguments as they are and so want text, most want objects.
                return apply(_messages(turn, as_objects=False), tools, options)
        except (template_error, TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            raise CannotRender(f"{type(error).__name__}: {error}"[:300]) from error

    return render


def _applier(transformers: Any, tokenizer_model: str) -> _APPLIES:
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(tokenizer_model, trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        applier = _bare_applier(transformers, tokenizer_model)
        if applier is None:
            reason = str(error).strip().partition("\n")[0][:300]
            raise UsageError(f"--tokenizer-model {tokenizer_model}: no tokenizer could be loaded: {reason}") from error
        return applier
    if not tokenizer.chat_template:
        raise UsageError(f"--tokenizer-model {tokenizer_model}: this tokenizer has no chat template")

    def apply(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, options: dict[str, Any]) -> str:
        return str(
            tokenizer.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=True, **options)
        )

    return apply


def _bare_applier(transformers: Any, tokenizer_model: str) -> _APPLIES | None:
    """The template alone, from ``chat_template.jinja`` or ``tokenizer_config.json``; None if neither has one."""
    config = _read_json(_file(transformers, tokenizer_model, "tokenizer_config.json"))
    file = _file(transformers, tokenizer_model, "chat_template.jinja")
    template = file.read_text(encoding="utf-8") if file else config.get("chat_template")
    if not isinstance(template, str):
        return None
    special = {
        name: token
        for name in ("bos_token", "eos_token", "pad_token", "unk_token")
        if (token := _token(config.get(name)))
    }
    rendering = importlib.import_module("transformers.utils.chat_template_utils").render_jinja_template

    def apply(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None, options: dict[str, Any]) -> str:
        rendered = rendering(
            [messages], tools=tools, chat_template=template, add_generation_prompt=True, **special, **options
        )
        # One prompt a conversation; with the character spans of the answers where the library returns them too.
        prompts = rendered[0] if isinstance(rendered, tuple) else rendered
        return str(prompts[0])

    return apply


def _file(transformers: Any, tokenizer_model: str, name: str) -> Path | None:
    local = Path(tokenizer_model) / name
    if Path(tokenizer_model).is_dir():
        return local if local.is_file() else None
    try:
        found = transformers.utils.cached_file(tokenizer_model, name, _raise_exceptions_for_missing_entries=False)
    except (OSError, ValueError):
        return None
    return Path(found) if found else None


def _read_json(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        value = parse_json(file.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _token(value: object) -> str | None:
    """The text of a special token, which is text itself or an object that holds it."""
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else None


def _template_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    options = parameters.get("chat_template_kwargs")
    found = dict(options) if isinstance(options, Mapping) else {}
    if parameters.get("reasoning_effort") is not None:
        found.setdefault("reasoning_effort", parameters["reasoning_effort"])
    return {name: value for name, value in found.items() if name not in ("tokenize", "return_dict", "chat_template")}


def _messages(turn: Turn, *, as_objects: bool) -> list[dict[str, Any]]:
    return [_message(dict(message), as_objects=as_objects) for message in turn.messages]


def _message(message: dict[str, Any], *, as_objects: bool) -> dict[str, Any]:
    """A message with its text parts run together and past arguments as the template wants them."""
    content = message.get("content")
    if isinstance(content, (list, tuple)):
        texts = [part if isinstance(part, str) else part.get("text") or part.get("refusal") or "" for part in content]
        message["content"] = "".join(texts)
    if as_objects and isinstance(message.get("tool_calls"), (list, tuple)):
        message["tool_calls"] = [_call(call) for call in message["tool_calls"]]
    return message


def _call(call: Any) -> Any:
    function = call.get("function") if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if function is None or not isinstance(arguments, str):
        return call
    try:
        value = parse_json(arguments) if arguments.strip() else {}
    except ValueError:
        return call
    return {**call, "function": {**function, "arguments": value}} if isinstance(value, dict) else call
