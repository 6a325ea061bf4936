"""The system prompt that asks a model to write its calls: its forms, its layouts, and the function documents in it.

The wording is given: upstream's, where the user has it (:mod:`vendor_verifier.features.bfcl.prompt_texts`), else
:data:`OWN`, which asks for the same forms in other words. ``OWN`` is for models, so it stands in one language.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from vendor_verifier.suites.bfcl.text_calls import Reading

Returned = Literal["python", "json", "verbose_xml", "concise_xml"]
Documents = Literal["python", "xml", "json"]


@dataclass(frozen=True, slots=True)
class PromptFormat:
    """One way to ask: the form of calls, whether in a ``<TOOLCALL>`` section, how functions are shown, the layout of
    the prompt, and its style."""

    returned: Returned = "python"
    tagged: bool = False
    documents: Documents = "json"
    layout: Literal["plaintext", "markdown"] = "plaintext"
    style: Literal["classic", "experimental"] = "classic"

    @property
    def name(self) -> str:
        """Upstream's name of it."""
        return (
            f"ret_fmt={self.returned}&tool_call_tag={self.tagged}&func_doc_fmt={self.documents}"
            f"&prompt_fmt={self.layout}&style={self.style}"
        )

    @property
    def reading(self) -> Reading:
        return Reading(self.returned, self.tagged)


DEFAULT_FORMAT = PromptFormat()
_RETURNED: tuple[Returned, ...] = ("python", "json", "verbose_xml", "concise_xml")
_DOCUMENTS: tuple[Documents, ...] = ("python", "xml", "json")
SENSITIVITY_FORMATS: tuple[PromptFormat, ...] = (
    *(
        PromptFormat(returned, tagged, documents)
        for returned in _RETURNED
        for tagged in (True, False)
        for documents in _DOCUMENTS
    ),
    PromptFormat(layout="markdown"),
    PromptFormat(style="experimental"),
)
"""The 26 formats of ``format_sensitivity``, in upstream's order."""


@dataclass(frozen=True, slots=True)
class PromptTexts:
    """A wording of the prompt. ``origin`` says whose; ``returned`` and ``types`` are by form of the calls, ``styles``
    are the parts (``persona``, ``task``, ``tool_call_no_tag``, ``tool_call_with_tag``, ``multiturn_behavior``,
    ``available_tools``) by style, ``layouts`` join them."""

    origin: str
    returned: Mapping[str, str] = field(repr=False)
    types: Mapping[str, str] = field(repr=False)
    styles: Mapping[str, Mapping[str, str]] = field(repr=False)
    layouts: Mapping[str, str] = field(repr=False)


_XML_TYPES = "As a type write string, integer, float, boolean, array, dict or tuple."
_TURNS = (
    "Work on the latest request until it is done, with as many rounds of calls as it takes; an answer without calls "
    "ends the round and hands over to the next request."
)
OWN = PromptTexts(
    origin="this product's own wording",
    returned=MappingProxyType(
        {
            "python": "[first_function(parameter=value, other_parameter=value), second_function(parameter=value)]",
            "json": '```json\n[{"function": "first_function", "parameters": {"parameter": "value"}}]\n```',
            "verbose_xml": '<functions><function name="first_function"><params><param name="parameter" value="value" '
            'type="type"/></params></function></functions>',
            "concise_xml": '<functions><function name="first_function"><param name="parameter" type="type">value'
            "</param></function></functions>",
        }
    ),
    types=MappingProxyType({"python": "", "json": "", "verbose_xml": _XML_TYPES, "concise_xml": _XML_TYPES}),
    styles=MappingProxyType(
        {
            "classic": {
                "persona": "You answer requests by calling functions. ",
                "task": "Choose among the functions below those that the request needs, and write calls of them. Where "
                "none of them fits, or a value that is needed is not known, say so instead of calling.",
                "tool_call_no_tag": "An answer that calls consists of the calls alone, written as {output_format} "
                "{param_types}",
                "tool_call_with_tag": "An answer that calls consists of the calls alone, inside a section, written as "
                "<TOOLCALL>{output_format}</TOOLCALL> {param_types}",
                "multiturn_behavior": _TURNS,
                "available_tools": "These are the functions, as {format}:\n{functions}\n",
            },
            "experimental": {
                "persona": "You turn requests into function calls. ",
                "task": "Write the calls that fulfil the request with the functions below; without a fitting function "
                "or a value it needs, tell what is missing.",
                "tool_call_no_tag": "Write calls exactly so and nothing beside them: {output_format} {param_types}",
                "tool_call_with_tag": "Write calls exactly so and nothing beside them: "
                "<TOOLCALL>{output_format}</TOOLCALL> {param_types}",
                "multiturn_behavior": _TURNS,
                "available_tools": "Functions that can be called, as {format}:\n{functions}\n",
            },
        }
    ),
    layouts=MappingProxyType(
        {
            "plaintext": "{persona}{task}\n\n{tool_call_format}\n\n{multiturn_behavior}\n\n{available_tools}",
            "markdown": "{persona}\n\n## The task\n{task}\n\n## Form of calls\n{tool_call_format}\n\n"
            "## Several requests\n{multiturn_behavior}\n\n## Functions\n{available_tools}",
        }
    ),
)


