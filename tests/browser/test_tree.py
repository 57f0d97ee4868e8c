"""The tree of a stream with levels: what it shows, by keyboard, and while it is updated."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser.pages import opened
from tests.browser.publications import Readers
from tests.unit.service.publications import Service, settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FOCUSED = "document.activeElement.querySelector('.name')?.innerText"


def names(page: Page) -> list[str]:
    return page.locator("#tree .name").all_inner_texts()


def nodes(page: Page) -> list[tuple[str, str | None, str | None]]:
    return [
        (
            one.locator(".name").first.inner_text(),
            one.get_attribute("aria-level"),
            one.get_attribute("aria-expanded"),
        )
        for one in page.locator("#tree [role=treeitem]").all()
    ]


def test_the_tree_by_keyboard_and_while_it_is_updated(
    browser: Browser, readers: Readers, tmp_path: Path
) -> None:
    service = Service(tmp_path)
    stream = settings(levels="ipv4", epsilon=8.0, delta=1e-3)
    with closing(service.host(stream)) as host:  # it publishes where the readers look
        events = ["10.0.0.1"] * 600 + ["10.0.1.9"] * 300 + ["192.0.2.7"] * 200

        def publish(events: list[str]) -> None:
            host.stream("pages").counts.update_many(events)
            service.clock.now += 10.0
            assert host.publish("pages")

        for _ in range(12):
            publish(events)
        with opened(browser) as page:
            page.goto(readers.address)
            page.wait_for_selector("#tree [role=treeitem]")
            assert nodes(page)[:3] == [
                ("10.0.0.0/8", "1", "true"),
                ("10.0.0.0/16", "2", "true"),
                ("10.0.0.0/24", "3", "true"),
            ]
            assert ("192.0.2.7", "4", None) in nodes(page)
            all_names = names(page)
            axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
            assert not axe.run(page).response["violations"]

            page.focus("#tree [tabindex='0']")
            assert page.evaluate(FOCUSED) == "10.0.0.0/8"
            page.keyboard.press("ArrowLeft")
            assert names(page)[:2] == ["10.0.0.0/8", "192.0.0.0/8"]
            page.keyboard.press("ArrowRight")
            page.keyboard.press("ArrowRight")
            assert page.evaluate(FOCUSED) == "10.0.0.0/16"
            assert names(page) == all_names
            page.keyboard.press("End")
            assert page.evaluate(FOCUSED) == "192.0.2.7"
            page.keyboard.press("Home")
            page.keyboard.press("ArrowDown")
            page.keyboard.press("Enter")
            assert nodes(page)[1] == ("10.0.0.0/16", "2", "false")

            page.evaluate(
                "document.querySelectorAll('#tree li').forEach((one) => { one.same = 1; })"
            )
            before = page.inner_text("#tree .estimate >> nth=0")
            publish(events)
            page.wait_for_function(
                "old => document.querySelector('#tree .estimate').innerText !== old", arg=before
            )
            assert nodes(page)[1] == ("10.0.0.0/16", "2", "false")  # as the reader left it
            assert page.evaluate(FOCUSED) == "10.0.0.0/16"
            assert page.locator("#tree li").evaluate_all("all => all.every((one) => one.same)")
