"""The frame of every page: head, policy, style and script. A page may neither load nor send anything."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from markupsafe import Markup

from vendor_verifier.reports.html.elements import element, lines, void


def document(title: str, lang: str, body: Sequence[str | None], *, script: str = "") -> str:
    """The whole file: ``body`` under our style and, if there is one, ``script``, which must be ours."""
    style = part("page.css")
    head = (
        void("meta", charset="utf-8"),
        void("meta", http_equiv="Content-Security-Policy", content=policy(style, script)),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name="color-scheme", content="light dark"),
        void("meta", name="referrer", content="no-referrer"),
        element("title", title),
        void("link", rel="icon", href="data:,"),
        # Ours, constant, and held by the policy to exactly these bytes.
        element("style", Markup(style)),  # noqa: S704
    )
    run = element("script", Markup(script)) if script else None  # noqa: S704
    page = element("html", lines((element("head", lines(head)), element("body", lines((*body, run))))), lang=lang)
    return f"<!doctype html>\n{page}\n"


def policy(style: str, script: str) -> str:
    """The content security policy that allows exactly these two texts and nothing else."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def part(name: str) -> str:
    """One of the constant texts of the pages."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
