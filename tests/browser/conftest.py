"""A Chromium of the machine; tests are skipped without one, unless CHROMIUM_REQUIRED is set."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser.publications import Readers

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


# No longer than a module: while it runs, its event loop is that of the thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("CHROMIUM_REQUIRED"):
            pytest.fail("CHROMIUM_REQUIRED is set, and there is no chromium on the path")
        pytest.skip("no chromium on the path: the page is not tested (Debian: package chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        yield chromium
        chromium.close()


@pytest.fixture
def readers(tmp_path: Path) -> Iterator[Readers]:
    service = Readers(tmp_path / "public")
    service.start()
    yield service
    service.stop()