def system_prompt(documents: Sequence[Mapping[str, Any]], wanted: PromptFormat, texts: PromptTexts) -> str:
    """The prompt for the functions of these documents, which already have their hints of the language."""
    style = texts.styles[wanted.style]
    asked = style["tool_call_with_tag" if wanted.tagged else "tool_call_no_tag"]
    shown = style["available_tools"].format(
        format=wanted.documents, functions=shown_documents(documents, wanted.documents)
    )
    return texts.layouts[wanted.layout].format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=asked.format(
            output_format=texts.returned[wanted.returned], param_types=texts.types[wanted.returned]
        ),
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=shown,
    )


def prompted(messages: Sequence[Mapping[str, Any]], prompt: str) -> list[dict[str, Any]]:
    """The messages behind the prompt; a system message of the row's own at their start goes on from it."""
    first, *others = (dict(message) for message in messages) if messages else ({},)
    if first.get("role") == "system":
        return [{**first, "content": f"{prompt}\n\n{first.get('content')}"}, *others]
    return [{"role": "system", "content": prompt}, *(dict(message) for message in messages)]


def shown_documents(documents: Sequence[Mapping[str, Any]], form: Documents) -> str:
    """The function documents as text in this form, as upstream writes it."""
    if form == "json":
        return json.dumps(list(documents), indent=4)
    if form == "xml":
        return "\n".join(_xml_function(document) for document in documents)
    return "\n\n".join(text for document in documents for text in (_python_function(document), "\n"))


def _xml_function(document: Mapping[str, Any]) -> str:
    parameters = document.get("parameters") or {}
    required = parameters.get("required")
    inside = [
        line
        for name, details in (parameters.get("properties") or {}).items()
        for line in _xml_parameter(name, details, required, 4)
    ]
    head = [f'<function name="{document["name"]}">', f"  <desc>{document.get('description', '')}</desc>", "  <params>"]
    return "\n".join([*head, *inside, "  </params>", "</function>", ""])


def _xml_parameter(name: str, details: Mapping[str, Any], required: Any, indent: int) -> Iterator[str]:
    blank = " " * indent
    needed = "true" if required is None or name in required else "false"
    stated = f'name="{name}" type="{_xml_type(details)}" required="{needed}"'
    default = f' default="{details["default"]!r}"' if "default" in details else ""
    # Upstream strikes every comma of a tag, those of its values too.
    yield f"{blank}<param {stated}{default}".replace(",", "") + ">"
    yield f"{blank}  <desc>{_described(details)}</desc>"
    if "properties" in details:
        yield f"{blank}  <params>"
        for child, inner in details["properties"].items():
            yield from _xml_parameter(child, inner, details.get("required"), indent + 4)
        yield f"{blank}  </params>"
    yield f"{blank}</param>"


def _xml_type(details: Mapping[str, Any]) -> str:
    name = details.get("type", "string")
    items, others = details.get("items"), details.get("additionalProperties")
    if isinstance(items, Mapping) and "type" in items:
        return f"{name}[{items['type']}]"
    return f"{name}[{others.get('type', 'string')}]" if isinstance(others, Mapping) else str(name)


def _described(details: Mapping[str, Any]) -> str:
    choices = f" Enum values: {details['enum']}." if "enum" in details else ""
    return f"{details.get('description', '')}{choices}"


_PYTHON_NAMES = MappingProxyType({"string": "str", "number": "float", "integer": "int", "boolean": "bool"})


def _python_function(document: Mapping[str, Any]) -> str:
    properties = (document.get("parameters") or {}).get("properties") or {}
    lines = [f"# Function: {document['name']}", '    """', f"    {document.get('description', '')}", ""]
    lines += ["    Args:"] if properties else []
    lines += [line for name, details in properties.items() for line in _python_parameter(name, details, 8)]
    return "\n".join([*lines, '    """', ""])


def _python_parameter(name: str, details: Mapping[str, Any], indent: int) -> Iterator[str]:
    default = f", default={details['default']!r}" if "default" in details else ""
    yield f"{' ' * indent}{name} ({_python_type(details)}{default}): {_described(details)}"
    for child, inner in (details.get("properties") or {}).items():
        yield from _python_parameter(child, inner, indent + 4)


def _python_type(details: Mapping[str, Any]) -> str:
    name = str(details.get("type", "string"))
    others = details.get("additionalProperties")
    if name in ("array", "list", "tuple") and isinstance(details.get("items"), Mapping):
        return f"list[{_python_type(details['items'])}]"
    if name in ("object", "dict"):
        return f"dict[str, {_python_type(others)}]" if isinstance(others, Mapping) else "dict"
    return _PYTHON_NAMES.get(name, name)
