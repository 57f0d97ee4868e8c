"""A shop's popular products, hour by hour of one day, and what changed between the hours.

python examples/shop_windows.py
"""

from __future__ import annotations

import numpy as np

import lazysketch as ls

HOURS = 6
ORDERS = 20_000  # in an hour
PRODUCTS = [f"product {number}" for number in range(50)]
SALE = 7  # sells ten times as well in the fourth hour


def main() -> None:
    """Print the three most popular products of each hour, and the changes."""
    chance = np.random.default_rng(3)
    windows = ls.Windows(
        every="1h",
        begin="2026-05-17T09:00",
        end="2026-05-17T15:00",
        domain=PRODUCTS,
        epsilon=1.0,
        delta=1e-8,
    )
    for hour in range(HOURS):
        weights = 1 / (np.arange(len(PRODUCTS)) + 5.0)
        weights[SALE] *= 10 if hour == 3 else 1
        sold = chance.choice(PRODUCTS, ORDERS, p=weights / weights.sum())
        begin = np.datetime64("2026-05-17T09:00", "ns") + np.timedelta64(hour, "h")
        times = begin + chance.integers(0, 3600, ORDERS) * np.timedelta64(1, "s")
        windows.update_many(sold.tolist(), times=times)
    windows.finish()
    for position, window in enumerate(windows.windows):
        best = sorted(PRODUCTS, key=window.release.estimate, reverse=True)[:3]
        changed = [change.item for change in windows.changes_at(position)] if position else []
        print(
            f"{window.begin:%H:%M}", ", ".join(best), f"changed: {changed[:3]}" if changed else ""
        )
    assert PRODUCTS[SALE] in {change.item for change in windows.changes_at(3)}


if __name__ == "__main__":
    main()
