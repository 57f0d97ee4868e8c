"""The options of one statistic: a distribution of values, ranges of keys; what all have."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from lazysketch import Bins, Distribution, PersonBound, Ranges
from lazysketch.cli.options import PRIVACY, gathered, hash_seed_option, option_with_default
from lazysketch.cli.people_options import are_bounded, people_options
from lazysketch.cli.settings import GuaranteeSettings, waits_for_end
from lazysketch.errors import ArgumentTypeError, ArgumentValueError
from lazysketch.specification.distribution_spec import distribution_spec
from lazysketch.specification.ranges_spec import DEFAULT_BITS as KEY_BITS
from lazysketch.specification.ranges_spec import DEFAULT_WIDTH, ranges_spec
from lazysketch.specification.schedules import Punctual, Single
from lazysketch.specification.value_tree import MOST_BINS

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from lazysketch import DistributionWindows, RangesWindows
    from lazysketch.cli.options import Command, Decorator
    from lazysketch.cli.settings import InputSettings, ResultSettings
    from lazysketch.sources import Source
    from lazysketch.specification.distribution_spec import BinnedOptions
    from lazysketch.specification.ranges_spec import KeyOptions
    from lazysketch.specification.schedules import Schedule
    from lazysketch.specification.table_spec import TableSpec
    from lazysketch.store import Store
    from lazysketch.store.stored_statistic_windows import (
        StoredDistributionWindows,
        StoredRangesWindows,
    )
    from lazysketch.windows.statistic_windows import CutOptions

__all__ = [
    "BINS",
    "DistributionSettings",
    "RangesSettings",
    "StatisticSettings",
    "distribution_options",
    "horizon_option",
    "ranges_options",
    "shares_of",
]

_FEWEST_BINS: Final = 3
_DEFAULT_BINS: Final = 1024


@dataclass(frozen=True, slots=True)
class StatisticSettings(GuaranteeSettings):
    """The parameters that all statistics have."""

    horizon: int | None
    user: str | None = field(default=None, kw_only=True)
    at_end: bool = field(default=False, kw_only=True)
    chosen: Schedule | None = field(default=None, kw_only=True)

    def published_for(
        self,
        source: Source,
        reading: InputSettings,
        result: ResultSettings,
        *,
        ends: bool = True,
    ) -> Self:
        """Return these settings with the time of publication that fits a run.

        Regular files are published once, at the end, which has the least noise, unless something of
        the result is wanted earlier.

        Args:
            source: The inputs.
            reading: How they are read.
            result: What shall be seen, and when.
            ends: Whether the stream ends with the run, so that nothing is counted afterwards.
        """
        if self.chosen is not None:
            return replace(self, at_end=isinstance(self.chosen, Single))
        waits = waits_for_end(source, reading, result, horizon=self.horizon, ends=ends)
        return replace(self, at_end=waits)

    @property
    def schedule(self) -> Schedule:
        """The publication schedule."""
        if self.chosen is not None:
            return self.chosen
        return Single() if self.at_end else Punctual(horizon=self.horizon)


@dataclass(frozen=True, slots=True)
class _EventsOrPeople(StatisticSettings):
    """The parameters of what protects events, or people with so many events, anywhere."""

    max_events_per_user: int = field(kw_only=True)
    per_person: int | None = field(default=None, kw_only=True)
    most_people: int | None = field(default=None, kw_only=True)

    @property
    def person_bound(self) -> PersonBound | None:
        """What is counted of one person; None without people.

        Raises:
            ArgumentTypeError: An option that needs ``--user``.
            ArgumentValueError: A number outside its range, or events declared too.
        """
        bounds = {"--per-person": self.per_person, "--most-people": self.most_people}
        if not are_bounded(self.user, bounds, max_events_per_user=self.max_events_per_user):
            return None
        try:
            return PersonBound(
                events=1 if self.per_person is None else self.per_person,
                most_people=self.most_people,
            )
        except ArgumentValueError as error:
            raise ArgumentValueError(str(error).replace("events:", "per_person:", 1)) from None


@dataclass(frozen=True, slots=True)
class DistributionSettings(_EventsOrPeople):
    """The parameters of a distribution of values."""

    low: float | None
    high: float | None
    bins: int
    scale: str
    edges: str | None

    def check(self) -> None:
        """Raise unless there are bins, before anything is read; the errors name the options."""
        _ = self.public_bins, self.person_bound

    @property
    def public_bins(self) -> Bins:
        """The bins.

        Raises:
            ArgumentTypeError: Neither a range nor edges, or both.
            ArgumentValueError: A value outside its range.
        """
        if self.edges is not None:
            if self.low is not None or self.high is not None:
                raise ArgumentTypeError("--edges: expected no --low and --high, got both")
            return Bins(_numbers("--edges", self.edges))
        if self.low is None or self.high is None:
            option = "--low" if self.low is None else "--high"
            raise ArgumentTypeError(
                f"{option}: expected the {'lowest' if self.low is None else 'highest'} value to "
                "tell apart, from public knowledge and not from the data (or --edges), got none"
            )
        if not _FEWEST_BINS <= self.bins <= MOST_BINS:
            raise ArgumentValueError(
                f"bins: expected an integer from {_FEWEST_BINS} to {MOST_BINS:,}, got {self.bins:,}"
            )
        if self.scale == "log" and not self.low > 0.0:
            raise ArgumentValueError(
                "low: expected a number above 0 with --scale log, such as the shortest time that "
                f"is measured (values below it count together), got {self.low:g}"
            )
        made = Bins.logarithmic if self.scale == "log" else Bins.linear
        return made(self.low, self.high, number=self.bins - 2)

    @property
    def spec(self) -> TableSpec:
        """The checked description of the distribution."""
        return distribution_spec(
            bins=self.public_bins,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            max_events_per_user=self.max_events_per_user,
            person_bound=self.person_bound,
            schedule=self.schedule,
        )

    def create(self) -> Distribution:
        """Return a fresh distribution."""
        return Distribution.from_spec(self.spec)

    @property
    def options(self) -> BinnedOptions:
        """The arguments of windows."""
        return {
            "bins": self.public_bins,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "max_events_per_user": self.max_events_per_user,
            "person_bound": self.person_bound,
        }

    def windows(self, **cut: Unpack[CutOptions]) -> DistributionWindows:
        """Return fresh windows."""
        from lazysketch import DistributionWindows  # late: few runs count in windows

        return DistributionWindows(**cut, **self.options)

    def kept_windows(
        self, store: Store, name: str, **cut: Unpack[CutOptions]
    ) -> StoredDistributionWindows:
        """Return the windows of a store, new or as they were left."""
        return store.distribution_windows(name, **cut, **self.options)


@dataclass(frozen=True, slots=True)
class RangesSettings(_EventsOrPeople):
    """The parameters of counts of ranges of keys."""

    bits: int
    width: int
    hash_seed: int | None
    max_weight: int = field(default=1, kw_only=True)

    @property
    def spec(self) -> TableSpec:
        """The checked description of the counts."""
        return ranges_spec(
            bits=self.bits,
            width=self.width,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            max_weight=self.max_weight,
            max_events_per_user=self.max_events_per_user,
            person_bound=self.person_bound,
            hash_seed=self.hash_seed,
            schedule=self.schedule,
        )

    def create(self) -> Ranges:
        """Return fresh counts."""
        return Ranges.from_spec(self.spec)

    @property
    def options(self) -> KeyOptions:
        """The arguments of windows."""
        return {
            "bits": self.bits,
            "width": self.width,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "max_weight": self.max_weight,
            "max_events_per_user": self.max_events_per_user,
            "person_bound": self.person_bound,
            "hash_seed": self.hash_seed,
        }

    def windows(self, **cut: Unpack[CutOptions]) -> RangesWindows:
        """Return fresh windows."""
        from lazysketch import RangesWindows  # late: few runs count in windows

        return RangesWindows(**cut, **self.options)

    def kept_windows(
        self, store: Store, name: str, **cut: Unpack[CutOptions]
    ) -> StoredRangesWindows:
        """Return the windows of a store, new or as they were left."""
        return store.ranges_windows(name, **cut, **self.options)


def _numbers(option: str, text: str) -> list[float]:
    """Return numbers between commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ArgumentValueError(
            f"{option}: expected numbers between commas, such as 0.5,1,5, got others"
        ) from None


