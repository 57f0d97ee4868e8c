"""The page of a stream of values: its quantiles with their course, and a histogram."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.browser.pages import opened
from tests.browser.publications import Readers
from tests.unit.service.publications import Service, settings
from tests.unit.service.statistic_streams import send
from tests.unit.service.test_value_streams import NAME, SECONDS

from lazysketch.service.host import Host

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def wait(service: Service, host: Host) -> None:
    """Let 15 slices pass, whose values lie around 30, and later around 50."""
    for number in range(15):
        values = np.random.default_rng(number).normal(30 if number < 9 else 50, 8, 2_000)
        send(host, values, name=NAME)
        service.clock.now += 10.0
        assert host.publish(NAME)


def test_quantiles_their_course_and_the_histogram(
    browser: Browser, readers: Readers, tmp_path: Path
) -> None:
    service = Service(tmp_path)
    with closing(service.host(SECONDS)) as host:  # it publishes where the readers look
        wait(service, host)
        with opened(browser) as page:
            page.goto(readers.address)
            page.wait_for_selector("#chart canvas")
            page.locator("#windows tbody tr").nth(2).wait_for()  # the last publication
            figures = page.locator("#figures").inner_text()
            for name in ("Median", "90 % below", "99 % below", "Values", "95 % sure"):
                assert name in figures
            assert page.locator("#subtitle").inner_text().startswith("How “took” was distributed")
            for hidden in ("#top", "#changes", "#tree-panel"):
                assert not page.locator(hidden).is_visible()
            assert page.locator("#legend .chip").all_inner_texts() == [
                "Median", "90 % below", "99 % below",
            ]  # fmt: skip
            expect(page.locator("#histogram .histogram-bar")).to_have_count(40)
            assert page.locator("#histogram-axis span").first.inner_text() == "0"
            page.locator("#histogram-numbers summary").click()
            rows = page.locator("#histogram-table tbody tr")
            expect(rows).to_have_count(40)
            assert rows.first.inner_text().startswith("below 0")
            assert rows.last.inner_text().startswith("from 100 on")
            page.locator("#chart-numbers summary").click()
            page.locator("#chart-table tbody tr").nth(2).wait_for()
            described = page.locator("#chart").get_attribute("aria-label") or ""
            assert described.startswith("Median, 90 % below, 99 % below at the end of 2 windows")
            axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
            assert not axe.run(page).response["violations"]


def test_the_list_of_streams_has_a_card_for_it(
    browser: Browser, readers: Readers, tmp_path: Path
) -> None:
    service = Service(tmp_path)
    with closing(service.host(SECONDS, settings())) as host:
        wait(service, host)
        assert host.publish("pages")
        with opened(browser) as page:
            page.goto(readers.address)
            card = page.locator(".card", has_text="Latency")
            card.get_by_text("Median of “took” so far").wait_for()
            assert " to " in card.inner_text()
            assert "No name is published yet" not in card.inner_text()
