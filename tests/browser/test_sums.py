"""The page of a stream of sums: the largest sums with counts and means, and their course."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.browser.pages import opened
from tests.browser.publications import Readers
from tests.unit.service.publications import Service
from tests.unit.service.test_sum_streams import SPENT, shop

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_the_largest_sums_and_their_course(
    browser: Browser, readers: Readers, tmp_path: Path
) -> None:
    service = Service(tmp_path)
    with closing(service.host(SPENT)) as host:  # it publishes where the readers look
        shop(service, host, slices=13)
        with opened(browser) as page:
            page.goto(readers.address)
            page.wait_for_selector("#chart canvas")
            page.locator("#windows tbody tr").nth(2).wait_for()  # the last publication
            assert "Largest sum: north" in page.locator("#figures").inner_text()
            for hidden in ("#top", "#changes", "#tree-panel", "#histogram-panel", "#parts-panel"):
                assert not page.locator(hidden).is_visible()
            rows = page.locator("#sums tbody tr")
            expect(rows).to_have_count(4)
            assert [rows.nth(at).locator("th").inner_text() for at in range(3)] == [
                "north", "south", "west",
            ]  # fmt: skip
            expect(page.locator("#legend .chip")).to_have_count(3)
            axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
            assert not axe.run(page).response["violations"]
