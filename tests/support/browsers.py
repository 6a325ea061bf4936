"""A headless Chromium: at a usual place (``apt-get install chromium``), or named by ``CHROMIUM``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next((path for path in map(shutil.which, _NAMES) if path), None)


@contextmanager
def launched() -> Iterator[Any]:
    """The browser, closed afterwards."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


def window(browser: Any, **options: Any) -> Any:
    """A page of the browser that waits as long as a busy machine makes it: the test's limit ends it."""
    page = browser.new_page(**options)
    page.set_default_timeout(0)
    return page
