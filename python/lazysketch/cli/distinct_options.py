"""The options of a count of distinct items, and the settings that they are gathered into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from lazysketch import DistinctCount
from lazysketch.cli.options import PRIVACY, gathered, hash_seed_option, option_with_default
from lazysketch.cli.settings import GuaranteeSettings
from lazysketch.specification.distinct_spec import DEFAULT_BITS, DEFAULT_LEVELS
from lazysketch.specification.schedules import Punctual, Single

if TYPE_CHECKING:
    from lazysketch.cli.options import Command
    from lazysketch.cli.settings import InputSettings, ResultSettings
    from lazysketch.sources import Source

__all__ = ["DistinctSettings", "distinct_options"]


@dataclass(frozen=True, slots=True)
class DistinctSettings(GuaranteeSettings):
    """The parameters of a count of distinct items."""

    horizon: int | None
    bits: int
    levels: int
    hash_seed: int | None

    def create(
        self, source: Source, reading: InputSettings, result: ResultSettings
    ) -> DistinctCount:
        """Return a fresh count.

        Regular files are published once, at the end, which has the least noise, unless something of
        the result is wanted earlier.

        Args:
            source: The inputs.
            reading: How they are read.
            result: What shall be seen, and when.
        """
        stored = source.part_read is not None and not reading.follow and not result.early
        at_end = stored and self.horizon is None
        return DistinctCount(
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            bits=self.bits,
            levels=self.levels,
            hash_seed=self.hash_seed,
            schedule=Single() if at_end else Punctual(horizon=self.horizon),
        )


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
    click.option(
        "--horizon",
        type=int,
        metavar="STEPS",
        help="Longest possible stream, if known; reduces the noise.  [default: unlimited]",
    ),
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
