"""Windows of sums of a store.

The log has fingerprints in place of items, and integers of the grid in place of values. Each window
has two tables under ids of their own, and a checkpoint has the states of the open ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazysketch import _native
from lazysketch.arguments import check_keywords
from lazysketch.errors import ArgumentTypeError
from lazysketch.sketches.keys import Key
from lazysketch.store.recovered_objects import Origin
from lazysketch.store.stored_changes import reads_after_commit
from lazysketch.store.stored_objects import people_of
from lazysketch.store.stored_statistic_windows import AddedUp
from lazysketch.store.stored_sums import parameters_of_grid
from lazysketch.store.table_numbers import (
    LEVELS_WITHOUT_EVENTS,
    WITHOUT_EVENTS,
    number_of_table,
)
from lazysketch.sums.sums_spec import SumsSpec, ValueOptions
from lazysketch.windows.cuts import Cut
from lazysketch.windows.open_windows import Progress
from lazysketch.windows.statistic_windows import CutOptions
from lazysketch.windows.sums_tables import SumsTables
from lazysketch.windows.sums_windows import SumsWindows, check_number

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from lazysketch.store.calls import Call

__all__ = ["StoredSumsWindows", "StoredSumsWindowsOptions"]


class StoredSumsWindowsOptions(ValueOptions, CutOptions):
    """Keyword arguments of windows of sums, as for :class:`lazysketch.SumsWindows`.

    The clock may differ from life to life.
    """


class _StoredTables(SumsTables):
    """Maker of the tables of a store: each has its own id, and all share a hash seed."""

    def __init__(self, spec: SumsSpec, origin: Origin) -> None:
        self._of_store = origin
        super().__init__(spec, key=origin(WITHOUT_EVENTS)[0])
        # Tables that count nothing give the seed, the same in every life.
        empty = self.make(LEVELS_WITHOUT_EVENTS)
        self.empty = empty.tables[0]
        self.identities = _native.People.of_table(self.empty)
        digests = [table._parameters_digest.hex() for table in empty.tables]
        self.digest = f"{' '.join(digests)} {parameters_of_grid(spec.grid)}"
        empty.close()

    def _origin(self, number: int, table: int) -> tuple[Key, _native.SavedState | None]:
        return self._of_store(number_of_table(number, table))


@reads_after_commit
class StoredSumsWindows(AddedUp, SumsWindows):
    """Windows of sums of a store."""

    @classmethod
    def _of(cls, origin: Origin, **options: Unpack[StoredSumsWindowsOptions]) -> Self:
        known = StoredSumsWindowsOptions
        check_keywords(SumsWindows, (), options, known, example=cls._EXAMPLE)
        self = cls.__new__(cls)

        def origin_of(spec: SumsSpec, cut: Cut, kept: int) -> tuple[SumsTables, Progress | None]:
            tables = _StoredTables(spec, origin)
            self._empty = tables.empty
            return tables, self._begun(tables, origin, cut, kept)

        self._make(origin_of, **options)
        return self

    def _batches(self, items: object, column: str | None = None) -> list[_native.LoggedEvents]:
        return [_native.logged_fingerprints(items, self._empty, column=column)]

    def _batch(self, items: object, weights: object, **others: Any) -> Call:
        if weights is None:
            raise ArgumentTypeError("weights: expected one value per item of sums, got none")
        integers = self._weights(weights)
        call = super()._batch(items, integers, **others)
        check_number(call.events[0], integers)
        return call

    def _count_values(self, items: object, values: object, times: object, user: object) -> None:
        batch = self._batch(items, values, empty_rows=None, column=None, times=times, user=user)
        self._count_batch(batch)

    def _people(self) -> dict[int, _native.People]:
        # One decision for both tables of a window, in which an event has the same cells.
        live = self._live.tables.items()
        return people_of({number_of_table(number, 0): table.tables[0] for number, table in live})
