"""NetFlow records to a watch list: the sources of most packets, from a table of flows.

    python examples/netflow_watch_list.py [FOLDER]

Each record weighs its packets, at most 1,000, so the noise hides any one record of that size.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import lazysketch as ls
from lazysketch.sources import feed, open_source

MOST_PACKETS = 1_000
SCANNER = "203.0.113.66"


def main(folder: Path) -> None:
    """Write flows, count them, and print the sources above one percent."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(2)
    flows = folder / "flows.log"
    with flows.open("w") as file:
        for _ in range(60_000):
            source = SCANNER if chance.random() < 0.05 else f"198.51.100.{chance.randrange(250)}"
            file.write(f"proto=tcp src={source} dport={chance.randrange(1024)} ")
            file.write(f"packets={chance.randrange(1, 40)}\n")
    source = open_source(
        flows, format="logfmt", field="src", weight="packets", max_weight=MOST_PACKETS
    )
    with ls.HeavyHitters(share=0.03, epsilon=4.0, delta=1e-8, max_weight=MOST_PACKETS) as heavy:
        feed(heavy, source)
        heavy.finish()
        watched = heavy.top(5)
    for hitter in watched:
        print(f"{hitter.item:16} {hitter.estimate:12,.0f} packets")
    assert SCANNER in {hitter.item for hitter in watched}


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else "."))
