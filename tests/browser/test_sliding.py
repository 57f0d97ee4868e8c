"""The page of a stream whose windows slide: the last span, and its alerts."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.browser.pages import opened
from tests.browser.publications import Readers
from tests.unit.service.publications import Service
from tests.unit.service.test_alerts_of_streams import SLICE, SLIDING, count, stream

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_the_last_span_and_its_alerts(browser: Browser, readers: Readers, tmp_path: Path) -> None:
    service = Service(tmp_path)  # it publishes where the readers look
    with closing(service.host(stream(SLIDING, title="Logins"))) as host, opened(browser) as page:
        for number in range(9):
            count(host, number)
            service.clock.now += SLICE
            assert host.publish("pages")
        page.goto(readers.address)
        # Slices 5 to 8 have 1,800 of "a" and 20 of "b": the last window.
        page.wait_for_selector("#rows tr")
        page.locator("label", has_text="Last window").click()
        first = page.locator("#rows tr").first
        expect(first).to_contain_text("a", timeout=30_000)
        expect(first).to_contain_text(re.compile(r"1,[78]\d\d"), timeout=30_000)
        about = page.locator("#windows").inner_text()
        assert "the last 40 seconds at the end of a slice of 10 seconds" in about
        expect(page.locator("#windows tbody tr")).to_have_count(2)
        assert page.locator("#alerts-panel").is_visible()
        note = page.locator("#alerts-note").inner_text()
        assert note.startswith("Watched in each window of 40 seconds: a above 2,000, any name")
        assert "at most 1 % that one is wrong in 8,640 windows" in note
        expect(page.locator("#alerts li.over")).to_have_count(2, timeout=30_000)
        expect(page.locator("#alerts li.lasts")).to_have_count(0)
        axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
        assert not axe.run(page).response["violations"]
        for number in range(9, 12):
            count(host, number)
            service.clock.now += SLICE
            assert host.publish("pages")
        lasting = page.locator("#alerts li.lasts")
        expect(lasting).to_have_count(
            1, timeout=30_000
        )  # the page follows, and what lasts comes first
        expect(page.locator("#alerts li").first).to_contain_text("is above 2,000")


def test_a_stream_without_rules_has_no_panel(
    browser: Browser, readers: Readers, tmp_path: Path
) -> None:
    service = Service(tmp_path)
    with closing(service.host(stream(SLIDING, alerts=[]))) as host, opened(browser) as page:
        count(host, 0)
        service.clock.now += SLICE
        assert host.publish("pages")
        page.goto(readers.address)
        page.wait_for_selector("#rows tr")
        assert not page.locator("#alerts-panel").is_visible()
