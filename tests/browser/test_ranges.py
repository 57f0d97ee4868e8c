"""The page of a stream of ranges: the parts of all keys, and a box to ask for any range."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.browser.pages import opened
from tests.browser.publications import Readers
from tests.unit.service.publications import Service
from tests.unit.service.test_range_streams import CLIENTS, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def test_the_parts_of_all_keys_and_a_box_to_ask(
    browser: Browser, readers: Readers, tmp_path: Path
) -> None:
    service = Service(tmp_path)
    with closing(service.host(CLIENTS)) as host:  # it publishes where the readers look
        visit(service, host, slices=13)
        with opened(browser, but="400") as page:  # of what is no range
            page.goto(readers.address)
            page.wait_for_selector("#chart canvas")
            page.locator("#windows tbody tr").nth(2).wait_for()  # the last publication
            assert "Keys" in page.locator("#figures").inner_text()
            for hidden in ("#top", "#changes", "#tree-panel", "#histogram-panel", "#legend"):
                assert not page.locator(hidden).is_visible()
            parts = page.locator("#parts tbody tr")
            expect(parts).to_have_count(16)
            assert parts.nth(12).inner_text().startswith("192.0.0.0/4")
            asked = page.locator("#asked tbody tr")
            box = page.get_by_label("Count of a range")
            for text in ("10.0.0.0/8", "0-1024"):
                box.fill(text)
                box.press("Enter")
                asked.filter(has_text=text).wait_for()
            expect(asked).to_have_count(2)
            box.fill("10.0.0.1/8")
            page.get_by_role("button", name="Show", exact=True).click()
            page.get_by_text("Expected networks of keys of 32 bits such as").wait_for()
            expect(asked).to_have_count(2)
            axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
            assert not axe.run(page).response["violations"]
