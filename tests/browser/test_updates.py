"""The page while it is open: updates, restarts of the service, old numbers, many names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser.pages import opened
from tests.browser.publications import Readers, StreamOfWindows

import lazysketch as ls
from lazysketch.service.host import Host, Publisher
from lazysketch.service.stream_settings import StreamSettings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ITEMS = tuple(f"/page/{number}" for number in range(50))
GONE = "net::ERR_"  # a connection refused, or a feed cut off
# What the browser reports of a page: shifts of its layout, and tasks that hold up its frames.
WATCH = """() => {
  window.seen = { shift: 0, tasks: [], frames: [] };
  const watch = (type, take) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type });
  watch("layout-shift", (entry) => { window.seen.shift += entry.value; });
  watch("longtask", (entry) => window.seen.tasks.push(entry.duration));
  let last = performance.now();
  const frame = (now) => {
    window.seen.frames.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


def stream_of_pages() -> StreamOfWindows:
    return StreamOfWindows(domain=ITEMS, width=512)


def counts(*, seed: int = 0) -> Mapping[str, int]:
    return {item: 1 + (7 * place + 13 * seed) % 40 for place, item in enumerate(ITEMS)}


def falling() -> Mapping[str, int]:
    return {item: 3_000 - 50 * place for place, item in enumerate(ITEMS)}


def show(page: Page, readers: Readers, stream: StreamOfWindows, events: Mapping[str, int]) -> None:
    """Publish the next window, and wait until the page has it."""
    before = page.inner_text("#windows tbody tr")
    stream.count(events)  # type: ignore[arg-type]
    readers.publish(stream.publication())
    page.wait_for_function(
        "old => document.querySelector('#windows tbody tr').innerText !== old", arg=before
    )


def test_an_update_changes_numbers_and_nothing_else(browser: Browser, readers: Readers) -> None:
    stream = stream_of_pages()
    stream.count(falling())  # type: ignore[arg-type]
    stream.count(falling())  # type: ignore[arg-type]
    readers.publish(stream.publication())
    with opened(browser, viewport={"width": 1440, "height": 900}) as page:
        page.goto(readers.address)
        page.wait_for_selector("#chart canvas")
        page.wait_for_timeout(300)
        kept = "#rows tr, #rows *, #figures *, #legend *, #promise *, #chart canvas, .panel"
        page.evaluate(
            "query => document.querySelectorAll(query).forEach((one) => { one.same = 1; })", kept
        )
        before = page.locator(kept).count()
        first = page.inner_text("#rows .estimate >> nth=0")
        page.evaluate(WATCH)
        show(page, readers, stream, falling())
        page.wait_for_timeout(600)  # bars and rows have moved
        assert page.inner_text("#rows .estimate >> nth=0") != first
        same = page.evaluate(
            "query => [...document.querySelectorAll(query)].filter((one) => one.same).length", kept
        )
        assert same == page.locator(kept).count() == before
        assert page.evaluate("window.seen.shift") < 0.01


def test_rows_keep_their_nodes_and_their_focus_when_they_change_places(
    browser: Browser, readers: Readers
) -> None:
    stream = StreamOfWindows(domain=("a", "b", "c"), width=512)
    stream.count({"a": 900, "b": 500, "c": 100})
    readers.publish(stream.publication())
    for motion, glides in (("no-preference", True), ("reduce", False)):
        with opened(browser, reduced_motion=motion) as page:
            page.goto(readers.address)
            page.wait_for_selector("#rows tr")
            order = page.locator("#rows .name").all_inner_texts()
            page.evaluate(
                "document.querySelectorAll('#rows tr').forEach((one) => { one.same = 1; })"
            )
            page.focus("#rows tr:last-child .pick")
            last = order[-1]
            page.evaluate(
                """() => {
                  window.moved = 0;
                  const animate = Element.prototype.animate;
                  Element.prototype.animate = function (...given) {
                    window.moved += 1;
                    return animate.apply(this, given);
                  };
                }"""
            )
            show(page, readers, stream, {last: 4_000})
            page.wait_for_function(
                "old => document.querySelector('#rows .name').innerText === old", arg=last
            )
            assert page.locator("#rows tr").evaluate_all("all => all.every((one) => one.same)")
            assert page.evaluate("document.activeElement.innerText.trim()") == last
            assert (page.evaluate("window.moved") > 0) is glides


def test_fifty_rows_update_without_a_long_pause(browser: Browser, readers: Readers) -> None:
    stream = stream_of_pages()
    stream.count(counts())  # type: ignore[arg-type]
    readers.publish(stream.publication())
    with opened(browser, viewport={"width": 1440, "height": 900}) as page:
        page.goto(readers.address)
        page.wait_for_selector("#chart canvas")
        assert page.locator("#rows tr").count() == len(ITEMS)
        page.wait_for_timeout(500)
        page.evaluate(WATCH)
        for seed in range(1, 7):  # every row changes its number, and most their places
            show(page, readers, stream, counts(seed=seed))
        page.wait_for_timeout(500)
        seen = page.evaluate("window.seen")
        frames = seen["frames"][1:]
        assert len(frames) > 30
        rate = 1000 * len(frames) / sum(frames)
        # Each of six updates would have such a task; a busy machine has one now and then.
        slow = [task for task in seen["tasks"] if task > 200]
        assert len(slow) < 3, f"{rate:.1f} frames a second, {slow}"


def test_the_page_goes_on_after_a_restart_of_the_service(
    browser: Browser, readers: Readers
) -> None:
    stream = StreamOfWindows(domain=("a", "b"), width=512)
    stream.count({"a": 900, "b": 500})
    readers.publish(stream.publication())
    with opened(browser, but=GONE) as page:
        page.goto(readers.address)
        page.wait_for_selector("#status[data-state=live]")
        readers.stop()
        page.wait_for_selector("#status:not([data-state=live])")
        assert page.locator("#rows tr").count() == 2  # the numbers stay
        stream.count({"a": 4_000})
        readers.publish(stream.publication())
        readers.start()
        page.wait_for_function("() => document.querySelectorAll('#windows tbody tr').length === 2")
        page.wait_for_selector("#status[data-state=live]")


def test_numbers_become_old_and_new_again(browser: Browser, readers: Readers) -> None:
    stream = StreamOfWindows(domain=("a", "b"), width=512)
    stream.count({"a": 900, "b": 500})
    # The next publication is expected soon, and is old two slices, of six minutes, after that.
    readers.publish(stream.publication(next_in=6 - 2 * stream.facts.every / stream.facts.slices))
    with opened(browser) as page:
        page.goto(readers.address)
        page.wait_for_selector("#status[data-state=live]")
        assert page.locator("#banners .banner").count() == 0
        page.wait_for_selector("#status[data-state=old]")
        assert "This is old" in page.inner_text("#banners")
        show(page, readers, stream, {"a": 100})
        page.wait_for_selector("#status[data-state=live]")
        assert page.locator("#banners .banner").count() == 0


def test_a_stream_that_has_ended_is_not_old(browser: Browser, readers: Readers) -> None:
    stream = StreamOfWindows(domain=("a", "b"), width=512)
    stream.count({"a": 900, "b": 500})
    readers.publish(stream.publication(next_in=-36_000, finished=True))
    with opened(browser) as page:
        page.goto(readers.address)
        page.wait_for_selector("text=Ended. Last publication")
        assert page.locator("#banners .banner").count() == 0


def test_a_stream_that_ends_within_a_window_is_never_old(
    browser: Browser, readers: Readers, tmp_path: Path
) -> None:
    """The page says that it has ended after a slice, not when the window of ten minutes is over."""
    store = ls.open_store(tmp_path / "store", key=ls.Key.generate(), anchor=tmp_path / "anchor")
    host = Host(store, readers.files.folder)
    host.open_streams(
        [StreamSettings(name="pages", every="10min", slices=600, domain=("a",), share=None)]
    )
    with Publisher(host, failed=lambda _: None), opened(browser) as page:
        page.goto(readers.address)
        page.wait_for_selector("#status[data-state=live]")
        page.evaluate(
            """() => {
              window.olds = 0;
              new MutationObserver(() => {
                if (document.querySelector("#banners .banner")) window.olds += 1;
              }).observe(document.querySelector("#banners"), { childList: true });
            }"""
        )
        host.finish("pages")
        page.wait_for_selector("text=Ended. Last publication")
        page.wait_for_timeout(8_000)  # numbers are old after five seconds without the next
        assert page.evaluate("window.olds") == 0
    host.close()


def test_a_list_of_streams_follows_each_and_says_which_is_old(
    browser: Browser, readers: Readers
) -> None:
    readers.list_streams("pages", "shops")
    pages = StreamOfWindows(domain=("a", "b"), width=512)
    pages.count({"a": 900, "b": 500})
    readers.publish(pages.publication(next_in=-36_000))
    shops = StreamOfWindows(domain=("c", "d"), width=512)
    shops.count({"c": 900, "d": 500})
    readers.publish(shops.publication(stream="shops", title="Shops"))
    with opened(browser) as page:
        page.goto(readers.address)
        page.wait_for_selector(".card:nth-child(2) .bar")
        assert page.locator(".card h2").all_inner_texts() == ["Pages of the library", "Shops"]
        olds = page.locator(".card .old")
        assert [olds.nth(place).is_visible() for place in range(2)] == [True, False]
        page.click("text=Shops")
        page.wait_for_selector("#rows tr")
        assert page.title() == "Shops"
        page.click("text=All streams")
        page.wait_for_selector(".card .bar")


def test_an_unknown_stream_is_a_page_that_says_so(browser: Browser, readers: Readers) -> None:
    with opened(browser, but="404 (Not Found)") as page:
        answer = page.goto(f"{readers.address}/streams/another")
        assert answer is not None
        assert answer.status == 404
        page.wait_for_selector("text=no stream of the name another")


def test_a_search_finds_one_of_ten_thousand_names(browser: Browser, readers: Readers) -> None:
    many = tuple(f"/product/{number}" for number in range(10_000))
    stream = StreamOfWindows(domain=many, width=512)
    stream.count({one: 2_000 - 40 * place for place, one in enumerate(many[:50])})
    readers.publish(stream.publication())
    with opened(browser) as page:
        page.goto(readers.address)
        page.wait_for_selector("#rows tr")
        assert "10,000" in page.inner_text("#figures")
        page.evaluate(WATCH)
        page.keyboard.press("/")
        page.keyboard.type("product/9876")
        page.wait_for_selector("#rows tr:only-child", timeout=60_000)
        assert page.locator("#rows .name").all_inner_texts() == ["/product/9876"]
        page.fill("#filter", "")
        page.wait_for_function(
            "() => document.querySelector('#range').innerText === '1 to 50 of 10,000'"
        )
        assert page.locator("#rows tr").count() == 50  # the others are on further pages
        page.click("#next")
        page.wait_for_function("() => document.querySelector('#range').innerText.startsWith('51 ')")
        assert len([task for task in page.evaluate("window.seen.tasks") if task > 500]) < 2
