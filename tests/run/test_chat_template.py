"""Loading a chat template: never a model's code, always a message to act on. The library itself is stood in for."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

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
    """Stands in for the libraries: the files of a hub's models, and what was rendered."""

    TemplateError = TemplateError

    def __init__(self, hub: Path) -> None:
        self.hub = hub
        self.rendered: list[tuple[Any, dict[str, Any]]] = []
        self.on_render: Callable[[Any], None] = lambda messages: None

    def cached_file(self, model: str, name: str, **_options: Any) -> str | None:
        if not (self.hub / model).is_dir():
            raise OSError(f"{model} is no model\nlong story")
        file = self.hub / model / name
        return str(file) if file.is_file() else None

    def render_jinja_template(self, conversations: Any, **options: Any) -> tuple[list[str], list[Any]]:
        self.on_render(conversations[0])
        self.rendered.append((conversations[0], options))
        return ["prompt"], []


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    stand_in = Library(tmp_path)
    write(tmp_path / "some" / "model", chat_template="template", bos_token="[BOS]")
    for module in ("transformers.utils", "transformers.utils.chat_template_utils", "jinja2"):
        monkeypatch.setitem(sys.modules, module, stand_in)
    return stand_in


def write(folder: Path, **config: Any) -> Path:
    folder.mkdir(parents=True)
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def test_what_the_template_gets(library: Library) -> None:
    """Text parts run together, past arguments as objects, tools, the template's own options, and a prompt to go on."""
    assert load_renderer("some/model")(TURN) == "prompt"
    ((messages, options),) = library.rendered
    assert messages[0] == {"role": "user", "content": "Hello"}
    assert messages[1]["tool_calls"][0]["function"] == {"name": "f", "arguments": {"x": 1}}
    assert options == {
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "chat_template": "template",
        "add_generation_prompt": True,
        "bos_token": "[BOS]",
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


def test_a_template_that_refuses(library: Library) -> None:
    """The template's refusal is one error with its words, so that the sample counts as untranslatable."""
    library.on_render = Mock(side_effect=TemplateError("roles must alternate"))
    with pytest.raises(CannotRender, match="TemplateError"):
        load_renderer("some/model")(TURN)


@pytest.mark.parametrize(("name", "words"), [("no/model", "no/model is no model"), ("base", "no chat template")])
def test_a_name_without_a_template(library: Library, name: str, words: str) -> None:
    """An unknown model, or one that was not trained to talk, is a usage error of one line before anything is sent."""
    write(library.hub / "base", bos_token="[BOS]")
    with pytest.raises(UsageError, match=words) as raised:
        load_renderer(name)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("has_file", [True, False])
def test_a_folder_with_template_and_special_tokens(library: Library, tmp_path: Path, has_file: bool) -> None:
    """The template's own file comes before the configuration's; tokens are text or objects that hold it."""
    config = {"chat_template": "inline", "bos_token": "[BOS]", "eos_token": {"content": "[EOS]"}, "pad_token": None}
    folder = write(tmp_path / "mine", **config)
    if has_file:
        (folder / "chat_template.jinja").write_text("own file", encoding="utf-8")
    assert load_renderer(str(folder))(TURN) == "prompt"
    options = library.rendered[0][1]
    assert options["chat_template"] == ("own file" if has_file else "inline")
    assert (options["bos_token"], options["eos_token"]) == ("[BOS]", "[EOS]")
    assert "pad_token" not in options
