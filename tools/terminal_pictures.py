"""Draws docs/images/top-60.png, top-80.png and top-140.png: the real command in terminals.

    python -m tools.terminal_pictures [FOLDER]

``lazysketch top -`` reads a generated stream of pages, of which one becomes popular, in
pseudo-terminals of 60x15, 80x24 and 140x40. The screen is kept by pyte, drawn by rich as SVG, and
by Chromium as a picture. Needs what requirements/develop.txt installs, and chromium.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
import threading
import time
from io import BytesIO, StringIO
from pathlib import Path
from typing import Final

import pyte.screens
from PIL import Image
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from tools.pseudo_terminal import PseudoTerminal

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
SIZES: Final = ((60, 15), (80, 24), (140, 40))
SECONDS: Final = 25
BLOCK: Final = 4_000  # rows, ten times a second
PAGES: Final = tuple(
    f"/{section}{page}"
    for page in ("", "/today", "/guide", "/archive")
    for section in ("catalogue", "events", "hours", "children", "rooms", "e-books", "news", "help")
)
RISING: Final = 3
COLOURS: Final = 128
_THEME: Final = TerminalTheme(
    (17, 24, 28),
    (220, 226, 228),
    [
        *((17, 24, 28), (224, 108, 117), (120, 190, 110), (220, 180, 90)),
        *((97, 160, 225), (190, 130, 220), (70, 190, 190), (220, 226, 228)),
    ],
)
_NAMED: Final = {"brown": "yellow", "default": None}


def main(folder: Path) -> None:
    """Write the pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        for columns, lines in SIZES:
            screen = run(columns, lines)
            svg = drawn(screen, columns)
            page = browser.new_page(device_scale_factor=1.5)
            page.set_content(f'<body style="margin:0">{svg}</body>')
            data = page.locator("svg").screenshot()
            page.close()
            path = folder / f"top-{columns}.png"
            Image.open(BytesIO(data)).convert("RGB").quantize(COLOURS).save(path, optimize=True)
            print(f"{path}: {path.stat().st_size / 1000:,.0f} kB")
        browser.close()


def run(columns: int, lines: int) -> pyte.screens.Screen:
    """Return the screen of a run after some seconds."""
    read, write = os.pipe()
    terminal = PseudoTerminal(
        [
            *(sys.executable, "-m", "lazysketch", "top", "-", "--format", "lines"),
            *("--names-every", "50000", "-k", "30"),
        ],
        columns=columns,
        lines=lines,
        stdin=read,
    )
    os.close(read)
    feeding = threading.Thread(target=feed, args=(write, terminal), daemon=True)
    feeding.start()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and terminal.read(0.2):
        pass
    screen = terminal.screen
    terminal.press("q")
    time.sleep(0.2)
    terminal.process.kill()
    return screen


def feed(write: int, terminal: PseudoTerminal) -> None:
    """Write visits until the run ends: a power law, in which one page rises and falls."""
    chance = random.Random(7)
    try:
        with os.fdopen(write, "wb", buffering=0) as pipe:
            number = 0
            while terminal.process.poll() is None:
                weights = [1 / (place + 2) for place in range(len(PAGES))]
                weights[RISING] *= 1 + 2 * max(0, number - 80) / 80
                visits = chance.choices(PAGES, weights, k=BLOCK)
                pipe.write("".join(f"{page}\n" for page in visits).encode())
                number += 1
                time.sleep(0.1)
    except OSError:
        return


def drawn(screen: pyte.screens.Screen, columns: int) -> str:
    """Return the screen as SVG, which fetches nothing."""
    console = Console(record=True, width=columns, file=StringIO(), force_terminal=True)
    for line in range(screen.lines):
        text = Text()
        for column in range(columns):
            cell = screen.buffer[line][column]
            style = Style(color=_NAMED.get(cell.fg, cell.fg), bold=cell.bold, reverse=cell.reverse)
            text.append(cell.data, style)
        console.print(text, overflow="crop", no_wrap=True, soft_wrap=True)
    svg = console.export_svg(title="lazysketch top", theme=_THEME)
    return re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else IMAGES)