def shares_of(option: str, text: str) -> tuple[float, ...]:
    """Return shares between commas.

    Args:
        option: The option in messages.
        text: Its value.

    Raises:
        ArgumentValueError: Something else.
    """
    shares = _numbers(option, text)
    if not all(0.0 < share < 1.0 for share in shares):
        bad = next(share for share in shares if not 0.0 < share < 1.0)
        percent = f"; for {bad:g} % write {bad / 100:g}" if 1.0 < bad < 100.0 else ""
        shown = f"{bad:g}" if math.isfinite(bad) else "another"
        raise ArgumentValueError(
            f"{option}: expected shares above 0 and below 1, got {shown}{percent}"
        )
    return tuple(shares)


def distribution_options(command: Command) -> Command:
    """Add the options of a distribution of values; the command gets them as ``counting``."""
    return gathered(DistributionSettings, "counting", *BINS, *_DISTRIBUTION)(command)


def ranges_options(command: Command) -> Command:
    """Add the options of counts of ranges of keys; the command gets them as ``counting``."""
    return gathered(RangesSettings, "counting", *_RANGES)(command)


horizon_option: Final = partial(
    click.option,
    "--horizon",
    type=int,
    metavar="STEPS",
    help="Longest possible stream, if known; reduces the noise.  [default: unlimited]",
)
BINS: Final = (
    click.option(
        "--low",
        type=float,
        metavar="VALUE",
        help="Lowest value to tell apart; those below count together. Never read it off the data.  "
        "[default: none; required without --edges]",
    ),
    click.option(
        "--high",
        type=float,
        metavar="VALUE",
        help="Highest value to tell apart; those from it on count together. Likewise.  "
        "[default: none; required without --edges]",
    ),
    option_with_default(
        "--bins",
        type=int,
        default=_DEFAULT_BINS,
        metavar="N",
        help="Bins, with the one below and the one above; best a power of two.",
    ),
    option_with_default(
        "--scale",
        type=click.Choice(["linear", "log"]),
        default="linear",
        help="Bins of one width (linear), or whose ends have one ratio (log), as for times.",
    ),
    click.option(
        "--edges",
        metavar="LIST",
        help="Ends of bins in place of --low and --high: numbers that rise, between commas.  "
        "[default: none]",
    ),
)
_GUARANTEE: Final = (*PRIVACY[:3], horizon_option(), PRIVACY[3])
_DISTRIBUTION: Final[tuple[Decorator, ...]] = (*_GUARANTEE, *people_options("values"))
KEYS: Final = (
    option_with_default(
        "--bits",
        type=click.IntRange(min=1, max=64),
        default=KEY_BITS,
        metavar="N",
        help="Bits of a key: 32 for IPv4 addresses, 64 for the networks of IPv6 addresses, 16 for "
        "ports. Fewer bits need less noise.",
    ),
    option_with_default(
        "--width",
        type=int,
        default=DEFAULT_WIDTH,
        help="Columns; a count has bits * width cells. More of them have fewer collisions.",
    ),
)
_RANGES: Final[tuple[Decorator, ...]] = (
    *_GUARANTEE,
    *people_options("keys"),
    *KEYS,
    hash_seed_option("counts whose releases are merged share it"),
)
