"""A year of daily counts under one cap: a ledger charges each day before it is counted.

python examples/year_with_ledger.py [FOLDER]
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import lazysketch as ls
from lazysketch.errors import CapError

PAGES = ["/", "/catalogue", "/events", "/hours", "/rooms"]
DAY = 86_400.0


def main(folder: Path) -> None:
    """Count until the cap of the year refuses a day, and print what the year cost."""
    chance = random.Random(4)
    now = 1_767_225_600.0  # 2026-01-01, UTC
    with ls.Ledger.create(
        folder / "visitors.db",
        key=ls.Key.generate(),
        anchor=folder / "visitors.anchor",
        population="visitors",
        unit="event",
        epsilon=1.0,
        delta=1e-6,
        period="1y",
        clock=lambda: now,
    ) as ledger:
        counted = 0
        while True:
            sketch = ls.LazyCountMin(depth=3, width=64, epsilon=0.2, delta=1e-9)
            try:
                run = ledger.charge(sketch, note=f"day {counted + 1}")
            except CapError as refused:
                print(refused)
                break
            with sketch:
                sketch.update_many(chance.choices(PAGES, k=5_000))
                sketch.finish()
            run.close()
            counted += 1
            now += DAY
        print(f"{counted} days of epsilon 0.2 were counted under a cap of epsilon 1 for the year")
    assert counted > 5  # runs compose better than by the sum of their epsilons


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else "."))
