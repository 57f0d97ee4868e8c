"""Generated web traffic, whose true counts are known: a stream to try things on.

Item number r, r = 1 .. ITEMS, has probability proportional to r^-SKEW. The names are
made up, and the numbers in them are scattered so that a name does not tell its rank.

Cost: about 0.2 us per event; 100 MB for the list of names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

ITEMS = 1 << 20
SKEW = 1.3

_BLOCK = 1 << 16
_SCATTER = 0x9E375  # odd, so that multiplication modulo ITEMS is a permutation
_SECTIONS = ("shop", "news", "blog", "help", "docs", "api", "images", "search")
NAMES = {"path": "request paths", "host": "client addresses"}


@dataclass(frozen=True)
class Traffic:
    """A reproducible stream.

    Args:
        events: Its length.
        seed: Of the data. It has nothing to do with the noise of a sketch.
        field: "path" or "host": what the items look like.
    """

    events: int
    seed: int
    field: str

    @cached_property
    def items(self) -> list[str]:
        """All items that can occur, the most frequent first: public by construction."""
        numbers = ((np.arange(1, ITEMS + 1) * _SCATTER) % ITEMS).tolist()
        if self.field == "host":
            return [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in numbers]
        return [f"/{_SECTIONS[n & 7]}/{n:05x}" for n in numbers]

    def blocks(self) -> Iterator[NDArray[np.intp]]:
        """Yield the events as positions in ``items``."""
        weights = np.arange(1, ITEMS + 1, dtype=np.float64) ** -SKEW
        cumulated = np.cumsum(weights)
        generator = np.random.default_rng(self.seed)
        for begin in range(0, self.events, _BLOCK):
            draws = generator.random(min(_BLOCK, self.events - begin)) * cumulated[-1]
            # Rounding could put the last draw on the sum itself.
            yield np.minimum(np.searchsorted(cumulated, draws, side="right"), ITEMS - 1)
