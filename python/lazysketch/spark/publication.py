"""One publication of a column: a ledger is charged, a store of one step counts and is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from lazysketch.errors import ArgumentTypeError
from lazysketch.heavy_hitters import HeavyHittersSpec
from lazysketch.privacy.composable import Composable
from lazysketch.sketches.keys import Key
from lazysketch.spark.columns import count_column
from lazysketch.spark.sink import add_frame
from lazysketch.specification.schedules import Batch
from lazysketch.specification.table_spec import TableSpec
from lazysketch.store import NO_ANCHOR, open_store
from lazysketch.sums.sums_spec import SumsSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

__all__ = ["ONE_STEP", "ChargedLedger", "published"]

ONE_STEP: Batch = Batch(horizon=1)
"""The schedule of one publication."""


class _Charged(Protocol):
    def close(self) -> None: ...


class ChargedLedger(Protocol):
    """A :class:`~lazysketch.Ledger`, which is a floor above."""

    def charge(self, *parts: Composable, note: str = "") -> _Charged:
        """Charge what is published; the run that is returned is closed when nothing is counted."""


def published(
    frame: DataFrame,
    column: str,
    spec: HeavyHittersSpec | TableSpec | SumsSpec,
    *,
    opened: Callable[[Any], Any],
    read: Callable[[Any], Any],
    ledger: ChargedLedger | None,
    note: str,
    weight: str | None = None,
    max_weight: int = 1,
    most_names: int | None = None,
    value: str | None = None,
) -> Any:
    """Charge the ledger, count in a store of this call, and return what is read of it.

    Args:
        frame: Any DataFrame; it is run once.
        column: What is counted.
        spec: The description of what is published, for the ledger.
        opened: Returns the object of the store that counts.
        read: Returns the publication of that object.
        ledger: What is charged before anything is counted, or None.
        note: What the ledger records.
        weight: A column of integers, or None for weight 1.
        max_weight: Larger weights are clipped to it; 1 without weights.
        most_names: Distinct items of one partition of the frame, at most; None for the default.
        value: A column of numbers, for sums by item; None for others.

    Raises:
        ArgumentTypeError: A ``max_weight`` without weights.
    """
    if weight is None and max_weight != 1:
        raise ArgumentTypeError(f"weight: expected a column with max_weight {max_weight}, got none")
    with TemporaryDirectory() as folder:
        store = open_store(Path(folder, "store"), key=Key.generate(), anchor=NO_ANCHOR)
        with store:
            live = opened(store)
            described = {} if most_names is None else {"most_names": most_names}
            counted = count_column(
                frame,
                column,
                spec=live.partial_spec(**described),
                input="one release",
                weight=weight,
                max_weight=None if weight is None else max_weight,
                value=value,
            )
            with _charged(spec, ledger, note):
                add_frame(store, "frame", 1, counted, into=live)
                return read(live)


@contextmanager
def _charged(
    spec: HeavyHittersSpec | TableSpec | SumsSpec, ledger: ChargedLedger | None, note: str
) -> Iterator[None]:
    if ledger is None:
        yield
        return
    run = ledger.charge(spec, note=note)
    try:
        yield
    finally:
        run.close()  # nothing is counted any more: the store is gone
