"""Draws docs/images/page-1440.png and page-390.png: the page of the service, in a browser.

    python -m tools.page_pictures [FOLDER]

It runs the parts of the service, with a clock that begins a day ago, on a generated stream: 40
names whose shares follow a power law, over the hours of a day, of which one becomes popular. Needs
what requirements/develop.txt installs, and chromium.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from io import BytesIO
from math import pi, sin
from pathlib import Path
from typing import Final

import uvicorn
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

import lazysketch as ls
from lazysketch.service.host import Host
from lazysketch.service.publication_files import PublicationFiles
from lazysketch.service.reading.application import reading_application
from lazysketch.service.reading.published_streams import PublishedStreams
from lazysketch.service.stream_settings import StreamSettings

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
SIZES: Final = ((1440, 940), (390, 844))
COLOURS: Final = 128
STREAM: Final = StreamSettings(
    name="pages",
    title="Pages of the city library",
    every="1h",
    slices=12,
    keep=24,
    share=0.01,
    item="path",
)
SLICE: Final = 300  # seconds
HOURS: Final = 23
SECTIONS: Final = ("catalogue", "events", "hours", "children", "rooms", "e-books", "news", "help")
PARTS: Final = ("", "/today", "/guide", "/archive", "/all")
PATHS: Final = ("/", "/search", *(f"/{one}{two}" for two in PARTS for one in SECTIONS))
RISING: Final = PATHS.index("/children")


def main(folder: Path) -> None:
    """Write the pictures.

    Args:
        folder: where to.
    """
    with tempfile.TemporaryDirectory() as place, closing(_host(Path(place))) as host:
        _count(host)
        with _served(Path(place)) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            for width, height in SIZES:
                path = folder / f"page-{width}.png"
                path.write_bytes(_picture(browser, address, width=width, height=height))
            browser.close()


class _Clock:
    """Seconds since 1970, which the stream moves to the present."""

    def __init__(self) -> None:
        present = time.time() // SLICE * SLICE
        self.now = present - present % 3600 - HOURS * 3600
        self.end = present

    def __call__(self) -> float:
        return self.now


def _host(place: Path) -> Host:
    store = ls.open_store(place / "store", key=ls.Key.generate(), anchor=place / "anchor")
    host = Host(store, place / "public", clock=_Clock())
    host.open_streams([STREAM])
    return host


def _count(host: Host) -> None:
    """Count a day of events, and publish at every tick."""
    rng, clock = random.Random(7), host.clock
    assert isinstance(clock, _Clock)
    weights = [1 / (rank + 1) ** 0.9 for rank in range(len(PATHS))]
    while clock.now < clock.end:
        hour = clock.now / 3600 % 24
        # The last hours before the open window have another favourite.
        weights[RISING] = 0.25 if clock.now < clock.end // 3600 * 3600 - 3600 else 0.9
        number = int(400 * (1.3 + sin((hour - 9) / 24 * 2 * pi)))
        paths = rng.choices(PATHS, weights, k=number)
        host.store.ingest_several({}, paths, into=host.stream("pages").counts, durable=False)
        clock.now += SLICE
        host.publish("pages")


@contextmanager
def _served(place: Path) -> Iterator[str]:
    """Serve what is published, as the process of readers does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    application = reading_application(PublishedStreams(PublicationFiles(place / "public")))
    config = uvicorn.Config(
        application, host="127.0.0.1", port=port, log_config=None, timeout_graceful_shutdown=0
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def _picture(browser: Browser, address: str, *, width: int, height: int) -> bytes:
    """Return a picture of the page with few colours, which makes it small."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    page.goto(address)
    page.wait_for_selector("#chart canvas")
    page.wait_for_selector("#status[data-state=live]")
    page.wait_for_timeout(1_000)  # bars have grown to their length
    drawn = Image.open(BytesIO(page.screenshot()))
    page.close()
    small = BytesIO()
    drawn.convert("RGB").quantize(COLOURS).save(small, "png", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
