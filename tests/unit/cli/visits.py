"""The stream of the documented example of people: visits of pages, nine tenths by one robot."""

from __future__ import annotations

import random
from pathlib import Path

__all__ = ["ROBOT", "TRUTH", "write_visits"]

PAGES = [f"/page{i}" for i in range(1, 7)]
VISITORS, OF_EACH = 2_000, 3
ROBOT = 9 * VISITORS * OF_EACH
# What counts of each page where every person counts once per page.
TRUTH = {
    "/login": 1,
    "/page1": 994,
    "/page2": 1_006,
    "/page3": 1_042,
    "/page4": 1_001,
    "/page5": 962,
    "/page6": 995,
}


def write_visits(folder: Path) -> None:
    """Write the visits and the public list of pages; the rows are the same in every call."""
    chosen = random.Random(3)
    rows = [
        (f"192.0.{visitor // 250}.{visitor % 250}", page)
        for visitor in range(VISITORS)
        for page in chosen.sample(PAGES, OF_EACH)
    ]
    rows += [("203.0.113.7", "/login")] * ROBOT
    chosen.shuffle(rows)
    lines = "".join(f"{client},{page}\n" for client, page in rows)
    (folder / "visits.csv").write_text("client,page\n" + lines)
    (folder / "pages.txt").write_text("\n".join(["/login", *PAGES]) + "\n")
