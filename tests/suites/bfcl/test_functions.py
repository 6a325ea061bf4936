"""The translation of function documents, against what upstream sends."""

from __future__ import annotations

from vendor_verifier.suites.bfcl.function_docs import tools_of


def test_python_document() -> None:
    """Name, hint, root type and every type name are upstream's, at every depth, and the document is left alone."""
    document = {
        "name": "a.b.c",
        "description": "Do.",
        "parameters": {
            "type": "dict",
            "properties": {
                "f": {"type": "float", "description": "F."},
                "t": {"type": "tuple", "items": {"type": "float"}, "description": "T."},
                "d": {"type": "dict", "properties": {"x": {"type": "any"}, "y": {"description": "untyped"}}},
                "l": {"type": "array", "items": {"type": "array", "items": {"type": "dict"}}},
                "u": {"type": "unheard-of"},
            },
            "required": ["f"],
        },
    }
    before = repr(document)
    (tool,) = tools_of([document], "python")
    assert repr(document) == before
    assert tool == {
        "type": "function",
        "function": {
            "name": "a_b_c",
            "description": "Do. Note that the provided function is in Python 3 syntax.",
            "parameters": {
                "type": "object",
                "properties": {
                    "f": {"type": "number", "format": "float", "description": "F. This is a float type value."},
                    "t": {"type": "array", "items": {"type": "number"}, "description": "T."},
                    "d": {
                        "type": "object",
                        "properties": {"x": {"type": "string"}, "y": {"type": "string", "description": "untyped"}},
                    },
                    "l": {"type": "array", "items": {"type": "array", "items": {"type": "object"}}},
                    "u": {"type": "string"},
                },
                "required": ["f"],
            },
        },
    }
