"""A page in the browser that must have no error and ask no other server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request


@contextmanager
def opened(browser: Browser, *, but: str | None = None, **options: Any) -> Iterator[Page]:
    """A page without console errors (a violated policy is one), and without foreign requests.

    Args:
        browser: the browser.
        but: errors with this text are expected.
        options: of the context of the browser.
    """
    with browser.new_context(**options) as context:
        page = context.new_page()
        errors: list[str] = []
        asked: list[Request] = []
        page.on("console", lambda one: errors.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.on("request", lambda request: asked.append(request))
        yield page
        assert not [one for one in errors if but is None or but not in one]
        sent = [one.url for one in asked if one.failure != "csp"]  # the browser stopped the others
        own = ("http://127.0.0.1:", "data:", "file:")
        assert not [url for url in sent if not url.startswith(own)]
