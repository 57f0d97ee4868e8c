"""The page of a stream that counts distinct items: its number, its course, and no list of names."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.browser.pages import opened
from tests.browser.publications import Readers
from tests.unit.service.publications import Service, settings
from tests.unit.service.statistic_streams import publication, send
from tests.unit.service.test_distinct_streams import PEOPLE

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_the_number_and_its_course(browser: Browser, readers: Readers, tmp_path: Path) -> None:
    service = Service(tmp_path)
    with closing(service.host(PEOPLE)) as host:  # it publishes where the readers look
        for number in range(15):
            send(host, range(500 * number, 500 * number + 1_000))
            service.clock.now += 10.0
            assert host.publish("people")
        found = publication(host).windows
        with opened(browser) as page:
            page.goto(readers.address)
            page.wait_for_selector("#chart canvas")
            # Readers see the last publications one after the other, and the page follows them.
            about = re.compile(r"^(7,[89]|8,[01])\d\d$")  # within seven deviations of 8,000
            page.locator("#figures .figure", has_text=about).first.wait_for()
            assert "95 % sure" in page.locator("#figures").inner_text()
            assert page.locator("#subtitle").inner_text().startswith("How many different “user”")
            for hidden in ("#top", "#changes", "#legend", "#tree-panel"):
                assert not page.locator(hidden).is_visible()
            page.locator("#chart-numbers summary").click()
            assert len(found) == 3
            expect(page.locator("#chart-table tbody tr")).to_have_count(3)
            assert "(open)" in page.locator("#chart-table tbody tr").first.inner_text()
            described = page.locator("#chart").get_attribute("aria-label") or ""
            assert described == "Different “user” at the end of 2 windows, with intervals"
            axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
            assert not axe.run(page).response["violations"]


def test_the_list_of_streams_has_a_card_for_it(
    browser: Browser, readers: Readers, tmp_path: Path
) -> None:
    service = Service(tmp_path)
    with closing(service.host(PEOPLE, settings())) as host:
        send(host, range(3_000))
        host.stream("pages").counts.update_many(["/"] * 100)
        service.clock.now += 10.0
        for name in ("people", "pages"):
            assert host.publish(name)
        with opened(browser) as page:
            page.goto(readers.address)
            card = page.locator(".card", has_text="Visitors")
            card.locator(".figure", has_text=",").wait_for()
            assert "Different “user” so far" in card.inner_text()
            assert "No name is published yet" not in card.inner_text()
