"""The page of a stream in a browser: what it shows, what it fetches, and how it follows."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.pages import opened
from tests.browser.publications import Readers, StreamOfWindows

from lazysketch.service.page_file import standalone_page
from lazysketch.service.publication import Publication
from lazysketch.service.reading.views import PublicationView

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = ("<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "a\u202egnp.exe")
COUNTS = {"/": 4000, "/search": 2000, **dict.fromkeys(HOSTILE, 1500)}


def names(page: Page) -> list[str]:
    return page.locator("#rows .name").all_inner_texts()


def published(stream: StreamOfWindows) -> Publication:
    stream.count(COUNTS)
    return stream.publication()


def test_waits_for_the_first_publication_and_follows_the_next(
    browser: Browser, readers: Readers
) -> None:
    stream = StreamOfWindows()
    with opened(browser) as page:
        page.goto(readers.address)
        page.wait_for_selector("text=Waiting for the first publication")
        readers.publish(published(stream))
        page.wait_for_selector("#rows tr")
        assert names(page)[0] == "/"
        page.evaluate("document.querySelector('#rows tr').same = true")
        before = page.inner_text("#rows tr .estimate")
        readers.publish(published(stream))
        page.wait_for_function(
            "old => document.querySelector('.estimate').innerText !== old", arg=before
        )
        assert page.evaluate("document.querySelector('#rows tr').same")  # changed in place
        assert "Live" in page.inner_text("#status")


def test_hostile_items_are_text(browser: Browser, readers: Readers) -> None:
    readers.publish(published(StreamOfWindows()))
    with opened(browser) as page:
        page.goto(readers.address)
        page.wait_for_selector("#rows tr")
        shown = names(page)
        assert set(HOSTILE[:2]) <= set(shown)
        assert "aU+202Egnp.exe" in shown
        assert page.locator("main img, main script").count() == 0


def test_says_loudly_that_it_is_not_private_or_old(browser: Browser, readers: Readers) -> None:
    stream = StreamOfWindows()
    stream.count(COUNTS)
    reasons = ("the key is seeded",)
    readers.publish(stream.publication(next_in=-3600, private=False, not_private_because=reasons))
    with opened(browser) as page:
        page.goto(readers.address)
        page.wait_for_selector(".banner.danger")
        assert "NOT PRIVATE" in page.inner_text("#banners")
        assert "This is old" in page.inner_text("#banners")


def test_a_small_stream_says_how_far_its_noise_reaches(browser: Browser, readers: Readers) -> None:
    """A number that is all noise is shown with its reach, in all windows and in the last."""
    stream = StreamOfWindows(domain=("a", "b"), width=512)
    stream.count({"a": 1})
    readers.publish(stream.publication())
    with opened(browser) as page:
        page.goto(readers.address)
        page.wait_for_selector("#rows tr")
        total, last = page.locator("#figures .figure-note").all_inner_texts()[:2]
        assert "few events, so the noise is large" in total
        assert last.startswith("± ")
    with opened(browser) as page:
        stream.count({"a": 9_000, "b": 9_000})
        readers.publish(stream.publication())
        page.goto(readers.address)
        page.wait_for_selector("#windows tbody tr:nth-child(2)")
        total, last = page.locator("#figures .figure-note").all_inner_texts()[:2]
        assert "noise" not in total
        assert not last.startswith("± ")


def test_one_file_needs_no_service(browser: Browser, tmp_path: Path) -> None:
    overview = PublicationView(published(StreamOfWindows())).overview()
    path = tmp_path / "page.html"
    path.write_bytes(standalone_page(overview))
    with opened(browser) as page:
        page.goto(path.as_uri())
        page.wait_for_selector("#chart canvas")
        assert set(HOSTILE[:2]) <= set(names(page))
        assert "Saved" in page.inner_text("#status")


def test_fits_a_phone_and_is_small(browser: Browser, readers: Readers) -> None:
    readers.publish(published(StreamOfWindows()))
    with opened(browser, viewport={"width": 390, "height": 844}) as page:
        page.goto(readers.address)
        page.wait_for_selector("#chart canvas")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        painted = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        assert page.evaluate(painted) < 1000
    folder = files("lazysketch.service") / "page"
    own = [one for one in folder.iterdir() if "uplot" not in one.name]
    assert 10_000 < sum(len(one.read_bytes()) for one in own) < 120_000
