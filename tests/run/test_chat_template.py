"""Loading a chat template: never a model's code, always a message to act on. The library itself is stood in for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from vendor_verifier.errors import UsageError
from vendor_verifier.records.request import Turn
from vendor_verifier.run.chat_template import load_renderer
from vendor_verifier.wire.openai_completions import CannotRender

CALL = {"id": "a", "function": {"name": "f", "arguments": '{"x": 1}'}}
TURN = Turn(
    (
        {"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
    ),
    ({"type": "function", "function": {"name": "f"}},),
    {"chat_template_kwargs": {"enable_thinking": False, "tokenize": True}, "reasoning_effort": "low", "temperature": 0},
)


class TemplateError(Exception):
    """Stands in for jinja2's."""


class Library:
    """Stands in for the tokenizer library: what it was asked for, and what it does when asked to render."""

    def __init__(self) -> None:
        self.loaded: list[tuple[str, dict[str, Any]]] = []
        self.rendered: list[tuple[Any, dict[str, Any]]] = []
        self.chat_template: str | None = "template"
        self.refusal: Exception | None = None
        self.on_render: Callable[[Any], None] = lambda messages: None

    def from_pretrained(self, name: str, **options: Any) -> Library:
        self.loaded.append((name, options))
        if self.refusal is not None:
            raise self.refusal
        return self

    def apply_chat_template(self, messages: Any, **options: Any) -> str:
        self.on_render(messages)
        self.rendered.append((messages, options))
        return "prompt"

    def render_jinja_template(self, conversations: Any, **options: Any) -> tuple[list[str], list[Any]]:
        self.rendered.append((conversations, options))
        return ["bare prompt"], []


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    stand_in = Library()
    transformers, utilities, templates, jinja2 = map(
        ModuleType, ("transformers", "transformers.utils", "transformers.utils.chat_template_utils", "jinja2")
    )
    transformers.AutoTokenizer = stand_in  # type: ignore[attr-defined]
    transformers.utils = utilities  # type: ignore[attr-defined]
    utilities.cached_file = lambda *args, **options: None  # type: ignore[attr-defined]
    templates.render_jinja_template = stand_in.render_jinja_template  # type: ignore[attr-defined]
    jinja2.TemplateError = TemplateError  # type: ignore[attr-defined]
    for module in (transformers, utilities, templates, jinja2):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return stand_in


def test_missing_extra_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the message says what to install."""
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UsageError, match=r"pip install '\.\[tokenizer\]' in a checkout"):
        load_renderer("some/model")


def test_code_of_a_model_is_never_trusted(library: Library) -> None:
    """The tokenizer is asked for by name with remote code off."""
    load_renderer("some/model")
    assert library.loaded == [("some/model", {"trust_remote_code": False})]


def test_what_the_template_gets(library: Library) -> None:
    """Text parts run together, past arguments as objects, tools, the template's own options, and a prompt to go on."""
    assert load_renderer("some/model")(TURN) == "prompt"
    ((messages, options),) = library.rendered
    assert messages[0] == {"role": "user", "content": "Hello"}
    assert messages[1]["tool_calls"][0]["function"] == {"name": "f", "arguments": {"x": 1}}
    assert options == {
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "tokenize": False,
        "add_generation_prompt": True,
        "enable_thinking": False,
        "reasoning_effort": "low",
    }
    assert CALL["function"] == {"name": "f", "arguments": '{"x": 1}'}


def test_templates_that_want_arguments_as_text(library: Library) -> None:
    """A template that cannot paste an object gets the text instead."""

    def paste(messages: Any) -> None:
        if not isinstance(messages[1]["tool_calls"][0]["function"]["arguments"], str):
            raise TypeError("can only concatenate str")

    library.on_render = paste
    assert load_renderer("some/model")(TURN) == "prompt"
    assert library.rendered[0][0][1]["tool_calls"][0]["function"]["arguments"] == '{"x": 1}'


def test_no_tools_is_none(library: Library) -> None:
    """Templates test for None, so an empty tool list is not handed on."""
    load_renderer("some/model")(Turn(({"role": "user", "content": "Hi"},)))
    assert library.rendered[0][1]["tools"] is None


@pytest.mark.parametrize(
    "error", [TemplateError("roles must alternate"), TypeError("x"), KeyError("x"), ValueError("x")]
)
def test_a_template_that_refuses(library: Library, error: Exception) -> None:
    """The template's refusal is one error with its words, so that the sample counts as untranslatable."""

    def refuse(messages: Any) -> None:
        raise error

    library.on_render = refuse
    with pytest.raises(CannotRender, match=type(error).__name__):
        load_renderer("some/model")(TURN)


@pytest.mark.parametrize("error", [OSError("no such model\nlong story"), ValueError("needs trust_remote_code=True")])
def test_a_name_that_leads_nowhere(library: Library, error: Exception) -> None:
    """What cannot be loaded is a usage error of one line that names the model."""
    library.refusal = error
    with pytest.raises(UsageError, match="some/model") as raised:
        load_renderer("some/model")
    assert "\n" not in str(raised.value)


def test_a_tokenizer_without_a_template(library: Library) -> None:
    """A base model's tokenizer has no chat template, and that is said before anything is sent."""
    library.chat_template = None
    with pytest.raises(UsageError, match="no chat template"):
        load_renderer("some/model")


@pytest.mark.parametrize("has_file", [True, False])
def test_template_alone_where_the_tokenizer_needs_code(library: Library, tmp_path: Path, has_file: bool) -> None:
    """A folder whose tokenizer would need its own code still renders, by its template and special tokens."""
    library.refusal = ValueError("needs trust_remote_code=True")
    config = {"chat_template": "inline", "bos_token": "[BOS]", "eos_token": {"content": "[EOS]"}, "pad_token": None}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    if has_file:
        (tmp_path / "chat_template.jinja").write_text("own file", encoding="utf-8")
    assert load_renderer(str(tmp_path))(TURN) == "bare prompt"
    options = library.rendered[0][1]
    assert options["chat_template"] == ("own file" if has_file else "inline")
    assert (options["bos_token"], options["eos_token"]) == ("[BOS]", "[EOS]")
    assert "pad_token" not in options


def test_folder_without_anything(library: Library, tmp_path: Path) -> None:
    """A folder with no template and an unreadable configuration is a usage error."""
    library.refusal = OSError("nothing here")
    (tmp_path / "tokenizer_config.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match="nothing here"):
        load_renderer(str(tmp_path))
