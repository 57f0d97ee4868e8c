"""The options of sums of values by item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from lazysketch import PersonBound, Sums
from lazysketch.cli.options import PRIVACY, gathered, hash_seed_option, option_with_default
from lazysketch.cli.people_options import OF_CELLS, bound_of_cells
from lazysketch.cli.statistic_options import StatisticSettings, horizon_option
from lazysketch.errors import ArgumentTypeError
from lazysketch.sums.sums_spec import DEPTH, WIDTH, sums_spec

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from lazysketch import SumsWindows
    from lazysketch.cli.options import Command
    from lazysketch.store import Store
    from lazysketch.store.stored_sums_windows import StoredSumsWindows
    from lazysketch.sums.sums_spec import SumsSpec, ValueOptions
    from lazysketch.windows.statistic_windows import CutOptions

__all__ = ["SumsSettings", "sums_options"]


@dataclass(frozen=True, slots=True)
class SumsSettings(StatisticSettings):
    """The parameters of sums of values by item."""

    low: float | None
    high: float | None
    step: float | None
    depth: int
    width: int
    max_events_per_user: int
    hash_seed: int | None
    cells: int | None = None
    per_cell: int | None = None
    most_people: int | None = None

    def check(self) -> None:
        """Raise unless there are bounds, before anything is read; the errors name the options."""
        _ = self.bounds, self.person_bound

    @property
    def person_bound(self) -> PersonBound | None:
        """What is counted of one person; None without people.

        Raises:
            ArgumentTypeError: An option that needs ``--user``.
            ArgumentValueError: A number outside its range, or events declared too.
        """
        return bound_of_cells(
            self.user,
            cells=self.cells,
            per_cell=self.per_cell,
            most_people=self.most_people,
            max_events_per_user=self.max_events_per_user,
        )

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of values.

        Raises:
            ArgumentTypeError: One is missing.
        """
        for option, bound in (("--low", self.low), ("--high", self.high)):
            if bound is None:
                side = "smallest" if option == "--low" else "largest"
                raise ArgumentTypeError(
                    f"{option}: expected the {side} value that counts as it is, from public "
                    "knowledge and not from the data, got none"
                )
        assert self.low is not None and self.high is not None  # noqa: S101, PT018 -- checked above
        return self.low, self.high

    @property
    def spec(self) -> SumsSpec:
        """The checked description of the sums."""
        low, high = self.bounds
        return sums_spec(
            low=low,
            high=high,
            step=self.step,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            depth=self.depth,
            width=self.width,
            max_events_per_user=self.max_events_per_user,
            person_bound=self.person_bound,
            hash_seed=self.hash_seed,
            schedule=self.schedule,
        )

    def create(self) -> Sums:
        """Return fresh sums."""
        return Sums.from_spec(self.spec)

    @property
    def options(self) -> ValueOptions:
        """The arguments of windows."""
        low, high = self.bounds
        return {
            "low": low,
            "high": high,
            "step": self.step,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "depth": self.depth,
            "width": self.width,
            "max_events_per_user": self.max_events_per_user,
            "person_bound": self.person_bound,
            "hash_seed": self.hash_seed,
        }

    def windows(self, **cut: Unpack[CutOptions]) -> SumsWindows:
        """Return fresh windows."""
        from lazysketch import SumsWindows  # late: few runs count in windows

        return SumsWindows(**cut, **self.options)

    def kept_windows(self, store: Store, name: str, **cut: Unpack[CutOptions]) -> StoredSumsWindows:
        """Return the windows of a store, new or as they were left."""
        return store.sums_windows(name, **cut, **self.options)


def sums_options(command: Command) -> Command:
    """Add the options of sums by item; the command gets them as ``counting``."""
    return gathered(SumsSettings, "counting", *_SUMS)(command)


_SUMS: Final = (
    click.option(
        "--low",
        type=float,
        metavar="VALUE",
        help="Smaller values count as this one. Never read it off the data.  "
        "[default: none; required]",
    ),
    click.option(
        "--high",
        type=float,
        metavar="VALUE",
        help="Larger values count as this one. Likewise; the noise is proportional to the range.  "
        "[default: none; required]",
    ),
    click.option(
        "--step",
        type=float,
        metavar="VALUE",
        help="Round values to multiples of this from --low, such as 1 for integers.  "
        "[default: 2^16 steps, with intervals that cover the rounding]",
    ),
    *PRIVACY[:3],
    horizon_option(),
    option_with_default("--depth", type=int, default=DEPTH, help="Rows of both tables."),
    option_with_default("--width", type=int, default=WIDTH, help="Buckets per row."),
    PRIVACY[3],
    *OF_CELLS,
    hash_seed_option("sums to be merged share it"),
)
