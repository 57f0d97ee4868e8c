"""Who can use the page: by keyboard, with a screen reader, in the dark, enlarged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.browser.pages import opened
from tests.browser.publications import Readers, StreamOfWindows

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# What is in the order of the keyboard, and whether it shows that it has the focus.
REACHABLE = """() => [...document.querySelectorAll(
  "a[href], button, input, summary, [tabindex='0']")].filter((one) =>
    one.checkVisibility() && !one.disabled && one.type !== "radio").length"""
FOCUSED = """() => {
  const one = document.activeElement;
  if (one === document.body) return null;
  const shown = one.type === "radio" ? one.nextElementSibling : one;
  const style = getComputedStyle(shown);
  const box = one.getBoundingClientRect();
  return {
    name: `${one.tagName} ${one.id} ${one.innerText?.trim().slice(0, 40)}`,
    radio: one.type === "radio",
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    inside: box.bottom > 0 && box.top < innerHeight,
  };
}"""


def published(readers: Readers) -> None:
    stream = StreamOfWindows(domain=tuple("abcdef"), width=512)
    for changed in (900, 300, 1_800):
        stream.count({"a": 2_000, "b": changed, "c": 500, "d": 100})
    stream.count({"a": 400}, slices=3)  # the open window
    readers.publish(stream.publication())


def shown(page: Page, readers: Readers) -> None:
    page.goto(readers.address)
    page.wait_for_selector("#chart canvas")


def test_everything_is_reached_by_keyboard_and_shows_its_focus(
    browser: Browser, readers: Readers
) -> None:
    published(readers)
    with opened(browser) as page:
        shown(page, readers)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        expected = page.evaluate(REACHABLE)
        page.evaluate("document.activeElement.blur()")
        seen = []
        for _ in range(expected + 1):
            page.keyboard.press("Tab")
            focused = page.evaluate(FOCUSED)
            if focused is None:
                break
            assert focused["outlined"], focused["name"]
            assert focused["inside"], focused["name"]
            seen.append(focused)
        assert len([one for one in seen if not one["radio"]]) == expected
        assert len([one for one in seen if one["radio"]]) == 1  # arrows choose within the group


def test_the_keyboard_chooses_names_windows_and_order(browser: Browser, readers: Readers) -> None:
    published(readers)
    with opened(browser) as page:
        shown(page, readers)
        page.focus("#rows tr:nth-child(4) .pick")
        page.keyboard.press("Enter")
        page.wait_for_selector("#legend li:nth-child(4)")
        page.keyboard.press("Space")
        page.wait_for_selector("#legend li:nth-child(4)", state="detached")
        page.focus("#scope input")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("#scope-note:has-text('Window ')")
        page.focus("[data-sort=item] button")
        page.keyboard.press("Enter")
        page.wait_for_selector("[data-sort=item][aria-sort=ascending]")
        assert page.locator("#rows .name").all_inner_texts() == sorted("abcdef")
        page.keyboard.press("/")
        page.keyboard.type("b")
        assert page.locator("#rows .name").all_inner_texts() == ["b"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_rules_of_accessibility_are_kept(
    browser: Browser, readers: Readers, scheme: str, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    published(readers)
    size = {"width": width, "height": 900}
    with opened(browser, color_scheme=scheme, viewport=size) as page:
        shown(page, readers)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        found = axe.run(page).response
        assert len(found["passes"]) > 20
        assert not found["violations"]
        readers.list_streams("pages", "others")
        page.goto(readers.address)
        page.wait_for_selector(".card .bar")
        assert not axe.run(page).response["violations"]


def test_the_dark_follows_the_system_until_it_is_chosen(browser: Browser, readers: Readers) -> None:
    published(readers)
    ground = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, color_scheme="dark") as page:
        shown(page, readers)
        dark = page.evaluate(ground)
        page.emulate_media(color_scheme="light")
        light = page.evaluate(ground)
        assert light != dark
        page.click("#theme")
        assert page.evaluate(ground) == dark
        page.reload()
        page.wait_for_selector("#chart canvas")
        assert page.evaluate(ground) == dark
        assert page.get_attribute("#theme", "aria-label") == "Light mode"


# 1280 pixels at 200 % and at 400 %, a tablet and a phone.
@pytest.mark.parametrize("width", [640, 320, 768, 390])
def test_nothing_needs_scrolling_sideways(browser: Browser, readers: Readers, width: int) -> None:
    stream = StreamOfWindows(domain=(f"/a/{'long' * 60}", "b"), width=512)
    stream.count({f"/a/{'long' * 60}": 3_000_000, "b": 20})
    stream.count({"b": 3_000})
    readers.publish(stream.publication(title="A very long title of a stream " * 4))
    with opened(browser, viewport={"width": width, "height": 700}) as page:
        shown(page, readers)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(
            """() => [...document.querySelectorAll("#rows td, #rows .bar, .quiet, .segments")]
              .filter((one) => one.checkVisibility())
              .every((one) => one.getBoundingClientRect().right <= innerWidth)"""
        )


def test_a_policy_stops_scripts_and_requests_of_others(browser: Browser, readers: Readers) -> None:
    published(readers)
    with opened(browser, but="Content Security Policy") as page:
        shown(page, readers)
        stopped = page.evaluate(
            """async () => {
              const stopped = [];
              document.addEventListener("securitypolicyviolation", (event) =>
                stopped.push(event.effectiveDirective));
              const script = document.createElement("script");
              script.textContent = "window.ran = true";
              document.body.append(script);
              const image = document.createElement("img");
              image.src = "http://127.0.0.2:9/";
              document.body.append(image);
              await fetch("http://127.0.0.2:9/").catch(() => {});
              await new Promise((resolve) => setTimeout(resolve, 200));
              return { stopped, ran: Boolean(window.ran) };
            }"""
        )
        assert not stopped["ran"]
        assert set(stopped["stopped"]) == {"script-src-elem", "img-src", "connect-src"}
