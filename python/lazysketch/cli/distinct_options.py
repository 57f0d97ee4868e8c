"""The options of a count of distinct items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from lazysketch import DistinctCount
from lazysketch.cli.options import PRIVACY, gathered, hash_seed_option, option_with_default
from lazysketch.cli.statistic_options import StatisticSettings, horizon_option
from lazysketch.specification.distinct_spec import DEFAULT_BITS, DEFAULT_LEVELS, distinct_spec

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lazysketch import DistinctWindows
    from lazysketch.cli.options import Command
    from lazysketch.specification.distinct_spec import BitmapOptions
    from lazysketch.specification.table_spec import TableSpec
    from lazysketch.store import Store
    from lazysketch.store.stored_statistic_windows import StoredDistinctWindows
    from lazysketch.windows.statistic_windows import CutOptions

__all__ = ["DistinctSettings", "distinct_options"]


@dataclass(frozen=True, slots=True)
class DistinctSettings(StatisticSettings):
    """The parameters of a count of distinct items."""

    bits: int
    levels: int
    hash_seed: int | None

    @property
    def spec(self) -> TableSpec:
        """The checked description of the count."""
        return distinct_spec(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            bits=self.bits,
            levels=self.levels,
            hash_seed=self.hash_seed,
            schedule=self.schedule,
        )

    def create(self) -> DistinctCount:
        """Return a fresh count."""
        return DistinctCount.from_spec(self.spec)

    @property
    def options(self) -> BitmapOptions:
        """The arguments of windows."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "bits": self.bits,
            "levels": self.levels,
            "hash_seed": self.hash_seed,
        }

    def windows(self, **cut: Unpack[CutOptions]) -> DistinctWindows:
        """Return fresh windows."""
        from lazysketch import DistinctWindows  # late: few runs count in windows

        return DistinctWindows(**cut, **self.options)

    def kept_windows(
        self, store: Store, name: str, **cut: Unpack[CutOptions]
    ) -> StoredDistinctWindows:
        """Return the windows of a store, new or as they were left."""
        return store.distinct_windows(name, **cut, **self.options)


def distinct_options(command: Command) -> Command:
    """Add the options of a count of distinct items; the command gets them as ``counting``."""
    return gathered(DistinctSettings, "counting", *_DISTINCT)(command)


_DISTINCT: Final = (
    *PRIVACY[:2],
    option_with_default(
        "--relation",
        type=click.Choice(["substitution", "zero-out"]),
        default="substitution",
        help="Neighbouring streams have the events of another item in place of all events of one "
        "(substitution), or empty steps (zero-out), which has half the noise.",
    ),
    horizon_option(),
    option_with_default(
        "--bits",
        type=int,
        default=DEFAULT_BITS,
        help="Bits of each sampling level, a power of two; the error is about 0.9 / sqrt(bits).",
    ),
    option_with_default(
        "--levels",
        type=int,
        default=DEFAULT_LEVELS,
        help="Sampling levels; numbers up to bits * 4^levels can be told apart.",
    ),
    hash_seed_option("counts of one stream that are compared share it"),
)
